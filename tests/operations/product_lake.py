"""Products in a catalog as their writers leave them, and the events of the runs that did or did not publish them."""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from pipeline_runtime.evidence.runs import EventKind, RunEvidence
from pipeline_runtime.evidence.store import EvidenceStore, open_store
from pipeline_runtime.lineage.values import utc_text
from tests.conftest import REGION, Aws

NOON = datetime(2026, 8, 4, 12, tzinfo=UTC)
OWNER = "fraud-data@cordata.example"


def hours(count: float) -> timedelta:
    return timedelta(hours=count)


def new_run() -> str:
    return str(uuid.uuid4())


@dataclass
class ProductLake:
    """A domain of its own, so that what other tests leave in the catalog is none of it."""

    aws: Aws
    folder: Path
    domain: str = field(default_factory=lambda: f"d{uuid.uuid4().hex[:10]}")

    def __post_init__(self) -> None:
        self.glue, self.s3 = self.aws.client("glue"), self.aws.client("s3")
        self.bucket = self.database = self.domain
        self.s3.create_bucket(Bucket=self.bucket, CreateBucketConfiguration={"LocationConstraint": REGION})
        self.glue.create_database(DatabaseInput={"Name": self.database})

    @property
    def evidence(self) -> str:
        return f"s3://{self.bucket}/evidence"

    @property
    def store(self) -> EvidenceStore:
        return open_store(self.evidence, lambda: self.s3)

    @property
    def mailbox(self) -> Path:
        return self.folder / "mailbox.jsonl"

    @property
    def told(self) -> list[dict[str, Any]]:
        lines = self.mailbox.read_text("utf-8").splitlines() if self.mailbox.exists() else []
        return [json.loads(line) for line in lines]

    @property
    def told_of(self) -> list[str]:
        return [f"{notice['subject'].partition('.')[2]}" for notice in self.told]

    def register(self, table: str, sla: str = "PT4H", **parameters: str | None) -> None:
        """The table as its registration leaves it; None takes a Parameter away."""
        given: dict[str, str | None] = {
            "cordata.freshness_sla": sla,
            "cordata.domain": self.domain,
            "cordata.pipeline": f"{table}-daily",
            "cordata.owner": OWNER,
        }
        self._put(table, {**given, **parameters})

    def iceberg(
        self,
        table: str,
        *snapshots: dict[str, Any],
        shown: int | None = None,
        log: list[tuple[int, datetime]] | None = None,
    ) -> None:
        """Lets an Iceberg table have these snapshots; main shows the last one, or `shown`."""
        key = f"{table}/metadata/{uuid.uuid4().hex}.metadata.json"
        metadata = {
            "format-version": 2,
            "current-snapshot-id": shown or (snapshots[-1]["snapshot-id"] if snapshots else -1),
            "snapshots": list(snapshots),
            "snapshot-log": [
                {"snapshot-id": number, "timestamp-ms": _milliseconds(at)}
                for number, at in (log or [(each["snapshot-id"], _time(each)) for each in snapshots])
            ],
        }
        self.s3.put_object(Bucket=self.bucket, Key=key, Body=json.dumps(metadata).encode())
        self._put(table, {"table_type": "ICEBERG", "metadata_location": f"s3://{self.bucket}/{key}"})

    def published(self, table: str, at: datetime, run_id: str | None = None) -> str:
        """An Iceberg table that a run published then, and nobody since; the run's id."""
        run_id = run_id or new_run()
        self.iceberg(table, snapshot(1, at, run_id))
        return run_id

    def ended(
        self,
        table: str,
        event_type: str,
        at: datetime,
        *,
        reason: str = "",
        quarantined: bool = False,
        run_id: str = "",
    ) -> str:
        """The terminal event of a run of the table's pipeline; its id."""
        run_id = run_id or new_run()
        facets = {"errorMessage": {"message": reason}} if reason else {}
        name = f"table/{self.database}/{table}" + ("__quarantine" if quarantined else "")
        outputs = [{"namespace": "arn:aws:glue:x:1", "name": name}] if quarantined or event_type == "COMPLETE" else []
        event = {
            "eventType": event_type,
            "eventTime": utc_text(at),
            "run": {"runId": run_id, "facets": facets},
            "job": {"namespace": f"cordata.{self.domain}", "name": f"{table}-daily"},
            "inputs": [],
            "outputs": outputs,
        }
        RunEvidence(self.store, run_id).claim(EventKind.TERMINAL, json.dumps(event).encode())
        return run_id

    def _put(self, table: str, parameters: dict[str, str | None]) -> None:
        try:
            held = self.glue.get_table(DatabaseName=self.database, Name=table)["Table"]["Parameters"]
            write = self.glue.update_table
        except self.glue.exceptions.EntityNotFoundException:
            held, write = {}, self.glue.create_table
        merged = {key: value for key, value in {**held, **parameters}.items() if value is not None}
        storage = {"Location": f"s3://{self.bucket}/{table}", "Columns": [{"Name": "id", "Type": "string"}]}
        write(
            DatabaseName=self.database,
            TableInput={"Name": table, "Parameters": merged, "StorageDescriptor": storage},
        )


def snapshot(
    number: int, at: datetime, run_id: str | None = None, parent: int | None = None, **summary: str
) -> dict[str, Any]:
    """An Iceberg snapshot, of that run where one is named."""
    of_run = {"cordata.run_id": run_id} if run_id else {}
    above = {} if parent is None else {"parent-snapshot-id": parent}
    return {
        "snapshot-id": number,
        "timestamp-ms": _milliseconds(at),
        "summary": {"operation": "overwrite", **of_run, **summary},
        **above,
    }


def _milliseconds(at: datetime) -> int:
    return int(at.timestamp() * 1000)


def _time(each: dict[str, Any]) -> datetime:
    return datetime.fromtimestamp(each["timestamp-ms"] / 1000, UTC)
