"""The story of a batch: START, the task followed to the batch's end, the batch claimed, and one terminal event."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from openlineage.client.event_v2 import RunEvent, RunState

from pipeline_runtime.closer.lost_batches import close_lost_batches
from pipeline_runtime.context import ParentRun
from pipeline_runtime.deployment import Deployment, connect
from pipeline_runtime.errors import (
    ConfigurationError,
    IngestionFailed,
    IngestionStopped,
    PipelineError,
    RunInterrupted,
)
from pipeline_runtime.evidence.runs import EventKind, RunEvidence
from pipeline_runtime.ingestion.batches import Batch, Batches
from pipeline_runtime.ingestion.datasets import LandingPlace, SourceSystem, landing_place, source_system
from pipeline_runtime.ingestion.events import Ingestion, Landed, ended_event, landed_event, start_event
from pipeline_runtime.ingestion.follow import Bound, Ended, begin, check_bound, follow
from pipeline_runtime.ingestion.following import Following
from pipeline_runtime.ingestion.landing import landing_tables, mark
from pipeline_runtime.ingestion.statistics import TableCounts, batch_of
from pipeline_runtime.ingestion.task import Task, TaskArn, Tasks, Unanswered
from pipeline_runtime.interrupts import Interrupt, interruptible, uninterrupted
from pipeline_runtime.lineage.delivery import Delivery, open_delivery
from pipeline_runtime.lineage.emitter import Emitter
from pipeline_runtime.lineage.engine import engine_of
from pipeline_runtime.lineage.redact import redact
from pipeline_runtime.lineage.values import utc_text
from pipeline_runtime.trace import Trace

if TYPE_CHECKING:
    from pipeline_runtime.catalog.table import TableIdentity

__all__ = ["IngestionRequest", "ingest"]


@dataclass(frozen=True)
class IngestionRequest:
    """What the command line asks for. `databases` hold the landing tables; `pause` is in seconds."""

    task: TaskArn
    domain: str
    run_id: str
    bound: Bound
    databases: tuple[str, ...] = ()
    pause: float = 15.0
    parent: ParentRun | None = None


def ingest(request: IngestionRequest, environ: Mapping[str, str], trace: Trace) -> int:
    """Tells of one batch and returns its exit code: 0 for COMPLETE, 1 for FAIL and ABORT.

    START and exactly one terminal event, whatever happens. Raises UsageError, with nothing emitted, where the task, its
    endpoints or the deployment cannot be used.
    """
    deployment = connect(environ)
    tasks = Tasks(_client(request.task), request.task)
    task, source, place = _described(tasks, deployment)
    check_bound(task, request.bound)
    run = Ingestion(
        request.run_id, request.domain, request.task.text, task.name, task.kind, engine_of(environ), request.parent
    )
    evidence = RunEvidence(deployment.evidence, request.run_id)
    emitter = Emitter(
        evidence,
        open_delivery(deployment.lineage.destination),
        lambda text: trace.stage("lineage", text.removeprefix("lineage: ")),
    )
    emitter.check()
    following = Following(deployment.evidence, request.run_id, request.task.text)
    with uninterrupted():
        _close_the_lost(deployment, request.task, trace)
        following.begin()
        emitter.start(start_event(run, at=datetime.now(UTC)))
        error: PipelineError | None = None
        try:
            with interruptible(lambda: None):
                tables = landing_tables(deployment.glue, request.databases, deployment.region)
                trace.stage("task", begin(tasks, task))
                ended = follow(tasks, task, request.bound, request.pause, following.go_on)
            trace.stage("ended", f"{task.name}: {ended.why}")
            if evidence.event(EventKind.TERMINAL) is not None:
                raise IngestionFailed("the run was taken for lost, and closed as FAIL; the next batch counts what came")
            event = _landed(request, deployment, run, ended, source, place, tables, trace)
        except BaseException as failure:
            error = _as_pipeline_error(failure)
            logging.getLogger(__name__).debug("the batch failed", exc_info=failure)
            aborted = isinstance(error, IngestionStopped | RunInterrupted)
            event = ended_event(run, RunState.ABORT if aborted else RunState.FAIL, error, at=datetime.now(UTC))
            first, *rest = redact(str(error)).splitlines() or [""]
            trace.stage("ABORT" if aborted else "FAIL", f"{type(error).__name__}: {first}", *rest)
        outcome = emitter.terminal(event)
        following.end()
        trace.note(emitter.summary)
        trace.note(f"{outcome.event_type or 'unclaimed'} event: {evidence.where(EventKind.TERMINAL)}")
    return 0 if error is None and outcome.event_type in (None, "COMPLETE") else 1


def _close_the_lost(deployment: Deployment, task: TaskArn, trace: Trace) -> None:
    """Where no closer watches, the next batch of a task says how a killed one ended."""

    def delivery() -> Delivery | None:
        return open_delivery(deployment.lineage.destination)

    for lost in close_lost_batches(deployment.evidence, delivery, datetime.now(UTC), task.text):
        trace.stage("WARNING", f"run {lost.run_id} of this task never said how it ended; it is closed as FAIL")


def _described(tasks: Tasks, deployment: Deployment) -> tuple[Task, SourceSystem, LandingPlace]:
    """The task, and what its datasets will be called, before anything is started."""
    try:
        task = tasks.look()
        target = tasks.endpoint(task.target)
        return task, source_system(tasks.endpoint(task.source), deployment.secrets), landing_place(target, task)
    except (IngestionFailed, Unanswered) as refusal:
        raise ConfigurationError(str(refusal)) from refusal


def _landed(
    request: IngestionRequest,
    deployment: Deployment,
    run: Ingestion,
    ended: Ended,
    source: SourceSystem,
    place: LandingPlace,
    tables: Mapping[str, TableIdentity],
    trace: Trace,
) -> RunEvent:
    """Counts the batch, names this run on its landing tables, claims it; the COMPLETE event that says so.

    A batch is another's where its number is taken: then nothing of ours stays, and IngestionFailed is raised.
    """
    batches = Batches(deployment.evidence, request.task)
    previous, now = batches.last(), datetime.now(UTC)
    fresh_at = None if ended.task.fresh_at is None else utc_text(ended.task.fresh_at)
    # A load from nothing counts from nothing, even where its counters have outgrown those of before.
    goes_on = previous is not None and previous.fresh_at == fresh_at
    moved = batch_of(ended.counters, previous.counters if previous is not None and goes_on else ())
    landed = [_share(each, source, place, tables) for each in moved]
    for each in landed:
        _trace(trace, each, known=bool(tables))
    number = 1 if previous is None else previous.number + 1
    marked = mark(deployment.glue, [each.table for each in landed if each.table is not None], request.run_id)
    if not batches.claim(Batch(number, request.run_id, utc_text(now), fresh_at, ended.counters)):
        marked.undo()
        raise IngestionFailed(
            f"batch {number} of task {ended.task.name} was told of by another run meanwhile; one `ingest` a task at a "
            "time. Nothing is lost: the next batch counts what came since."
        )
    rows = sum(each.counts.rows for each in landed)
    trace.note(f"batch {number} of {ended.task.name}: {rows:,} rows of {len(landed)} tables")
    return landed_event(run, number, None if previous is None else previous.run_id, landed, at=now)


def _share(
    table: TableCounts, source: SourceSystem, place: LandingPlace, tables: Mapping[str, TableIdentity]
) -> Landed:
    location = place.location(table)
    return Landed(source.dataset(table), place.dataset(table), f"{location}/", tables.get(location), table.counts)


def _trace(trace: Trace, landed: Landed, *, known: bool) -> None:
    counts = landed.counts
    where = landed.location if landed.table is None else landed.table.fqn
    trace.stage(
        "landed",
        f"{landed.source.name} → {where} {counts.rows:,} rows ({counts.full_load_rows:,} loaded, {counts.inserts:,} "
        f"inserts, {counts.updates:,} updates, {counts.deletes:,} deletes)",
        rows=counts.rows,
    )
    if known and landed.table is None:
        trace.stage("WARNING", f"no table of the given databases lies at {landed.location}")


def _as_pipeline_error(failure: BaseException) -> PipelineError:
    if isinstance(failure, PipelineError):
        return failure
    if isinstance(failure, Interrupt):
        return RunInterrupted(
            f"told to stop ({failure}) before the batch had ended; the replication goes on without us"
        )
    return IngestionFailed(f"{type(failure).__name__}: {failure}")


def _client(task: TaskArn) -> Any:
    import boto3

    # No stubs of DMS are installed; `Tasks` is the only place that reads its answers.
    client: Any = boto3.Session().client
    return client("dms", region_name=task.region)
