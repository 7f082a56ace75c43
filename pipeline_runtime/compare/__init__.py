"""Whether two outputs, and two lineage events, are the same: the proof that a migration changed nothing."""
