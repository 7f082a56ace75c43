"""Which runs have a batch on an Iceberg table: written before the branch, removed when the run is done with it.

    audits/<account>/<database>.<table>/<run id>.json

A killed run leaves its record, and the next run knows at once whose branch and whose files to remove.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from pipeline_runtime.errors import EvidenceFailed
from pipeline_runtime.evidence.store import EvidenceStore

if TYPE_CHECKING:
    from pipeline_runtime.catalog.table import TableIdentity

__all__ = ["Audit", "Audits"]


@dataclass(frozen=True)
class Audit:
    """A run that began to stage `at` that time; `owner` is its process, as `writers.owner` names it."""

    run_id: str
    owner: str | None
    at: datetime


@dataclass(frozen=True)
class Audits:
    """One table's records. Every method raises EvidenceFailed where the store cannot be used."""

    store: EvidenceStore
    identity: TableIdentity

    def begin(self, run_id: str, owner: str | None) -> None:
        """Records that the run is about to stage."""
        record = {"run_id": run_id, "owner": owner, "at": datetime.now(UTC).isoformat()}
        self.store.put(self._key(run_id), json.dumps(record, indent=1).encode() + b"\n")

    def end(self, run_id: str) -> None:
        """Forgets the run; none is fine."""
        self.store.delete(self._key(run_id))

    def all(self) -> list[Audit]:
        """The runs that have begun and not ended, by run id."""
        keys = self.store.keys(self._prefix)
        return [self._parsed(key, data) for key in keys if (data := self.store.get(key)) is not None]

    def _parsed(self, key: str, data: bytes) -> Audit:
        try:
            given = json.loads(data)
            return Audit(given["run_id"], given["owner"], datetime.fromisoformat(given["at"]))
        except (ValueError, KeyError, TypeError) as error:
            raise EvidenceFailed(
                f"evidence: {self.store.describe(key)} is no record of an audit branch ({error}). Remove it; the "
                f"branch it meant goes when it is a day old."
            ) from error

    @property
    def _prefix(self) -> str:
        return f"audits/{self.identity.account}/{self.identity.fqn}/"

    def _key(self, run_id: str) -> str:
        return f"{self._prefix}{run_id}.json"
