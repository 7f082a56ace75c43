"""How a run tells the world that it began and how it ended: events, trace, exit code, closing summary."""

from __future__ import annotations

from datetime import UTC, datetime

from pipeline_runtime.catalog.history import snapshot_of_run
from pipeline_runtime.deployment import Deployment
from pipeline_runtime.engine.spark_error import GONE, failures, is_gone, short_message
from pipeline_runtime.errors import (
    EngineFailed,
    PipelineError,
    Quarantined,
    RunInterrupted,
    SchemaDrift,
)
from pipeline_runtime.evidence.runs import EventKind, RunEvidence
from pipeline_runtime.interrupts import Interrupt
from pipeline_runtime.lineage.children import child_events
from pipeline_runtime.lineage.delivery import open_delivery
from pipeline_runtime.lineage.emitter import Emitter
from pipeline_runtime.lineage.events import RunStatus, start_event, terminal_event, validation_event
from pipeline_runtime.lineage.redact import redact
from pipeline_runtime.notify.owner import open_notifier
from pipeline_runtime.notify.telling import tell_of_run
from pipeline_runtime.progress import Progress
from pipeline_runtime.trace import Trace
from pipeline_runtime.writers.parquet_ledger import record_of_publish
from pipeline_runtime.writers.plan import Published, TargetPlan

__all__ = ["Reporter", "as_pipeline_error"]


class Reporter:
    """Emits the run's START, its one terminal event and the suite's verdict, and says so."""

    def __init__(self, deployment: Deployment, progress: Progress, trace: Trace) -> None:
        self._deployment = deployment
        self._progress = progress
        self._trace = trace
        self.evidence = RunEvidence(deployment.evidence, progress.facts.context.run_id)
        self._owner = open_notifier(deployment.environ, deployment.evidence)
        destination = deployment.lineage.destination
        self._emitter = Emitter(self.evidence, open_delivery(destination), lambda line: trace.stage("lineage", line))

    def started(self) -> None:
        """Emits START. Raises ConfigurationError, with nothing emitted, where no evidence can be kept."""
        self._emitter.check()
        self._emitter.start(start_event(self._progress.facts, at=_now()))

    def ended(self, error: PipelineError | None) -> int:
        """Emits how the run ended and the verdict, where there is one; returns the exit code."""
        if error is not None and self._progress.facts.published is None:
            self.look_whether_published()
        if isinstance(error, RunInterrupted) and self._progress.facts.published is not None:
            error = None  # It came too late to stop anything.
        status = self._status(error)
        facts = self._progress.facts
        if error is not None:
            self._trace.stage("FAILED", *_failure_lines(error))
        event = terminal_event(facts, status, at=_now(), error=error)
        outcome = self._emitter.terminal(event)
        sides = f"inputs={len(event.inputs or ())} outputs={len(event.outputs or ())}"
        event_type = outcome.event_type or ("COMPLETE" if status is RunStatus.COMPLETE else "FAIL")
        self._trace.stage("emit", f"{event_type} → {self._sink(EventKind.TERMINAL)} {sides}")
        if facts.result is not None:
            self._emitter.other(validation_event(facts, status, at=_now()))
            self._trace.stage(
                "emit", f"OTHER → {self._sink(EventKind.OTHER)} assertions={len(facts.result.assertions)}"
            )
        if self._deployment.lineage.children and outcome.won:
            self._emitter.children(lambda: child_events(facts, status))
        lines = [] if error is None else _failure_lines(error)
        for said in tell_of_run(facts, error, lines, self._owner, self._deployment.evidence, _now()):
            self._trace.stage("notify", said)
        self._summary(error, status, event_type)
        return 0 if error is None else error.exit_code

    def _status(self, error: PipelineError | None) -> RunStatus:
        """What the catalog shows decides: a run that published is COMPLETE, also where something failed afterwards."""
        if isinstance(error, Quarantined):
            return RunStatus.QUARANTINED
        if error is None or self._progress.facts.published is not None:
            return RunStatus.COMPLETE
        return RunStatus.FAIL

    def look_whether_published(self) -> None:
        """Where the commit's answer was lost, with the JVM for example, the catalog knows what became of it."""
        target: TargetPlan | None = self._progress.facts.target
        run_id = self._progress.facts.context.run_id
        if target is None:
            return
        try:
            published = self._published(target, run_id)
        except Exception as error:  # Whatever keeps the catalog from answering, the run must still say how it ended.
            self._trace.stage("lineage", f"the catalog does not say whether the run published: {redact(str(error))}")
            return
        if published is not None:
            self._progress.learn(published=published)

    def _published(self, target: TargetPlan, run_id: str) -> Published | None:
        """What the catalog says the run published, None where it did not."""
        glue, s3 = self._deployment.glue, self._deployment.s3
        staged = self.evidence.staged()
        if staged is None:
            return None
        if target.kind == "parquet":
            record = record_of_publish(self._deployment.evidence, glue, target.identity, run_id)
            if record is None:
                return None
            return Published(target.identity, record.rows, record.partitions, None, replaced=True)
        snapshot = snapshot_of_run(glue, s3, target.identity, run_id, staged.snapshot_id)
        if snapshot is None:
            return None
        return Published(target.identity, snapshot.rows, snapshot.partitions, snapshot.id, replaced=True)

    def _sink(self, kind: EventKind) -> str:
        if self._deployment.lineage.destination is None:
            return "evidence only (lineage is off)"
        lost = any(event.kind is kind for event in self._emitter.undelivered)
        return "not delivered" if lost else "lineage adapter"

    def _summary(self, error: PipelineError | None, status: RunStatus, event_type: str) -> None:
        facts = self._progress.facts
        name = facts.descriptor.metadata.name
        published = facts.published
        if status is RunStatus.COMPLETE and published is not None:
            self._trace.note(f"published {published.identity.fqn}{_amount(published)}")
        elif status is RunStatus.QUARANTINED and published is not None:
            self._trace.note(f"quarantined {published.identity.fqn}{_amount(published)}; nothing was published")
        else:
            self._trace.note(f"failed {name}: nothing was published")
        if error is not None and status is RunStatus.COMPLETE:
            self._trace.note(f"but {redact(str(error))}")
        self._trace.note(self._emitter.summary)
        self._trace.note(f"{event_type} event: {self.evidence.where(EventKind.TERMINAL)}")


def as_pipeline_error(failure: BaseException) -> PipelineError:
    """Any failure as one of ours, its cause kept: what Spark, Python or the network raise included."""
    if isinstance(failure, PipelineError):
        return failure
    if isinstance(failure, Interrupt):
        wrapped: PipelineError = RunInterrupted(f"the run was told to stop ({failure})")
    elif is_gone(failure):
        wrapped = EngineFailed(GONE)
    elif isinstance(failure, failures()):
        wrapped = EngineFailed(f"Spark failed: {short_message(failure)}")
    else:
        wrapped = EngineFailed(f"{type(failure).__name__}: {failure}")
    wrapped.__cause__ = failure
    return wrapped


def _failure_lines(error: PipelineError) -> list[str]:
    name = type(error).__name__
    if isinstance(error, SchemaDrift):
        remedy = f"descriptor pins v{error.pinned_version} — bump the pin to accept"
        return [f"{name}: {error.diff}", remedy, redact(str(error))]
    first, *rest = redact(str(error)).splitlines() or [""]
    return [f"{name}: {first}", *rest]


def _amount(published: Published) -> str:
    if not published.replaced:
        return ": the output has no rows, so nothing was replaced"
    parts = [f" {published.rows:,} rows"]
    if published.partitions:
        parts.append(f" in {published.partitions:,} partitions")
    if published.snapshot_id is not None:
        parts.append(f", snapshot {published.snapshot_id}")
    return "".join(parts)


def _now() -> datetime:
    return datetime.now(UTC)
