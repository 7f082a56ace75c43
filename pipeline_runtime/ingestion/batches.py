"""The batches of a task, each claimed once, with the counters at its end: the next one counts from there.

ingestion/<account>.<region>.<task id>/00000001.json   the first batch; 00000002.json the second, and so on
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from pipeline_runtime.evidence.store import EvidenceStore
from pipeline_runtime.ingestion.statistics import Counts, TableCounts
from pipeline_runtime.ingestion.task import TaskArn

__all__ = ["Batch", "Batches"]


@dataclass(frozen=True)
class Batch:
    """A batch that has ended: its number from 1, the run that told of it, and the counters that it left.

    `fresh_at` is when the task began to count (ISO 8601), None where DMS did not say; `ended_at` likewise.
    """

    number: int
    run_id: str
    ended_at: str
    fresh_at: str | None
    counters: tuple[TableCounts, ...]


@dataclass(frozen=True)
class Batches:
    """The batches of one task in the evidence prefix. Methods raise EvidenceFailed."""

    store: EvidenceStore
    arn: TaskArn

    def last(self) -> Batch | None:
        """The last one, None where there was none."""
        keys = self.store.keys(self._prefix)
        data = self.store.get(keys[-1]) if keys else None
        if data is None:
            return None
        record = json.loads(data)
        tables = [
            TableCounts(each["schema"], each["table"], each["state"], Counts(**each["counts"]))
            for each in record.pop("counters")
        ]
        return Batch(**record, counters=tuple(tables))

    def claim(self, batch: Batch) -> bool:
        """Records the batch; False where another run has recorded one of that number."""
        record = {**asdict(batch), "counters": _records(batch.counters)}
        data = json.dumps(record, ensure_ascii=False, indent=2).encode() + b"\n"
        return self.store.put_if_absent(f"{self._prefix}{batch.number:08d}.json", data)

    @property
    def _prefix(self) -> str:
        return f"ingestion/{self.arn.account}.{self.arn.region}.{self.arn.resource}/"


def _records(tables: Sequence[TableCounts]) -> list[dict[str, object]]:
    return [asdict(each) for each in tables]
