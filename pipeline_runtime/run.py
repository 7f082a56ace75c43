"""The story of a run: `run` conducts it from START to its one terminal event, `execute` is the order of work."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline_runtime.boundary import conduct
from pipeline_runtime.context import ParentRun, RunContext
from pipeline_runtime.deployment import Deployment, connect
from pipeline_runtime.descriptor.blocks import OnFailure
from pipeline_runtime.descriptor.files import named_files
from pipeline_runtime.descriptor.load import LoadedDescriptor, load
from pipeline_runtime.descriptor.model import Descriptor
from pipeline_runtime.engine.catalogs import catalog_name
from pipeline_runtime.engine.listener_version import listener_problem
from pipeline_runtime.engine.metrics import count_rows, scan_rows, unnamed_scan_rows
from pipeline_runtime.engine.plans import origins_of
from pipeline_runtime.engine.run_session import RunSession
from pipeline_runtime.engine.session import build_session
from pipeline_runtime.errors import FileProblem, PublishBlocked, Quarantined, SuiteError
from pipeline_runtime.evidence.runs import RunEvidence
from pipeline_runtime.lineage.engine import engine_of
from pipeline_runtime.lineage.facts import RunFacts
from pipeline_runtime.lineage.provenance import provenance
from pipeline_runtime.preflight import Plan, preflight
from pipeline_runtime.progress import Progress
from pipeline_runtime.publish import publish
from pipeline_runtime.quality.broken_rules import with_broken_rules
from pipeline_runtime.quality.runner import start_import, validate
from pipeline_runtime.quality.suite import check_columns
from pipeline_runtime.readers import reader_for
from pipeline_runtime.readers.jdbc import check_filters
from pipeline_runtime.readers.reading import as_reading
from pipeline_runtime.steps import STEPS, bindings
from pipeline_runtime.steps.plan_guard import check_plan
from pipeline_runtime.trace import Trace
from pipeline_runtime.writers import WRITERS
from pipeline_runtime.writers.contract import check_declared, check_not_null
from pipeline_runtime.writers.output import output_schema
from pipeline_runtime.writers.quarantine import write_quarantine
from pipeline_runtime.writers.staged import WriterTools, discarded_on_failure

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from pipeline_runtime.deployment import SparkStarter
    from pipeline_runtime.quality.result import ValidationResult
    from pipeline_runtime.readers import Reader
    from pipeline_runtime.sync.copy import SyncedCopy
    from pipeline_runtime.writers.staged import StagedBatch

__all__ = ["RunRequest", "execute", "run"]


@dataclass(frozen=True)
class RunRequest:
    """What the command line asks for. Times are aware and UTC; `synced` is the copy that the descriptor lies in."""

    descriptor: Path
    run_id: str
    nominal_time: datetime | None = None
    parent: ParentRun | None = None
    synced: SyncedCopy | None = None


def run(
    request: RunRequest, environ: Mapping[str, str], trace: Trace, start_spark: SparkStarter = build_session
) -> int:
    """Runs one pipeline and returns its exit code. START and exactly one terminal event, whatever happens.

    Raises UsageError, with nothing emitted, where the descriptor does not parse or the deployment is unusable.
    """
    loaded = load(request.descriptor)
    pipeline = loaded.descriptor
    deployment = connect(environ, start_spark)
    progress = Progress(_first_facts(request, loaded, environ))

    def work(session: RunSession, evidence: RunEvidence) -> None:
        trace.stage("descriptor", f"{_title(pipeline)} apiVersion {pipeline.apiVersion.rpartition('/')[2]} OK")
        execute(loaded, deployment, session, evidence, progress, trace)

    return conduct(deployment, progress, trace, work)


def execute(
    loaded: LoadedDescriptor,
    deployment: Deployment,
    session: RunSession,
    evidence: RunEvidence,
    progress: Progress,
    trace: Trace,
) -> None:
    """The order of work. Returns where the batch is published; raises the PipelineError that says why it is not."""
    pipeline = loaded.descriptor
    synced = progress.facts.context.synced
    if synced is not None:
        synced.check()
    plan = preflight(loaded, named_files(loaded), deployment, trace)
    progress.learn(
        source=plan.source,
        target=plan.target,
        provenance=provenance(loaded.path, plan.files, domain_root=loaded.domain_root, synced=synced),
    )
    start_import()
    bound = {
        step.id: bindings(step, plan.bodies[step.id], progress.facts.context.nominal_time) for step in pipeline.steps
    }
    reader = reader_for(pipeline.source.kind)
    spark = _start(session, plan, deployment, trace)
    frame, counts, warnings = _frame(spark, pipeline, plan, reader, bound, deployment)
    _check_output(frame, plan)
    output, promised = output_schema(frame.schema, plan.target), pipeline.contract.columns
    check_declared(output, promised, pipeline.target.fqn)
    progress.learn(written_schema=output, origins=origins_of(frame))
    tools = WriterTools(spark, deployment.glue, deployment.s3, deployment.evidence, deployment.owner)
    batch = WRITERS[pipeline.target.kind](tools, frame, plan.target, progress.facts.context.run_id)
    with discarded_on_failure(batch):
        _trace_rows(trace, spark, pipeline, plan, counts, deployment, progress)
        for warning in warnings():
            trace.stage("WARNING", warning)
        rows = batch.audit_frame()
        check_not_null(rows, promised, pipeline.target.fqn)
        if promised:
            trace.stage("contract", f"{pipeline.target.fqn} {len(promised)} columns as declared")
        result = validate(rows, plan.suite)
        progress.learn(result=result)
        _judge(tools, pipeline, plan, batch, result, progress, trace)
        # The write is over; whoever has to say in our place that this was published, can then say of what.
        progress.learn(witness=session.listened(engine_answers=True))
        publish(batch, pipeline, plan.tags, deployment, evidence, progress)
    _trace_write(trace, pipeline, progress)


def _first_facts(request: RunRequest, loaded: LoadedDescriptor, environ: Mapping[str, str]) -> RunFacts:
    """What is known before any work: enough for a START event, and for a FAIL right after it."""
    try:
        named = named_files(loaded).all
    except FileProblem:
        named = ()  # `execute` says what is wrong with them, after START.
    return RunFacts(
        context=RunContext(
            run_id=request.run_id,
            descriptor_path=loaded.path,
            domain_root=loaded.domain_root,
            started_at=datetime.now(UTC),
            nominal_time=request.nominal_time,
            parent=request.parent,
            synced=request.synced,
        ),
        descriptor=loaded.descriptor,
        engine=engine_of(environ),
        provenance=provenance(loaded.path, named, domain_root=loaded.domain_root, synced=request.synced),
    )


def _start(session: RunSession, plan: Plan, deployment: Deployment, trace: Trace) -> SparkSession:
    owner = plan.source.table.identity.account
    with trace.waiting("starting Spark"):
        spark = session.start(
            warehouse=plan.target.warehouse,
            foreign_accounts=(owner,) if owner != deployment.account else (),
            endpoint=deployment.endpoint,
        )
    if (problem := listener_problem(spark)) is not None:
        trace.stage("WARNING", problem)
    return spark


def _frame(
    spark: SparkSession,
    pipeline: Descriptor,
    plan: Plan,
    reader: Reader,
    bound: Mapping[str, Mapping[str, object]],
    deployment: Deployment,
) -> tuple[DataFrame, dict[str, Callable[[], int | None]], Callable[[], tuple[str, ...]]]:
    """The steps' last frame, not computed yet; then what counts each step's rows, and the reader's warnings."""
    for step in pipeline.steps:
        if step.query_file is not None:
            check_plan(spark, plan.bodies[step.id].text, plan.bodies[step.id].shown_as)
    source = plan.source
    reading = as_reading(reader(spark, source, catalog_name(source.table.identity, deployment.account)))
    frame = reading.frame
    counts: dict[str, Callable[[], int | None]] = {}
    for step in pipeline.steps:
        frame = STEPS[step.kind](frame, step, plan.bodies[step.id], bound[step.id])
        frame, counts[step.id] = count_rows(frame, f"step {step.id}")
    return frame, counts, reading.warnings


def _check_output(frame: DataFrame, plan: Plan) -> None:
    """What is wrong with the frame itself is refused before anything is written: filters that would lose rows, and
    columns that the suite asks for and the steps do not produce.
    """
    if plan.source.jdbc is not None:
        check_filters(frame)
    problems = check_columns(plan.suite, frame.columns)
    if problems:
        raise SuiteError(problems)


def _judge(
    tools: WriterTools,
    pipeline: Descriptor,
    plan: Plan,
    batch: StagedBatch,
    result: ValidationResult,
    progress: Progress,
    trace: Trace,
) -> None:
    """What the verdict means for the batch: returns where it may be published."""
    failing = [str(assertion) for assertion in result.failed]
    trace.stage("expect", f"{result.suite} {result.summary}", *failing)
    if result.success:
        return
    match pipeline.expectations.on_failure:
        case OnFailure.BLOCK_PUBLISH:
            raise PublishBlocked(pipeline.metadata.name, result)
        case OnFailure.QUARANTINE:
            mark = partial(with_broken_rules, suite=plan.suite, result=result)
            kept = write_quarantine(tools, batch, plan.quarantine, progress.facts.context.run_id, mark)
            progress.learn(published=kept)
            raise Quarantined(pipeline.metadata.name, kept.identity.fqn, result)
        case OnFailure.WARN:
            trace.stage("WARNING", f"{pipeline.metadata.name}: published all the same (on_failure: warn)")


def _trace_rows(
    trace: Trace,
    spark: SparkSession,
    pipeline: Descriptor,
    plan: Plan,
    counts: Mapping[str, Callable[[], int | None]],
    deployment: Deployment,
    progress: Progress,
) -> None:
    table = plan.source.table
    if table.is_iceberg:
        scanned = scan_rows(spark, f"{catalog_name(table.identity, deployment.account)}.{table.identity.fqn}")
    else:
        scanned = unnamed_scan_rows(spark)
    progress.learn(rows_read=scanned)
    trace.stage("read", f"{pipeline.source.kind} {_rows(scanned)}", rows=scanned)
    for step in pipeline.steps:
        rows = counts[step.id]()
        trace.stage("step", f"{step.id} ({step.kind}) {_rows(rows)}", rows=rows)


def _trace_write(trace: Trace, pipeline: Descriptor, progress: Progress) -> None:
    published = progress.facts.published
    if published is None or not published.replaced:
        trace.stage("write", f"{pipeline.target.fqn} {pipeline.target.kind}, the output has no rows: nothing replaced")
        return
    extent = f"{published.partitions:,} partitions" if pipeline.target.partition_by else "whole table"
    trace.stage("write", f"{pipeline.target.fqn} {pipeline.target.kind}, {extent}", rows=published.rows)


def _rows(count: int | None) -> str:
    return "rows unknown" if count is None else f"{count:,} rows"


def _title(pipeline: Descriptor) -> str:
    return f"{pipeline.metadata.name} ({pipeline.metadata.domain})"
