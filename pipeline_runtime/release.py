"""Publishing a quarantined batch after a person's review: once, however often it is asked for.

The batch was judged by the run that left it in quarantine. Its suite is not asked again: the release repeats that
verdict in its own events, with who decided to publish all the same.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline_runtime.boundary import conduct
from pipeline_runtime.catalog.table import PinnedSource
from pipeline_runtime.context import RunContext
from pipeline_runtime.deployment import Deployment, connect
from pipeline_runtime.descriptor.files import shown
from pipeline_runtime.descriptor.load import LoadedDescriptor, load
from pipeline_runtime.engine.catalogs import OWN_CATALOG, quoted
from pipeline_runtime.engine.run_session import RunSession
from pipeline_runtime.engine.session import build_session
from pipeline_runtime.errors import EngineFailed, ReleaseRefused, UsageError
from pipeline_runtime.evidence.quarantined import QuarantinedBatch, quarantined_batch
from pipeline_runtime.evidence.releases import Attempt, attempts_of, claim_attempt, is_registered, note_registered
from pipeline_runtime.evidence.runs import EventKind, RunEvidence
from pipeline_runtime.evidence.store import EvidenceStore
from pipeline_runtime.lineage.engine import engine_of
from pipeline_runtime.lineage.facts import Release, RunFacts
from pipeline_runtime.lineage.git import Git, GitProblem
from pipeline_runtime.lineage.provenance import provenance
from pipeline_runtime.lineage.values import utc_text
from pipeline_runtime.preflight import resolve_policy, resolve_quarantine, resolve_target, trace_policy
from pipeline_runtime.progress import Progress
from pipeline_runtime.publish import publish, register
from pipeline_runtime.readers.glue_table import read_glue_table
from pipeline_runtime.readers.parquet_source import prepared
from pipeline_runtime.reporter import Reporter
from pipeline_runtime.trace import Trace
from pipeline_runtime.writers import WRITERS
from pipeline_runtime.writers.contract import check_declared, check_not_null
from pipeline_runtime.writers.output import output_schema
from pipeline_runtime.writers.owner import is_gone
from pipeline_runtime.writers.plan import QUARANTINE_SUFFIX, TargetPlan
from pipeline_runtime.writers.quarantine import RUN_ID
from pipeline_runtime.writers.staged import StagedBatch, WriterTools, discarded_on_failure

if TYPE_CHECKING:
    from pipeline_runtime.deployment import SparkStarter

__all__ = ["ReleaseRequest", "release"]


@dataclass(frozen=True)
class ReleaseRequest:
    """What the command line asks for.

    `descriptor` is found by the original run's provenance where it is None. `take_over` finishes an attempt whose
    process cannot be seen from here. `replace_newer` also replaces what runs have published since the original one.
    """

    run_id: str
    released_by: str
    reason: str | None = None
    descriptor: Path | None = None
    take_over: bool = False
    replace_newer: bool = False


@dataclass(frozen=True)
class _Plan:
    """Where the batch is, where it goes, and the tags as Lake Formation spells them."""

    source: PinnedSource
    target: TargetPlan
    tags: Mapping[str, str]


def release(
    request: ReleaseRequest,
    environ: Mapping[str, str],
    open_trace: Callable[[str], Trace],
    start_spark: SparkStarter = build_session,
) -> int:
    """Publishes the batch and returns the exit code: 0 where it is published now, by this call or an earlier one.

    `open_trace` makes the trace of a run id: each attempt is a run of its own. Raises ReleaseRefused where there is
    nothing to release or someone else is at it, UsageError where the descriptor or the deployment cannot be used;
    either way nothing is emitted.
    """
    deployment = connect(environ, start_spark)
    store = deployment.evidence
    batch = quarantined_batch(RunEvidence(store, request.run_id))
    earlier = attempts_of(store, batch.run_id)
    if (done := _published(store, earlier)) is not None:
        open_trace(done.run_id).note(
            f"run {batch.run_id} was released before, by {done.released_by} at {done.claimed_at} (run {done.run_id}); "
            "nothing was published now"
        )
        if _is_unregistered(store, done):
            _register(request, batch, deployment, open_trace(done.run_id))
        return 0
    loaded = _descriptor(request, batch)
    if earlier and _ended(store, earlier[-1]) is None:
        _refuse_to_disturb(earlier[-1], request, deployment)
        if _closed(earlier[-1], batch, loaded, deployment, open_trace(earlier[-1].run_id)):
            return 0
    attempt = _attempt(request, deployment)
    if not claim_attempt(store, earlier, attempt):
        raise ReleaseRefused(f"run {batch.run_id} is being released by someone else, who was faster; ask again later")
    trace = open_trace(attempt.run_id)
    progress = Progress(_facts(attempt, loaded, environ))

    def work(session: RunSession, evidence: RunEvidence) -> None:
        because = f": {attempt.reason}" if attempt.reason else ""
        trace.stage(
            "release", f"run {batch.run_id} of {loaded.descriptor.metadata.name}", f"by {attempt.released_by}{because}"
        )
        if loaded.sha256 != batch.descriptor_sha256:
            trace.stage("descriptor", f"{shown(loaded.path)} has changed since that run; as it is now it applies")
        _execute(request, batch, loaded, deployment, session, evidence, progress, trace)

    return conduct(deployment, progress, trace, work)


def _execute(
    request: ReleaseRequest,
    batch: QuarantinedBatch,
    loaded: LoadedDescriptor,
    deployment: Deployment,
    session: RunSession,
    evidence: RunEvidence,
    progress: Progress,
    trace: Trace,
) -> None:
    """The order of work. Returns where the batch is published; raises the PipelineError that says why it is not."""
    from pyspark.sql import functions as F  # noqa: N812

    plan = _plan(batch, loaded, deployment)
    progress.learn(source=plan.source, target=plan.target)
    trace_policy(plan.tags, trace)
    with trace.waiting("starting Spark"):
        spark = session.start(warehouse=plan.target.warehouse, foreign_accounts=(), endpoint=deployment.endpoint)
    quarantine = read_glue_table(spark, plan.source, OWN_CATALOG)
    rows = quarantine.where(F.col(RUN_ID) == batch.run_id).select(*(quoted(name) for name in batch.columns))
    output, promised = output_schema(rows.schema, plan.target), loaded.descriptor.contract.columns
    check_declared(output, promised, plan.target.identity.fqn)
    progress.learn(written_schema=output)
    tools = WriterTools(spark, deployment.glue, deployment.s3, deployment.evidence, deployment.owner)
    staged = WRITERS[plan.target.kind](tools, rows, plan.target, progress.facts.context.run_id)
    with discarded_on_failure(staged):
        if staged.is_empty:
            raise ReleaseRefused(f"{batch.table} holds no rows of run {batch.run_id} any more; nothing to release")
        left = "" if batch.rows in (None, staged.rows) else f", of {batch.rows:,} that the run had left there"
        trace.stage("read", f"{batch.table} {staged.rows:,} rows{left}", rows=staged.rows)
        check_not_null(staged.audit_frame(), promised, plan.target.identity.fqn)
        if not request.replace_newer:
            _refuse_to_replace(staged, batch, evidence.store)
        progress.learn(result=batch.result, witness=session.listened(engine_answers=True))
        publish(staged, loaded.descriptor, plan.tags, deployment, evidence, progress)
    trace.stage("write", f"{plan.target.identity.fqn} {plan.target.kind}", rows=staged.rows)


def _refuse_to_replace(staged: StagedBatch, batch: QuarantinedBatch, store: EvidenceStore) -> None:
    """What was published since the batch was read is newer than it: a person has to say that it goes all the same."""
    later = staged.published_since(_began(store, batch.run_id))
    if later:
        raise ReleaseRefused(
            f"run {batch.run_id} is older than what {staged.plan.identity.fqn} shows: "
            f"{'; '.join(str(each) for each in later)}. The release would replace that. If it is to, pass "
            "--replace-newer."
        )


def _began(store: EvidenceStore, run_id: str) -> datetime:
    """When the run began; where its START is not kept, when it ended."""
    run = RunEvidence(store, run_id)
    event = run.event(EventKind.START) or run.event(EventKind.TERMINAL) or b"{}"
    return datetime.fromisoformat(json.loads(event)["eventTime"])


def _plan(batch: QuarantinedBatch, loaded: LoadedDescriptor, deployment: Deployment) -> _Plan:
    pipeline = loaded.descriptor
    tags = resolve_policy(pipeline.contract.lf_tags, deployment)
    declared = tuple(column.name for column in pipeline.contract.columns)
    target = replace(resolve_target(pipeline.target, None, deployment), declared=declared)
    table = resolve_quarantine(target, deployment).existing
    if table is None:
        raise ReleaseRefused(f"{batch.table} does not exist any more; nothing to release")
    source = prepared(PinnedSource(table, table.schema, table.version), "glue_table", deployment.glue)
    own = tuple(partition for partition in source.partitions if partition.values == (batch.run_id,))
    return _Plan(replace(source, partitions=own), target, tags)


def _descriptor(request: ReleaseRequest, batch: QuarantinedBatch) -> LoadedDescriptor:
    """The descriptor that is given, else the original run's, from the top of the checkout one stands in."""
    path = request.descriptor or _top() / batch.descriptor_path
    if not path.is_file():
        raise UsageError(
            f"{shown(path.absolute())} does not exist. Run {batch.run_id} was of {batch.descriptor_path}: stand in a "
            "checkout of its repository (without one, in the domain root), or pass --descriptor."
        )
    loaded = load(path)
    metadata, target = loaded.descriptor.metadata, loaded.descriptor.target
    is_now = ((f"cordata.{metadata.domain}", metadata.name), target.fqn + QUARANTINE_SUFFIX)
    if is_now != (batch.job, batch.table):
        raise UsageError(
            f"{shown(loaded.path)} is {metadata.name} ({metadata.domain}) with target {target.fqn}; run {batch.run_id} "
            f"was of {batch.job[1]} in {batch.job[0]} and left its batch in {batch.table}. Pass that one's descriptor."
        )
    return loaded


def _top() -> Path:
    try:
        return Git.of(Path.cwd(), 5.0).top
    except GitProblem:
        return Path.cwd()


def _attempt(request: ReleaseRequest, deployment: Deployment) -> Attempt:
    return Attempt(
        original_run_id=request.run_id,
        run_id=str(uuid.uuid4()),
        released_by=request.released_by,
        reason=request.reason,
        claimed_at=utc_text(datetime.now(UTC)),
        owner=deployment.owner,
    )


def _facts(attempt: Attempt, loaded: LoadedDescriptor, environ: Mapping[str, str]) -> RunFacts:
    return RunFacts(
        context=RunContext(
            run_id=attempt.run_id,
            descriptor_path=loaded.path,
            domain_root=loaded.domain_root,
            started_at=datetime.now(UTC),
        ),
        descriptor=loaded.descriptor,
        engine=engine_of(environ),
        provenance=provenance(loaded.path, (), domain_root=loaded.domain_root),
        release=Release(attempt.original_run_id, attempt.released_by, attempt.reason),
    )


def _ended(store: EvidenceStore, attempt: Attempt) -> str | None:
    """How the attempt ended, COMPLETE or FAIL; None where it has not, or was killed."""
    body = RunEvidence(store, attempt.run_id).event(EventKind.TERMINAL)
    return None if body is None else str(json.loads(body)["eventType"])


def _published(store: EvidenceStore, attempts: tuple[Attempt, ...]) -> Attempt | None:
    return next((attempt for attempt in attempts if _ended(store, attempt) == "COMPLETE"), None)


def _refuse_to_disturb(attempt: Attempt, request: ReleaseRequest, deployment: Deployment) -> None:
    """An attempt that has not ended is left alone, unless its process is gone or a person says so."""
    if request.take_over or is_gone(attempt.owner, deployment.glue):
        return
    raise ReleaseRefused(
        f"{attempt.released_by} began to release run {attempt.original_run_id} at {attempt.claimed_at} (run "
        f"{attempt.run_id}, process {attempt.owner or 'unknown'}) and that has not ended. Ask again later; if that "
        "process is gone, pass --take-over."
    )


def _is_unregistered(store: EvidenceStore, attempt: Attempt) -> bool:
    """Whether the attempt published and could not register the contract: its COMPLETE names an error then."""
    event = json.loads(RunEvidence(store, attempt.run_id).event(EventKind.TERMINAL) or b"{}")
    failed = "errorMessage" in event.get("run", {}).get("facets", {})
    return failed and not is_registered(store, attempt.original_run_id)


def _register(request: ReleaseRequest, batch: QuarantinedBatch, deployment: Deployment, trace: Trace) -> None:
    """Registers the contract of a batch that an earlier call published. Raises RegistrationFailed."""
    loaded = _descriptor(request, batch)
    target = resolve_target(loaded.descriptor.target, None, deployment)
    declaration = provenance(loaded.path, (), domain_root=loaded.domain_root)
    register(loaded.descriptor, target.identity, deployment, declaration)
    note_registered(deployment.evidence, batch.run_id, utc_text(datetime.now(UTC)))
    trace.note(f"the contract of {target.identity.fqn} is registered now, which the release could not")


def _closed(
    attempt: Attempt, batch: QuarantinedBatch, loaded: LoadedDescriptor, deployment: Deployment, trace: Trace
) -> bool:
    """Says for a killed attempt how it ended, as the catalog shows it; returns whether it had published."""
    progress = Progress(_facts(attempt, loaded, deployment.environ))
    plan = _plan(batch, loaded, deployment)
    progress.learn(source=plan.source, target=plan.target)
    reporter = Reporter(deployment, progress, trace)
    if reporter.evidence.event(EventKind.START) is None:
        reporter.started()
    reporter.look_whether_published()
    if progress.facts.published is None:
        reporter.ended(EngineFailed("the process that released the batch was killed before it had published"))
        return False
    register(loaded.descriptor, plan.target.identity, deployment, progress.facts.provenance)
    progress.learn(result=batch.result, tags=plan.tags)
    reporter.ended(None)
    return True
