"""Everything of a run that can fail without an engine, so that it does before the engine starts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from pipeline_runtime.catalog.access import CatalogClients
from pipeline_runtime.catalog.deprecation import deprecation_text
from pipeline_runtime.catalog.glue import described
from pipeline_runtime.catalog.lakeformation import read_ontology, resolve_tags
from pipeline_runtime.catalog.locations import normal_location
from pipeline_runtime.catalog.lookup import find_table
from pipeline_runtime.catalog.pins import pin_text, resolve_pin
from pipeline_runtime.catalog.table import CatalogTable, PinnedSource, TableIdentity
from pipeline_runtime.catalog.targets import check_location, inspect_target
from pipeline_runtime.deployment import Deployment
from pipeline_runtime.descriptor.blocks import Target
from pipeline_runtime.descriptor.files import NamedFiles, read_text, shown
from pipeline_runtime.descriptor.load import LoadedDescriptor
from pipeline_runtime.engine.catalogs import OWN_CATALOG
from pipeline_runtime.errors import ModuleRefused, SchemaDrift, SqlRefused
from pipeline_runtime.quality.suite import Suite, load_suite
from pipeline_runtime.readers.jdbc import with_endpoint
from pipeline_runtime.readers.parquet_source import prepared
from pipeline_runtime.schema.recorded import recorded_path
from pipeline_runtime.steps.body import StepBody
from pipeline_runtime.steps.python_module import check_module, package_files
from pipeline_runtime.steps.sql_guard import check_sql
from pipeline_runtime.trace import Trace
from pipeline_runtime.writers.plan import TargetPlan, quarantined

__all__ = ["Plan", "preflight", "resolve_policy", "resolve_quarantine", "resolve_target", "trace_policy"]


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
    suite = load_suite(files.suite, loaded.domain_root, shown(files.suite))
    source = _source(loaded, deployment, trace)
    tags = resolve_policy(pipeline.contract.lf_tags, deployment)
    trace_policy(tags, trace)
    declared = tuple(column.name for column in pipeline.contract.columns)
    target = replace(resolve_target(pipeline.target, source.table, deployment), declared=declared)
    recorded = recorded_path(
        loaded.domain_root, pipeline.source.database, pipeline.source.table, pipeline.source.schema_version
    )
    return Plan(
        source=source,
        bodies=bodies,
        suite=suite,
        tags=tags,
        target=target,
        quarantine=resolve_quarantine(target, deployment),
        files=(
            *files.all,
            *(package_files(loaded.domain_root) if files.modules else ()),
            *suite.baseline_files,
            *([recorded] if recorded.exists() else []),
        ),
    )


def _source(loaded: LoadedDescriptor, deployment: Deployment, trace: Trace) -> PinnedSource:
    source = loaded.descriptor.source
    try:
        pinned = resolve_pin(source, loaded.domain_root, deployment.glue, deployment.s3, deployment.region)
    except SchemaDrift as drift:
        trace.stage("schema", f"{source.fqn} pinned v{drift.pinned_version}, catalog v{drift.current_version}")
        raise
    trace.stage("schema", f"{source.fqn} {pin_text(pinned)} OK")
    if pinned.deprecation is not None:
        warning = deprecation_text(source.fqn, source.schema_version, pinned.deprecation, over=False)
        trace.stage("schema", f"WARNING {warning}", deprecated_after=str(pinned.deprecation.after))
    if source.kind == "jdbc":
        return with_endpoint(pinned, deployment.glue, deployment.secrets)
    return prepared(pinned, source.kind, deployment.glue)


def _bodies(loaded: LoadedDescriptor, files: NamedFiles) -> dict[str, StepBody]:
    """The steps' texts by id, all judged before any is refused."""
    bodies = {
        step_id: StepBody(read_text(path), shown(path), loaded.domain_root)
        for step_id, path in (*files.sql.items(), *files.modules.items())
    }
    params = {step.id: step.params for step in loaded.descriptor.steps}
    refused = [
        problem for id_ in files.sql for problem in check_sql(bodies[id_].text, bodies[id_].shown_as, params[id_])
    ]
    if refused:
        raise SqlRefused(refused)
    refused = [problem for id_ in files.modules for problem in check_module(bodies[id_].text, bodies[id_].shown_as)]
    if refused:
        raise ModuleRefused(refused)
    return bodies


def resolve_policy(declared: Mapping[str, str], deployment: CatalogClients) -> dict[str, str]:
    """The declared LF-tags as governance's ontology spells them. Raises UnknownTagKey, UnknownTagValue, PolicyError."""
    ontology = read_ontology(deployment.lakeformation, deployment.governance_catalog)
    return resolve_tags(declared, ontology, deployment.governance_catalog)


def trace_policy(tags: Mapping[str, str], trace: Trace) -> None:
    """The trace's line about tags that were resolved."""
    trace.stage("policy", " ".join(f"{key}={value}" for key, value in tags.items()) + " resolved against ontology")


def resolve_target(target: Target, source: CatalogTable | None, deployment: CatalogClients) -> TargetPlan:
    """The target as the catalog has it now. Raises CatalogError, ForeignTarget or LocationRefused.

    `source` is what is read, which the target's location must not touch; None where that is its own quarantine.
    """
    existing = inspect_target(
        target, deployment.glue, deployment.s3, region=deployment.region, account=deployment.account
    )
    identity = (
        existing.identity
        if existing is not None
        else TableIdentity(deployment.region, deployment.account, target.database, target.table)
    )
    check_location(target.location, identity, source, deployment.glue)
    return TargetPlan(
        identity=identity,
        spark_catalog=OWN_CATALOG,
        kind=target.kind,
        location=normal_location(target.location),
        partition_by=tuple(target.partition_by),
        existing=existing,
    )


def resolve_quarantine(target: TargetPlan, deployment: Deployment) -> TargetPlan:
    """The quarantine beside the target, as the catalog has it now."""
    beside = quarantined(target, None)
    found = find_table(
        deployment.glue, database=beside.identity.database, table=beside.identity.table, region=deployment.region
    )
    return beside if found is None else quarantined(target, described(deployment.s3, found, deployment.region))
