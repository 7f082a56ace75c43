"""The events of a run, from its facts. Pure: no clock, no network, nothing that reaches back into the run."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from enum import Enum
from typing import Any

import attr
from openlineage.client.event_v2 import InputDataset, Job, OutputDataset, Run, RunEvent, RunState
from openlineage.client.facet_v2 import DatasetFacet, InputDatasetFacet, OutputDatasetFacet, RunFacet

from pipeline_runtime.catalog.locations import table_root
from pipeline_runtime.catalog.table import PinnedSource
from pipeline_runtime.lineage import dataset_facets, facets
from pipeline_runtime.lineage.facts import RunFacts
from pipeline_runtime.lineage.folding import Observed, Size, observe
from pipeline_runtime.lineage.identity import (
    DatasetIdentity,
    glue_dataset,
    identity_problem,
    jdbc_dataset,
    job_namespace,
)
from pipeline_runtime.lineage.limits import size_problem
from pipeline_runtime.lineage.own_facets import PRODUCER
from pipeline_runtime.lineage.slimming import wire_bytes
from pipeline_runtime.lineage.values import json_value, utc_text
from pipeline_runtime.quality.broken_rules import BROKEN_RULES
from pipeline_runtime.schema.columns import Column, Schema
from pipeline_runtime.writers.plan import TargetPlan, quarantined

__all__ = ["RunStatus", "as_json", "parking_reason", "start_event", "terminal_event", "to_bytes", "validation_event"]

#: The quarantine's column that tells its batches apart; `writers.quarantine` fills it.
_RUN_ID = "run_id"


class RunStatus(str, Enum):
    """How a run ended."""

    COMPLETE = "COMPLETE"
    FAIL = "FAIL"
    QUARANTINED = "QUARANTINED"


def start_event(facts: RunFacts, *, at: datetime) -> RunEvent:
    """The START event. It names no datasets: a lineage store accumulates them, and a run that fails touched none."""
    return _event(RunState.START, facts, at, run_facets=_declared_run_facets(facts))


def terminal_event(facts: RunFacts, status: RunStatus, *, at: datetime, error: BaseException | None = None) -> RunEvent:
    """The one event that says how the run ended.

    COMPLETE has the source as input and the target as output; QUARANTINED is a FAIL with the source as input and
    the quarantine table as output; any other FAIL has neither. Raises ValueError where a status needs datasets
    that the facts do not hold.
    """
    run_facets = _declared_run_facets(facts)
    if error is not None:
        run_facets["errorMessage"] = facets.error_facet(error)
    if status is RunStatus.FAIL:
        return _event(RunState.FAIL, facts, at, run_facets=run_facets)
    columns = _written_schema(facts, status)
    observed = observe(
        facts, is_quarantined=status is RunStatus.QUARANTINED, columns=columns.names if columns is not None else ()
    )
    return _event(
        RunState.COMPLETE if status is RunStatus.COMPLETE else RunState.FAIL,
        facts,
        at,
        run_facets=run_facets,
        inputs=[_input(facts, observed.read)],
        outputs=[_output(facts, status, columns, observed)],
    )


def validation_event(facts: RunFacts, status: RunStatus, *, at: datetime) -> RunEvent:
    """The OTHER event with the suite's verdict, on the job `<name>.validate`, under the same run.

    The dataset that was judged is its *input*, where OpenLineage puts assertions: the target, or the quarantine
    table of a quarantined run. Raises ValueError without a result.
    """
    if facts.result is None:
        raise ValueError("a validation event needs the suite's result")
    plan = _written_plan(facts, status)
    identity = _plan_dataset(facts, plan)
    judged = InputDataset(
        namespace=identity.namespace,
        name=identity.name,
        facets={"symlinks": dataset_facets.symlinks_facet(identity)},
        inputFacets={
            "dataQualityAssertions": dataset_facets.assertions_facet(
                facts.result, facts.descriptor.expectations.on_failure
            )
        },
    )
    return _event(RunState.OTHER, facts, at, run_facets=facets.run_facets(facts), inputs=[judged], job=".validate")


def to_bytes(event: RunEvent) -> bytes:
    """The event as it is stored, sent and claimed: JSON in UTF-8, keys sorted, no spaces.

    Raises TypeError for a value that JSON has no form for; nothing becomes placeholder text.
    """
    return wire_bytes(as_json(event))


def as_json(value: Any) -> dict[str, Any]:
    """An event or a facet of OpenLineage's classes in JSON's own types. Raises TypeError as `to_bytes` does."""
    return attr.asdict(value, filter=lambda _, each: each is not None, value_serializer=_serialised)


def parking_reason(event: RunEvent, body: bytes) -> str | None:
    """Why the event must be kept and not sent as it is; None where it may be sent."""
    datasets = [*(event.inputs or ()), *(event.outputs or ())]
    return identity_problem((dataset.namespace, dataset.name) for dataset in datasets) or size_problem(body)


def _serialised(_instance: Any, _attribute: Any, value: Any) -> Any:
    # attrs' own classes, and what holds them, are walked by attrs; everything else is ours to convert.
    if attr.has(type(value)) or isinstance(value, dict | list):
        return value
    return json_value(value)


def _event(
    state: RunState,
    facts: RunFacts,
    at: datetime,
    *,
    run_facets: dict[str, RunFacet],
    inputs: list[InputDataset] | None = None,
    outputs: list[OutputDataset] | None = None,
    job: str = "",
) -> RunEvent:
    metadata = facts.descriptor.metadata
    return RunEvent(
        eventType=state,
        eventTime=utc_text(at),
        run=Run(runId=facts.context.run_id, facets=run_facets),
        job=Job(
            namespace=job_namespace(metadata.domain),
            name=metadata.name + job,
            facets=facets.job_facets(facts.descriptor, facts.provenance),
        ),
        inputs=inputs or [],
        outputs=outputs or [],
        producer=PRODUCER,
    )


def _declared_run_facets(facts: RunFacts) -> dict[str, RunFacet]:
    run_facets = facets.run_facets(facts)
    if facts.provenance is not None:
        run_facets["cordata_provenance"] = facets.provenance_facet(facts, facts.provenance)
    return run_facets


def _input(facts: RunFacts, read: Size) -> InputDataset:
    source: PinnedSource | None = facts.source
    if source is None:
        raise ValueError("this terminal event needs the source that was read")
    table, domain = source.table, facts.descriptor.metadata.domain
    # Of a JDBC table the location is its address in the database, which its own name says already.
    # A parquet product shows another run's folder after every publish; it stays one dataset.
    location = table_root(table.location) if source.jdbc is None else None
    identity = (
        glue_dataset(table.identity, domain=domain, location=location)
        if source.jdbc is None
        else jdbc_dataset(source.jdbc, table.identity, domain=domain)
    )
    about: dict[str, DatasetFacet] = {
        "schema": dataset_facets.schema_facet(source.pinned),
        "symlinks": dataset_facets.symlinks_facet(identity),
        "catalog": dataset_facets.catalog_facet(table.identity, is_iceberg=table.is_iceberg, location=location),
    }
    if location is not None:
        about |= dataset_facets.place_facets(
            location, is_iceberg=table.is_iceberg, file_format=None if table.is_iceberg else "parquet"
        )
    if table.is_iceberg and table.current_snapshot is not None:
        about["version"] = dataset_facets.version_facet(table.current_snapshot)
    amounts: dict[str, InputDatasetFacet] = {}
    if read.rows is None:
        read = replace(read, rows=facts.rows_read)
    if read != Size():
        amounts["inputStatistics"] = dataset_facets.input_statistics_facet(read)
    return InputDataset(namespace=identity.namespace, name=identity.name, facets=about, inputFacets=amounts)


def _output(facts: RunFacts, status: RunStatus, columns: Schema | None, observed: Observed) -> OutputDataset:
    plan = _written_plan(facts, status)
    identity = _plan_dataset(facts, plan)
    about: dict[str, DatasetFacet] = {
        "symlinks": dataset_facets.symlinks_facet(identity),
        "catalog": dataset_facets.catalog_facet(
            plan.identity, is_iceberg=plan.kind == "iceberg", location=plan.location
        ),
        **dataset_facets.place_facets(plan.location, is_iceberg=plan.kind == "iceberg", file_format="parquet"),
    }
    if columns is not None:
        declared = facts.descriptor.contract.columns
        about["schema"] = dataset_facets.schema_facet(columns, declared)
        if declared:
            about["cordata_columns"] = dataset_facets.columns_facet(declared)
        about["cordata_column_origins"] = dataset_facets.column_origins_facet(observed)
    if observed.lineage is not None and observed.lineage.columns:
        about["columnLineage"] = dataset_facets.column_lineage_facet(observed.lineage)
    if facts.tags and status is RunStatus.COMPLETE:
        about["tags"] = dataset_facets.tags_facet(facts.tags)
    output_facets: dict[str, OutputDatasetFacet] = {}
    if facts.published is not None:
        if facts.published.snapshot_id is not None:
            about["version"] = dataset_facets.version_facet(facts.published.snapshot_id)
        output_facets["outputStatistics"] = dataset_facets.statistics_facet(facts.published, observed.written)
        output_facets["cordata_publish"] = dataset_facets.publish_facet(facts.published)
    return OutputDataset(namespace=identity.namespace, name=identity.name, facets=about, outputFacets=output_facets)


def _written_schema(facts: RunFacts, status: RunStatus) -> Schema | None:
    """The columns of the table that the batch went to: a quarantine has two more than its product."""
    columns = facts.written_schema
    if columns is None or status is not RunStatus.QUARANTINED:
        return columns
    more = (Column(BROKEN_RULES, "array<string>"), Column(_RUN_ID, "string"))
    return Schema((*columns, *(column for column in more if columns.find(column.name) is None)))


def _written_plan(facts: RunFacts, status: RunStatus) -> TargetPlan:
    if facts.target is None:
        raise ValueError("this event needs the resolved target")
    return quarantined(facts.target, None) if status is RunStatus.QUARANTINED else facts.target


def _plan_dataset(facts: RunFacts, plan: TargetPlan) -> DatasetIdentity:
    return glue_dataset(plan.identity, domain=facts.descriptor.metadata.domain, location=plan.location)
