"""Whether an Iceberg table's main branch holds what a run wrote: asked of the metadata file, so without an engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pipeline_runtime.catalog.iceberg import read_document
from pipeline_runtime.catalog.lookup import find_table

if TYPE_CHECKING:
    from mypy_boto3_glue import GlueClient
    from mypy_boto3_s3 import S3Client

    from pipeline_runtime.catalog.table import TableIdentity

__all__ = ["RunSnapshot", "snapshot_of_run"]


@dataclass(frozen=True)
class RunSnapshot:
    """A snapshot of main that a run wrote, with the rows it added and the partitions it changed."""

    id: int
    rows: int
    partitions: int


def snapshot_of_run(
    glue: GlueClient, s3: S3Client, identity: TableIdentity, run_id: str, staged: int | None
) -> RunSnapshot | None:
    """The snapshot of main that the run wrote, None where main's history holds none.

    `staged` is the snapshot that the run had staged: one that was picked onto main names it as its source and
    does not carry the run's id. Raises CatalogError where the catalog or the metadata file does not answer.
    """
    found = find_table(glue, database=identity.database, table=identity.table, region=identity.region)
    location = found.get("Parameters", {}).get("metadata_location") if found is not None else None
    if location is None:
        return None
    metadata = read_document(s3, location, identity.fqn)
    snapshots: dict[int, dict[str, Any]] = {each["snapshot-id"]: each for each in metadata.get("snapshots", [])}
    current = snapshots.get(metadata.get("current-snapshot-id", -1))
    while current is not None:
        summary = current.get("summary", {})
        if summary.get("cordata.run_id") == run_id or (
            staged is not None and summary.get("source-snapshot-id") == str(staged)
        ):
            rows, partitions = (int(summary.get(key, 0)) for key in ("added-records", "changed-partition-count"))
            return RunSnapshot(int(current["snapshot-id"]), rows, partitions)
        current = snapshots.get(current.get("parent-snapshot-id", -1))
    return None
