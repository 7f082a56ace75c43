"""A driver that runs the scripts of one job run after the other, so that a week of them does not start 140 JVMs.

    glue_driver.py      a line of JSON {"arguments": […], "log": "…"} in, the script's exit code as a line out

What a job's script does is done by the script's own `main`. Each run builds its own session, with a listener of its
own: the context of the run before is stopped, and only its JVM is kept, which is the one thing here that Glue does not
do.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from pathlib import Path

from pipeline_runtime.cli.run import main


def work() -> None:
    # What the JVM says on our standard output is no answer.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        job_run = json.loads(line)
        with Path(job_run["log"]).open("w") as log, contextlib.redirect_stdout(log), contextlib.redirect_stderr(log):
            try:
                code = main(job_run["arguments"], glue=True)
            except SystemExit as end:
                code = end.code if isinstance(end.code, int) else 1
            stop_engine()
        print(code, file=answers, flush=True)


def stop_engine() -> None:
    """Ends the run's Spark application, as the end of its process would."""
    if "pyspark" in sys.modules:
        from pyspark import SparkContext

        if (context := SparkContext._active_spark_context) is not None:
            context.stop()


if __name__ == "__main__":
    work()
