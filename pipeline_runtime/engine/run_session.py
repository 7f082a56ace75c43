"""One run's Spark: started with the listener aimed at the run's own file, stopped when the run has ended."""

from __future__ import annotations

import contextlib
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline_runtime.engine.catalogs import tagging
from pipeline_runtime.engine.session import session_settings
from pipeline_runtime.errors import EvidenceFailed
from pipeline_runtime.evidence.runs import RunEvidence
from pipeline_runtime.lineage.listener import Witness, keep_events, listener_attached, listener_settings, read_events

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["RunSession"]


class RunSession:
    """Starts at most one session. `start_spark` makes it from an application name and settings.

    `listener_seconds` is how long the lineage listener is waited for, all in all.
    """

    def __init__(
        self,
        start_spark: Callable[[str, Mapping[str, str]], SparkSession],
        *,
        namespace: str,
        job: str,
        run_id: str,
        listener_seconds: float = 10.0,
    ) -> None:
        self._start_spark = start_spark
        self._listener_seconds = self._listener_seconds_left = listener_seconds
        self._namespace, self._job, self._run_id = namespace, job, run_id
        self._spark: SparkSession | None = None
        self._scratch: tempfile.TemporaryDirectory[str] | None = None

    def start(self, *, warehouse: str, foreign_accounts: tuple[str, ...], endpoint: str | None) -> SparkSession:
        """The run's session. Raises ConfigurationError where this process has another one already."""
        self._scratch = tempfile.TemporaryDirectory(prefix=f"run-{self._run_id[:8]}-", ignore_cleanup_errors=True)
        settings = session_settings(warehouse=warehouse, foreign_accounts=foreign_accounts, endpoint=endpoint)
        settings |= tagging(self._run_id)
        settings |= listener_settings(
            namespace=self._namespace,
            job_name=self._job,
            run_id=self._run_id,
            events_file=_events_file(self._scratch.name),
        )
        # A bar that redraws itself is for people at a terminal; in CloudWatch it would be a flood.
        settings["spark.ui.showConsoleProgress"] = str(sys.stderr.isatty()).lower()
        self._spark = self._start_spark(f"{self._namespace}.{self._job}", settings)
        return self._spark

    def cancel_jobs(self) -> None:
        """Stops what Spark is computing; for an interrupt's thread."""
        if self._spark is not None:
            with contextlib.suppress(Exception):
                self._spark.sparkContext.cancelAllJobs()

    def listened(self, *, engine_answers: bool) -> Witness:
        """What the lineage listener saw of the run so far; to be asked when the batch is written. Never raises.

        Without `engine_answers` (after an interrupt) the JVM is not asked anything any more.
        """
        if self._scratch is None or self._spark is None:
            return Witness(missing="Spark was not started")
        if not engine_answers:
            missing: str | None = "the run was interrupted, and the lineage listener was not waited for"
        else:
            missing = self._wait_for_listener(self._spark)
        try:
            events = read_events(_events_file(self._scratch.name))
        except OSError as error:
            return Witness(missing=f"the lineage listener's file cannot be read: {error.strerror or error}")
        return Witness(events, missing)

    def end(self, evidence: RunEvidence) -> str | None:
        """Keeps the listener's events with the evidence and clears up; returns what went wrong, in words."""
        if self._scratch is None:
            return None
        try:
            keep_events(_events_file(self._scratch.name), evidence)
        except EvidenceFailed as error:
            return f"the listener's events were not kept: {error}"
        finally:
            self._scratch.cleanup()
        return None

    def _wait_for_listener(self, spark: SparkSession) -> str | None:
        """Waits until the listener has heard of everything; says so where it has not, or where there is none."""
        started = time.monotonic()
        try:
            if not listener_attached(dict(spark.sparkContext.getConf().getAll())):
                return "no lineage listener was attached to the run's Spark"
            spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty(int(self._listener_seconds_left * 1000))
        except Exception:  # Whatever has become of the JVM, the run must still say how it ended.
            return (
                f"the lineage listener had not heard of everything after {self._listener_seconds:g} s, or Spark did "
                "not answer; what it wrote until then is here"
            )
        finally:
            self._listener_seconds_left = max(0.0, self._listener_seconds_left - (time.monotonic() - started))
        return None


def _events_file(scratch: str) -> Path:
    return Path(scratch) / "listener.jsonl"
