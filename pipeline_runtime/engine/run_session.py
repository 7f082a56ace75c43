"""One run's Spark: started with the listener aimed at the run's own file, stopped when the run has ended."""

from __future__ import annotations

import contextlib
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline_runtime.engine.catalogs import tagging
from pipeline_runtime.engine.session import session_settings
from pipeline_runtime.engine.spark_error import failures
from pipeline_runtime.errors import EvidenceFailed
from pipeline_runtime.evidence.runs import RunEvidence
from pipeline_runtime.lineage.listener import keep_events, listener_attached, listener_settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["RunSession"]


class RunSession:
    """Starts at most one session. `start_spark` makes it from an application name and settings."""

    def __init__(
        self, start_spark: Callable[[str, Mapping[str, str]], SparkSession], *, namespace: str, job: str, run_id: str
    ) -> None:
        self._start_spark = start_spark
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

    def end(self, evidence: RunEvidence, *, engine_answers: bool) -> str | None:
        """Keeps the listener's events with the evidence and clears up; returns what went wrong, in words.

        Without `engine_answers` (after an interrupt) the JVM is not asked anything any more.
        """
        if self._scratch is None:
            return None
        try:
            if self._spark is not None and engine_answers:
                self._flush_listener(self._spark)
            keep_events(_events_file(self._scratch.name), evidence)
        except EvidenceFailed as error:
            return f"the listener's events were not kept: {error}"
        finally:
            self._scratch.cleanup()
        return None

    def _flush_listener(self, spark: SparkSession) -> None:
        """Waits until the listener has heard of everything; goes on with what there is where that takes long."""
        if listener_attached(dict(spark.sparkContext.getConf().getAll())):
            with contextlib.suppress(*failures()):
                spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty(10_000)


def _events_file(scratch: str) -> Path:
    return Path(scratch) / "listener.jsonl"
