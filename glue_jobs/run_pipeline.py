"""The script a Glue job starts, and spark-submit locally: arguments in, exit code out, all else in the package.

Glue hands a script arguments of its own (--JOB_RUN_ID, --TempDir, …). The run id is derived from the job
run's, so that anything outside the job can compute it; the others are ignored.
"""

import sys

from pipeline_runtime.cli.run import main

if __name__ == "__main__":
    code = main(sys.argv[1:], glue=True)
    # Falling off the end is how a Glue script succeeds.
    if code:
        sys.exit(code)
