"""Deploying to the stand-in as to AWS: the live configuration, applied by Terraform."""
