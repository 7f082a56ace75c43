"""Builds and publishes the executor's release. For the platform's own CI; nothing of it is shipped."""
