"""Starting deployed jobs and following them: what a backfill and the orchestrator have in common."""
