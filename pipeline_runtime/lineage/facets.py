"""The facets of runs and jobs, from what the run knows. Openlineage-python's classes wherever they exist."""

from __future__ import annotations

from typing import Any

from openlineage.client.facet_v2 import (
    JobFacet,
    RunFacet,
    error_message_run,
    nominal_time_run,
    ownership_job,
    parent_run,
    processing_engine_run,
    source_code_location_job,
)

from pipeline_runtime import __version__
from pipeline_runtime.catalog.parameters import REPLICATION_RUN
from pipeline_runtime.catalog.table import PinnedSource
from pipeline_runtime.context import ParentRun
from pipeline_runtime.descriptor.blocks import Step
from pipeline_runtime.descriptor.model import Descriptor
from pipeline_runtime.lineage.engine import Engine
from pipeline_runtime.lineage.facts import RunFacts
from pipeline_runtime.lineage.own_facets import PRODUCER, ProcessingJobFacet, ProvenanceRunFacet, ReleaseRunFacet
from pipeline_runtime.lineage.provenance import Provenance, web_url
from pipeline_runtime.lineage.redact import error_text, redact
from pipeline_runtime.lineage.values import utc_text

__all__ = ["environment_facet", "error_facet", "job_facets", "parent_facet", "provenance_facet", "run_facets"]


def run_facets(facts: RunFacts) -> dict[str, RunFacet]:
    """The run facets that every event of the run carries."""
    facets: dict[str, Any] = {"environment-properties": environment_facet(facts.engine)}
    if facts.engine.spark_version is not None:
        facets["processing_engine"] = processing_engine_run.ProcessingEngineRunFacet(
            name="spark",
            version=facts.engine.spark_version,
            openlineageAdapterVersion=facts.engine.openlineage_version,
            producer=PRODUCER,
        )
    if facts.context.nominal_time is not None:
        nominal = utc_text(facts.context.nominal_time, milliseconds=False)
        facets["nominalTime"] = nominal_time_run.NominalTimeRunFacet(nominalStartTime=nominal, producer=PRODUCER)
    if facts.context.parent is not None:
        facets["parent"] = parent_facet(facts.context.parent)
    if facts.release is not None:
        facets["cordata_release"] = ReleaseRunFacet(
            original_run_id=facts.release.original_run_id,
            released_by=redact(facts.release.released_by),
            reason=None if facts.release.reason is None else redact(facts.release.reason),
            producer=PRODUCER,
        )
    return facets


def job_facets(descriptor: Descriptor, declaration: Provenance | None) -> dict[str, JobFacet]:
    """What the descriptor says about the job, and where its code is."""
    facets: dict[str, JobFacet] = {
        "processing": ProcessingJobFacet(
            purpose=descriptor.processing.purpose, legal_basis=descriptor.processing.legal_basis, producer=PRODUCER
        ),
        "ownership": ownership_job.OwnershipJobFacet(
            owners=[ownership_job.Owner(name=descriptor.metadata.owner, type="OWNER")], producer=PRODUCER
        ),
    }
    url = web_url(declaration.git.remote_url) if declaration is not None else None
    if declaration is not None and url is not None:
        facets["sourceCodeLocation"] = source_code_location_job.SourceCodeLocationJobFacet(
            type="git",
            url=url,
            repoUrl=declaration.git.remote_url,
            path=_code_path(descriptor, declaration),
            version=declaration.git.commit,
            producer=PRODUCER,
        )
    return facets


def provenance_facet(facts: RunFacts, declaration: Provenance) -> ProvenanceRunFacet:
    # A release reads the quarantine; the declared source was compared with its pin by the original run.
    source = facts.source if facts.release is None else None
    return ProvenanceRunFacet(
        descriptor_path=declaration.descriptor_path,
        descriptor_sha256=declaration.descriptor_sha256,
        source_table=facts.descriptor.source.fqn,
        source_schema_version=facts.descriptor.source.schema_version,
        descriptor_git_commit=declaration.git.commit,
        descriptor_git_commit_signed=declaration.git.signed,
        executor_version=f"pipeline-runtime {__version__}",
        executor_commit=facts.engine.executor_commit,
        executor_dirty=facts.engine.executor_dirty,
        step_params=_step_params(facts.descriptor.steps),
        file_sha256=dict(declaration.files),
        git_dirty=declaration.git.dirty,
        git_reason=declaration.git.reason,
        source_catalog_version=source.table.version if source else None,
        source_published_by=source.published_by if source else None,
        source_published_release=source.published_release if source else None,
        source_replication_run=_replication_run(source),
        producer=PRODUCER,
    )


def _replication_run(source: PinnedSource | None) -> str | None:
    """The run that told of the last batch in a landing table, as its Parameters name it; None for other sources."""
    return None if source is None else source.table.parameters.get(REPLICATION_RUN)


def error_facet(error: BaseException) -> error_message_run.ErrorMessageRunFacet:
    """The error's message without secrets; no stack trace leaves the process."""
    return error_message_run.ErrorMessageRunFacet(
        message=error_text(error), programmingLanguage="python", producer=PRODUCER
    )


def environment_facet(engine: Engine) -> dict[str, Any]:
    """What DataZone recognises the dataset of a Glue table by."""
    # The Spark listener's facet of this name has no class and no schema of its own, and its name no Python
    # identifier; this is the form that DataZone looks for.
    return {
        "_producer": PRODUCER,
        "_schemaURL": RunFacet._get_schema(),
        "environment-properties": {
            "GLUE_VERSION": engine.glue_version,
            "GLUE_COMMAND_CRITERIA": engine.glue_command_criteria,
            "GLUE_PYTHON_VERSION": engine.glue_python_version,
        },
    }


def parent_facet(parent: ParentRun) -> parent_run.ParentRunFacet:
    """The scheduler's own run."""
    return parent_run.ParentRunFacet(
        run=parent_run.Run(runId=parent.run_id, facets=None),
        job=parent_run.Job(namespace=parent.namespace, name=parent.name, facets=None),
        producer=PRODUCER,
    )


def _code_path(descriptor: Descriptor, declaration: Provenance) -> str:
    """The last step's SQL, whose output is what is published; the descriptor where that step is a module."""
    query_file = descriptor.steps[-1].query_file
    if query_file is None:
        return declaration.descriptor_path
    return "/".join(filter(None, (declaration.domain_path, query_file)))


def _step_params(steps: list[Step]) -> dict[str, str]:
    """All params by name; where steps give one name different values, by `<step id>.<name>`."""
    values: dict[str, set[str]] = {}
    for step in steps:
        for name, value in step.params.items():
            values.setdefault(name, set()).add(value)
    return {
        name if len(values[name]) == 1 else f"{step.id}.{name}": value
        for step in steps
        for name, value in step.params.items()
    }
