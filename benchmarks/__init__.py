"""What the executor costs, measured against the job that it replaces."""
