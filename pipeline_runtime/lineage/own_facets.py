"""The facets that OpenLineage does not have: ours, each with a published JSON Schema."""

from __future__ import annotations

from typing import Any

import attr
from openlineage.client.generated.base import DatasetFacet, JobFacet, OutputDatasetFacet, RunFacet

from pipeline_runtime import __version__

__all__ = [
    "PRODUCER",
    "ColumnOriginsDatasetFacet",
    "ColumnsDatasetFacet",
    "LandedOutputDatasetFacet",
    "ProcessingJobFacet",
    "ProvenanceRunFacet",
    "PublishOutputDatasetFacet",
    "ReleaseRunFacet",
    "ReplicationRunFacet",
    "SlimmedRunFacet",
    "schema_url",
]

#: Names this release on every event and facet.
PRODUCER = f"https://github.com/cordata-tech/pipeline-runtime/tree/{__version__}"


def schema_url(name: str) -> str:
    """Where the JSON Schema of our facet of that name is published, for this release."""
    return f"{PRODUCER}/pipeline_runtime/lineage/schemas/{name}.json#/$defs/{name}"


@attr.define
class ProcessingJobFacet(JobFacet):
    """Job facet `processing`: what Art. 30 GDPR asks of the record of processing."""

    purpose: str
    legal_basis: str

    @staticmethod
    def _get_schema() -> str:
        return schema_url("ProcessingJobFacet")


@attr.define
class ProvenanceRunFacet(RunFacet):
    """Run facet `cordata_provenance`: which declaration, at which commit, run by which executor."""

    descriptor_path: str
    descriptor_sha256: str
    source_table: str
    source_schema_version: int
    executor_version: str
    step_params: dict[str, str]
    file_sha256: dict[str, str]
    descriptor_git_commit: str | None = None
    descriptor_git_commit_signed: bool | None = None
    git_dirty: bool | None = None
    git_reason: str | None = None
    executor_commit: str | None = None
    executor_dirty: bool | None = None
    source_catalog_version: int | None = None
    source_published_by: str | None = None
    source_published_release: str | None = None
    source_replication_run: str | None = None

    @staticmethod
    def _get_schema() -> str:
        return schema_url("ProvenanceRunFacet")


@attr.define
class PublishOutputDatasetFacet(OutputDatasetFacet):
    """Output facet `cordata_publish`: what the publish made true; `replaced` is false where nothing was replaced."""

    rows: int
    partitions: int
    replaced: bool
    snapshot_id: int | None = None

    @staticmethod
    def _get_schema() -> str:
        return schema_url("PublishOutputDatasetFacet")


@attr.define
class ReleaseRunFacet(RunFacet):
    """Run facet `cordata_release`: the run publishes, after review, what an earlier run had put in quarantine."""

    original_run_id: str
    released_by: str
    reason: str | None = None

    @staticmethod
    def _get_schema() -> str:
        return schema_url("ReleaseRunFacet")


@attr.define
class ReplicationRunFacet(RunFacet):
    """Run facet `cordata_replication`: which batch of which AWS DMS task the run tells of.

    `batch` counts from 1 and `previous_run_id` told of the one before; both only of a batch that has ended.
    """

    task: str
    migration_type: str
    batch: int | None = None
    previous_run_id: str | None = None

    @staticmethod
    def _get_schema() -> str:
        return schema_url("ReplicationRunFacet")


@attr.define
class LandedOutputDatasetFacet(OutputDatasetFacet):
    """Output facet `cordata_landed`: the rows of a batch by what they tell, and the source's table they are of."""

    source_namespace: str
    source_name: str
    full_load_rows: int
    inserts: int
    updates: int
    deletes: int

    @staticmethod
    def _get_schema() -> str:
        return schema_url("LandedOutputDatasetFacet")


@attr.define
class ColumnOriginsDatasetFacet(DatasetFacet):
    """Dataset facet `cordata_column_origins`: what `columnLineage` leaves open about the same dataset, and why.

    `constants` are columns made from constants. `unknown` are groups of columns without known inputs, as
    `{"columns": […], "reason": …}`. `limits` hold of all columns; `undeclared_inputs` are datasets that columns come
    from and the descriptor does not name. `complete` says that nothing is open.
    """

    complete: bool
    constants: list[str]
    unknown: list[dict[str, Any]]
    limits: list[str]
    undeclared_inputs: list[dict[str, str]]

    @staticmethod
    def _get_schema() -> str:
        return schema_url("ColumnOriginsDatasetFacet")


@attr.define
class ColumnsDatasetFacet(DatasetFacet):
    """Dataset facet `cordata_columns`: what the contract declares about the columns, beside the facet `schema`.

    Each of `columns` is a name, whether it may hold NULL, and what is declared of unit, definition, classification.
    """

    columns: list[dict[str, Any]]

    @staticmethod
    def _get_schema() -> str:
        return schema_url("ColumnsDatasetFacet")


@attr.define
class SlimmedRunFacet(RunFacet):
    """Run facet `cordata_slimmed`: the event was too large to send and was slimmed; where it is whole.

    `dropped` names what was left out, in the order of leaving out.
    """

    dropped: list[str]
    full_sha256: str
    full_bytes: int
    full_event: str

    @staticmethod
    def _get_schema() -> str:
        return schema_url("SlimmedRunFacet")
