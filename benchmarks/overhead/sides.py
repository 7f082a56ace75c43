"""The two sides: how each is started, and what is measured from outside while it runs."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from benchmarks.overhead.eventlog import SparkWork, spark_work
from benchmarks.overhead.lake import Bench
from benchmarks.overhead.memory import PeakMemory
from sandbox.stack import ROOT

__all__ = ["EXECUTOR", "HANDWRITTEN", "SIDES", "Mark", "Outcome", "measure"]

EXECUTOR, HANDWRITTEN = "executor", "hand-written"
SIDES = (HANDWRITTEN, EXECUTOR)


@dataclass(frozen=True)
class Mark:
    """A line that the run printed, and when: seconds after its start."""

    at: float
    text: str


@dataclass(frozen=True)
class Outcome:
    """One run of one side, start-up of the JVM and of Python included. Seconds and bytes.

    `event` is the file of its terminal event.
    """

    side: str
    run_id: str
    event: Path
    seconds: float
    cpu_seconds: float
    started: float
    marks: tuple[Mark, ...]
    jvm_peak: int
    python_peak: int
    spark: SparkWork


def measure(side: str, bench: Bench) -> Outcome:
    """Runs one side once. Raises RuntimeError with its output where it does not succeed."""
    run_id = str(uuid.uuid4())
    event = Path(bench.environ["CORDATA_EVIDENCE"]) / "runs" / run_id / "terminal.json"
    command = [
        str(Path(sys.executable).parent / "spark-submit"),
        *("--properties-file", str(bench.properties)),
        *_script(side, bench, run_id, event),
    ]
    before = set(bench.event_logs.iterdir())
    began, started = time.monotonic(), time.time()
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env={**os.environ, **bench.environ, **(bench.handwritten_environ if side == HANDWRITTEN else {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    marks: list[Mark] = []
    assert process.stdout is not None
    with PeakMemory(process.pid) as memory:
        reader = threading.Thread(target=_collect, args=(process.stdout, began, marks), daemon=True)
        reader.start()
        # The JVM is this very process, and it waits for Python: their usage includes both.
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = code = os.waitstatus_to_exitcode(status)
        seconds = time.monotonic() - began
        reader.join(10)
    if code != 0:
        raise RuntimeError(f"the {side} run ended with {code}:\n" + "\n".join(mark.text for mark in marks))
    (log,) = set(bench.event_logs.iterdir()) - before
    return Outcome(
        side=side,
        run_id=run_id,
        event=event,
        seconds=seconds,
        cpu_seconds=usage.ru_utime + usage.ru_stime,
        started=started,
        marks=tuple(marks),
        jvm_peak=memory.jvm,
        python_peak=memory.python,
        spark=spark_work(log, "fraud_raw.transactions"),
    )


def _script(side: str, bench: Bench, run_id: str, event: Path) -> list[str]:
    if side == EXECUTOR:
        descriptor = bench.domain / "pipelines" / "transactions_scored.yml"
        return [str(ROOT / "glue_jobs" / "run_pipeline.py"), "--descriptor", str(descriptor), "--run-id", run_id]
    script = ROOT / "benchmarks" / "handwritten" / "transactions_scored.py"
    event.parent.mkdir(parents=True)
    options = ["--domain", str(bench.domain), "--format", bench.format, "--event-file", str(event)]
    return [str(script), *options, "--run-id", run_id]


def _collect(lines: IO[str], began: float, marks: list[Mark]) -> None:
    with lines:
        for line in lines:
            marks.append(Mark(time.monotonic() - began, line.rstrip("\n")))
