"""When a product was last published, asked of what a publish itself leaves: no engine, and no Parameter of its own.

What only changes the table (a compaction, a registration, a rollback) publishes nothing. Neither does a run whose
output had no rows: it replaces nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from pipeline_runtime.catalog import parameters
from pipeline_runtime.catalog.iceberg import read_document
from pipeline_runtime.evidence.runs import EventKind, RunEvidence
from pipeline_runtime.lineage.values import instant_of, utc_text
from pipeline_runtime.writers.parquet_ledger import record_of_publish

if TYPE_CHECKING:
    from mypy_boto3_glue import GlueClient
    from mypy_boto3_glue.type_defs import TableTypeDef
    from mypy_boto3_s3 import S3Client

    from pipeline_runtime.catalog.table import TableIdentity
    from pipeline_runtime.evidence.store import EvidenceStore

__all__ = ["Publish", "last_publish"]


@dataclass(frozen=True)
class Publish:
    """A publish: when (UTC), and of which run, None where nothing says it any more.

    Where it is not `exact`, it was no later than that.
    """

    at: datetime
    run_id: str | None
    exact: bool = True

    def is_same(self, run_id: str | None, at: str | None) -> bool:
        """Whether it is the one that was noted so; its time may be known better now."""
        return self.run_id == run_id if self.run_id and run_id else utc_text(self.at) == at


def last_publish(
    table: TableTypeDef, identity: TableIdentity, glue: GlueClient, s3: S3Client, store: EvidenceStore
) -> Publish | None:
    """The last publish of GetTable's answer, None where nothing was published yet. Raises CatalogError, EvidenceFailed.

    Of an Iceberg table whose history was expired up to its publish, the oldest snapshot that is left counts, which is
    not exact.
    """
    said = table.get("Parameters", {})
    if said.get("table_type", "").upper() == "ICEBERG":
        location = said.get("metadata_location")
        return None if location is None else _of_metadata(read_document(s3, location, identity.fqn))
    run_id = said.get(parameters.RUN_ID)
    if run_id is None:
        return None
    at = _ended_at(store, run_id)
    if at is None and (record := record_of_publish(store, glue, identity, run_id)) is not None:
        at = record.at
    return Publish(at or table["UpdateTime"].astimezone(UTC), run_id)


def _of_metadata(metadata: Mapping[str, Any]) -> Publish | None:
    snapshots: dict[int, dict[str, Any]] = {each["snapshot-id"]: each for each in metadata.get("snapshots", [])}
    current = snapshots.get(metadata.get("current-snapshot-id", -1))
    oldest = None
    while current is not None:
        summary = current.get("summary", {})
        # A snapshot that was picked onto main names the staged one, which carries the run's id.
        picked = snapshots.get(int(summary.get("source-snapshot-id", -1)), {}).get("summary", {})
        run_id = summary.get("cordata.run_id") or picked.get("cordata.run_id")
        if run_id is not None or "source-snapshot-id" in summary:
            return Publish(_shown_at(metadata, current), run_id)
        oldest, current = current, snapshots.get(current.get("parent-snapshot-id", -1))
    is_cut = oldest is not None and oldest.get("parent-snapshot-id") is not None
    return Publish(_instant(oldest["timestamp-ms"]), None, exact=False) if oldest is not None and is_cut else None


def _shown_at(metadata: Mapping[str, Any], snapshot: Mapping[str, Any]) -> datetime:
    """When main first showed the snapshot: it was staged before, and a rollback shows it again later."""
    log = [
        each["timestamp-ms"]
        for each in metadata.get("snapshot-log", [])
        if each["snapshot-id"] == snapshot["snapshot-id"]
    ]
    return _instant(min(log, default=snapshot["timestamp-ms"]))


def _ended_at(store: EvidenceStore, run_id: str) -> datetime | None:
    body = RunEvidence(store, run_id).event(EventKind.TERMINAL)
    return None if body is None else instant_of(json.loads(body).get("eventTime"))


def _instant(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, UTC)
