"""Starting deployed jobs and following them: what a backfill and the orchestrator have in common.

deployment.py   which jobs there are, as whom they are started and when: from Terraform's outputs
products.py     which product is made of which, from the descriptors
job_runs.py     one Glue job's runs: start, find, follow, stop
retries.py      which failures a retry can fix
"""
