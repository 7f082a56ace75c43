"""The events of a batch. Pure: the caller gives times and ids."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from openlineage.client.event_v2 import InputDataset, Job, OutputDataset, Run, RunEvent, RunState
from openlineage.client.facet_v2 import (
    DatasetFacet,
    OutputDatasetFacet,
    RunFacet,
    datasource_dataset,
    output_statistics_output_dataset,
)

from pipeline_runtime.catalog.table import TableIdentity
from pipeline_runtime.context import ParentRun
from pipeline_runtime.ingestion.statistics import Counts
from pipeline_runtime.lineage import dataset_facets, facets
from pipeline_runtime.lineage.engine import Engine
from pipeline_runtime.lineage.identity import DatasetIdentity, glue_dataset, job_namespace
from pipeline_runtime.lineage.own_facets import PRODUCER, LandedOutputDatasetFacet, ReplicationRunFacet
from pipeline_runtime.lineage.values import utc_text

__all__ = ["Ingestion", "Landed", "ended_event", "landed_event", "start_event"]


@dataclass(frozen=True)
class Ingestion:
    """What one run of `ingest` knows before it begins. The job is the task, in the domain's namespace."""

    run_id: str
    domain: str
    task_arn: str
    task_name: str
    kind: str
    engine: Engine
    parent: ParentRun | None = None


@dataclass(frozen=True)
class Landed:
    """One table's share of a batch. `location` is s3://; `table` None where no catalog knows it."""

    source: DatasetIdentity
    files: DatasetIdentity
    location: str
    table: TableIdentity | None
    counts: Counts


def start_event(run: Ingestion, *, at: datetime) -> RunEvent:
    """The START event; it names no datasets."""
    return _event(RunState.START, run, at, _run_facets(run))


def ended_event(run: Ingestion, state: RunState, error: BaseException, *, at: datetime) -> RunEvent:
    """FAIL or ABORT, with the reason and without datasets: what landed is told with the next batch that ends."""
    return _event(state, run, at, {**_run_facets(run), "errorMessage": facets.error_facet(error)})


def landed_event(
    run: Ingestion, batch: int, previous_run_id: str | None, landed: Sequence[Landed], *, at: datetime
) -> RunEvent:
    """COMPLETE: the source system's tables that moved, and where their rows went."""
    return _event(
        RunState.COMPLETE,
        run,
        at,
        _run_facets(run, batch, previous_run_id),
        inputs=[_input(each.source) for each in landed],
        outputs=[_output(run, each) for each in landed],
    )


def _run_facets(run: Ingestion, batch: int | None = None, previous_run_id: str | None = None) -> dict[str, RunFacet]:
    about: dict[str, Any] = {
        "environment-properties": facets.environment_facet(run.engine),
        "cordata_replication": ReplicationRunFacet(
            task=run.task_arn,
            migration_type=run.kind,
            batch=batch,
            previous_run_id=previous_run_id,
            producer=PRODUCER,
        ),
    }
    if run.parent is not None:
        about["parent"] = facets.parent_facet(run.parent)
    return about


def _input(source: DatasetIdentity) -> InputDataset:
    place = datasource_dataset.DatasourceDatasetFacet(name=source.namespace, uri=source.namespace, producer=PRODUCER)
    return InputDataset(namespace=source.namespace, name=source.name, facets={"dataSource": place})


def _output(run: Ingestion, landed: Landed) -> OutputDataset:
    identity, about = landed.files, dict[str, DatasetFacet]()
    if landed.table is not None:
        identity = glue_dataset(landed.table, domain=run.domain, location=landed.location)
        about["symlinks"] = dataset_facets.symlinks_facet(identity)
        about["catalog"] = dataset_facets.catalog_facet(landed.table, is_iceberg=False, location=landed.location)
    about |= dataset_facets.place_facets(landed.location, is_iceberg=False, file_format=None)
    counts = landed.counts
    amounts: dict[str, OutputDatasetFacet] = {
        "outputStatistics": output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet(
            rowCount=counts.rows, producer=PRODUCER
        ),
        "cordata_landed": LandedOutputDatasetFacet(
            source_namespace=landed.source.namespace,
            source_name=landed.source.name,
            full_load_rows=counts.full_load_rows,
            inserts=counts.inserts,
            updates=counts.updates,
            deletes=counts.deletes,
            producer=PRODUCER,
        ),
    }
    return OutputDataset(namespace=identity.namespace, name=identity.name, facets=about, outputFacets=amounts)


def _event(
    state: RunState,
    run: Ingestion,
    at: datetime,
    run_facets: dict[str, RunFacet],
    *,
    inputs: list[InputDataset] | None = None,
    outputs: list[OutputDataset] | None = None,
) -> RunEvent:
    return RunEvent(
        eventType=state,
        eventTime=utc_text(at),
        run=Run(runId=run.run_id, facets=run_facets),
        job=Job(namespace=job_namespace(run.domain), name=run.task_name, facets={}),
        inputs=inputs or [],
        outputs=outputs or [],
        producer=PRODUCER,
    )
