"""A batch of an AWS DMS replication, told as a run: so that lineage starts at the source system."""
