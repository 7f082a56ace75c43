"""Says for a run that was killed how it ended, from outside: the run itself cannot any more (design decision D2).

A Lambda beside the Glue jobs: boto3 and this package's pure parts, no engine. It hears Glue's job-state events, and
sweeps over the job runs for what it did not hear of.
"""
