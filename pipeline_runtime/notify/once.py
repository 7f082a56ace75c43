"""Doing one thing once, whoever of several processes does it: kept in the evidence store by conditional writes.

    <key>/1.json          the first attempt: who is at it since when
    <key>/1.failed.json   why that one came to nothing; then the next one may begin at once
    <key>/done.json       that it is done, and what came of it

Of several that come at the same time one gets the attempt. One that is killed in the middle is followed by another
after ten minutes; if it was killed between the deed and `done.json`, the deed is done twice. Nothing is deleted.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from pipeline_runtime.evidence.store import EvidenceStore
from pipeline_runtime.lineage.values import utc_text

__all__ = ["PATIENCE", "Attempt", "Once"]

#: How long an attempt that says nothing is taken for alive. Telling somebody takes seconds.
PATIENCE = timedelta(minutes=10)


@dataclass(frozen=True)
class Attempt:
    """The right to do it, and the duty to say what came of it. Methods raise EvidenceFailed."""

    store: EvidenceStore
    key: str
    number: int

    def done(self, **record: str | bool | None) -> None:
        _write(self.store, f"{self.key}/done.json", record)

    def failed(self, reason: str, at: datetime) -> None:
        _write(self.store, f"{self.key}/{self.number}.failed.json", {"reason": reason, "at": utc_text(at)})


@dataclass(frozen=True)
class Once:
    """One thing to be done once, under a key of its own in the store. Methods raise EvidenceFailed."""

    store: EvidenceStore
    key: str

    def result(self) -> Mapping[str, Any] | None:
        """What came of it, None where it is not done."""
        return _read(self.store, f"{self.key}/done.json")

    def attempt(self, now: datetime) -> Attempt | None:
        """The right to do it; None where it is done, or somebody else is at it."""
        if self.result() is not None:
            return None
        number = 1
        while (earlier := _read(self.store, f"{self.key}/{number}.json")) is not None:
            if now < datetime.fromisoformat(earlier["at"]) + PATIENCE and not self._has_failed(number):
                return None
            number += 1
        record = json.dumps({"at": utc_text(now)}).encode() + b"\n"
        won = self.store.put_if_absent(f"{self.key}/{number}.json", record)
        return Attempt(self.store, self.key, number) if won else None

    def _has_failed(self, number: int) -> bool:
        return self.store.get(f"{self.key}/{number}.failed.json") is not None


def _read(store: EvidenceStore, key: str) -> dict[str, Any] | None:
    data = store.get(key)
    return None if data is None else dict(json.loads(data))


def _write(store: EvidenceStore, key: str, record: Mapping[str, str | bool | None]) -> None:
    store.put(key, json.dumps(record, ensure_ascii=False, indent=2).encode() + b"\n")
