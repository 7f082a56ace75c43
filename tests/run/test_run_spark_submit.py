"""SIGTERM to spark-submit itself, as a scheduler or a container sends it: the run still ends with one word.

spark-submit's JVM is the parent of the driver's Python and holds its standard output. On SIGTERM it is gone within a
moment, and with it Spark and whatever reads the trace. Python lives on: it finds the engine gone and says FAIL. Where
the machine takes Python down too, nothing is said, and the closer says it.
"""

from __future__ import annotations

import io
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest
from lab import SCORE, Lab

from pipeline_runtime.trace import Trace

ROOT = Path(__file__).resolve().parents[2]
SLOW = SCORE.replace(
    " FROM frame",
    ", aggregate(sequence(1, 200000), 0L, (a, x) -> a + aggregate(sequence(1, 200000), 0L, (b, y) -> b + y)) AS work"
    " FROM frame",
)


class Gone(io.StringIO):
    """A pipe that nobody reads any more."""

    def write(self, _: str) -> int:
        raise BrokenPipeError


def test_a_reader_of_the_trace_that_goes_away_does_not_stop_the_run() -> None:
    trace = Trace(str(uuid.uuid4()), out=Gone())

    trace.stage("emit", "FAIL → lineage adapter")
    trace.note("failed payments-scored: nothing was published")


@pytest.mark.spark
@pytest.mark.slow
def test_a_spark_submit_that_is_told_to_stop_leaves_one_terminal_event(lab: Lab, spark_conf: Path) -> None:
    lab.change("sql/score.sql", SCORE, SLOW)
    run_id = str(uuid.uuid4())
    process = subprocess.Popen(
        [
            str(Path(sys.executable).parent / "spark-submit"),
            *("--properties-file", str(spark_conf / "spark-defaults.conf")),
            str(ROOT / "glue_jobs" / "run_pipeline.py"),
            *("--descriptor", str(lab.root / "pipelines/payments_scored.yml"), "--run-id", run_id),
        ],
        env={**lab.process_environ(spark_conf), "PYSPARK_PYTHON": sys.executable, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    deadline = time.monotonic() + 300
    while lab.definition() is None:
        assert process.poll() is None, process.communicate()[0]
        assert time.monotonic() < deadline, "the run never came to write"
        time.sleep(0.5)
    time.sleep(3)

    process.send_signal(signal.SIGTERM)
    told = time.monotonic()
    while "terminal" not in lab.outcome(run_id, 0, "").stored:
        assert time.monotonic() - told < 60, "the driver's Python said nothing"
        time.sleep(0.5)
    process.communicate(timeout=60)

    outcome = lab.outcome(run_id, process.returncode, "")
    assert process.returncode == 128 + signal.SIGTERM
    deadline = time.monotonic() + 30
    while len(outcome.received) < 2 and time.monotonic() < deadline:
        time.sleep(0.5)
        outcome = lab.outcome(run_id, process.returncode, "")
    assert [event["eventType"] for event in outcome.received] == ["START", "FAIL"]
    told_why = str(outcome.terminal["run"]["facets"]["errorMessage"]["message"])
    # Whichever Python notices first: that the JVM is shutting down, or that it is gone.
    assert "it was stopped from outside (SIGTERM)" in told_why
    assert lab.rows() == []
