"""Everything of a run that can fail without an engine, so that it does before the engine starts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pipeline_runtime.catalog.glue import described
from pipeline_runtime.catalog.lakeformation import read_ontology, resolve_tags
from pipeline_runtime.catalog.locations import normal_location
from pipeline_runtime.catalog.lookup import find_table
from pipeline_runtime.catalog.pins import pin_text, resolve_pin
from pipeline_runtime.catalog.table import PinnedSource, TableIdentity
from pipeline_runtime.catalog.targets import check_location, inspect_target
from pipeline_runtime.deployment import Deployment
from pipeline_runtime.descriptor.files import NamedFiles, read_text
from pipeline_runtime.descriptor.load import LoadedDescriptor
from pipeline_runtime.engine.catalogs import OWN_CATALOG
from pipeline_runtime.errors import SchemaDrift, SqlRefused
from pipeline_runtime.quality.suite import Suite, load_suite
from pipeline_runtime.schema.recorded import recorded_path
from pipeline_runtime.steps.sql_guard import check_sql
from pipeline_runtime.trace import Trace
from pipeline_runtime.writers.plan import TargetPlan, quarantined

__all__ = ["Plan", "StepBody", "preflight"]


@dataclass(frozen=True)
class StepBody:
    """A step's text, and the path under which messages show it."""

    text: str
    shown_as: str


@dataclass(frozen=True)
class Plan:
    """A run, ready for the engine.

    The source as pinned, the steps' bodies by id, the suite, the tags as Lake Formation spells them, where the
    batch goes, where it goes instead if it is quarantined, and every file that shaped the run.
    """

    source: PinnedSource
    bodies: Mapping[str, StepBody]
    suite: Suite
    tags: Mapping[str, str]
    target: TargetPlan
    quarantine: TargetPlan
    files: tuple[Path, ...]


def preflight(loaded: LoadedDescriptor, files: NamedFiles, deployment: Deployment, trace: Trace) -> Plan:
    """Checks the files, the pin, the tags and the target; raises the PipelineError that names what is wrong.

    Reads the catalog and changes nothing.
    """
    pipeline = loaded.descriptor
    bodies = _bodies(loaded, files)
    suite = load_suite(files.suite, loaded.domain_root, _shown(files.suite))
    source = _source(loaded, deployment, trace)
    ontology = read_ontology(deployment.lakeformation, deployment.governance_catalog)
    tags = resolve_tags(pipeline.contract.lf_tags, ontology, deployment.governance_catalog)
    trace.stage("policy", " ".join(f"{k}={v}" for k, v in tags.items()) + " resolved against ontology")
    target = _target(loaded, source, deployment)
    recorded = recorded_path(
        loaded.domain_root, pipeline.source.database, pipeline.source.table, pipeline.source.schema_version
    )
    return Plan(
        source=source,
        bodies=bodies,
        suite=suite,
        tags=tags,
        target=target,
        quarantine=_quarantine(target, deployment),
        files=(*files.sql.values(), files.suite, *suite.baseline_files, *([recorded] if recorded.exists() else [])),
    )


def _source(loaded: LoadedDescriptor, deployment: Deployment, trace: Trace) -> PinnedSource:
    source = loaded.descriptor.source
    try:
        pinned = resolve_pin(source, loaded.domain_root, deployment.glue, deployment.s3, deployment.region)
    except SchemaDrift as drift:
        trace.stage("schema", f"{source.fqn} pinned v{drift.pinned_version}, catalog v{drift.current_version}")
        raise
    trace.stage("schema", f"{source.fqn} {pin_text(pinned)} OK")
    return pinned


def _bodies(loaded: LoadedDescriptor, files: NamedFiles) -> dict[str, StepBody]:
    """The SQL steps' texts, all judged before any is refused."""
    bodies = {step_id: StepBody(read_text(path), _shown(path)) for step_id, path in files.sql.items()}
    params = {step.id: step.params for step in loaded.descriptor.steps}
    problems = [
        problem for step_id, body in bodies.items() for problem in check_sql(body.text, body.shown_as, params[step_id])
    ]
    if problems:
        raise SqlRefused(problems)
    return bodies


def _target(loaded: LoadedDescriptor, source: PinnedSource, deployment: Deployment) -> TargetPlan:
    target = loaded.descriptor.target
    existing = inspect_target(
        target, deployment.glue, deployment.s3, region=deployment.region, account=deployment.account
    )
    identity = (
        existing.identity
        if existing is not None
        else TableIdentity(deployment.region, deployment.account, target.database, target.table)
    )
    check_location(target.location, identity, source.table, deployment.glue)
    return TargetPlan(
        identity=identity,
        spark_catalog=OWN_CATALOG,
        kind=target.kind,
        location=normal_location(target.location),
        partition_by=tuple(target.partition_by),
        existing=existing,
    )


def _quarantine(target: TargetPlan, deployment: Deployment) -> TargetPlan:
    """The quarantine beside the target, as the catalog has it now."""
    beside = quarantined(target, None)
    found = find_table(
        deployment.glue, database=beside.identity.database, table=beside.identity.table, region=deployment.region
    )
    return beside if found is None else quarantined(target, described(deployment.s3, found, deployment.region))


def _shown(path: Path) -> str:
    """The path as a person at this shell would write it."""
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)
