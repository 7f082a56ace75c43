"""What is the matter with one thing since when: a log of changes, each appended by whoever sees it first.

    <place>/0001.json   the first change; 0002.json the next, and so on

The state is the last entry. Whoever wants to append has read the log *before* looking at the world, and appends under
the next number by a conditional write: of several that see the same change one appends it, and one whose view is older
than somebody else's entry does not get through.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pipeline_runtime.evidence.store import EvidenceStore

__all__ = ["Entry", "Episodes"]

_ENTRY = re.compile(r"(\d{4,})\.json")


@dataclass(frozen=True)
class Entry:
    """One change. `facts` is JSON that its writer understands; `key` is free for what else is kept about it."""

    number: int
    key: str
    facts: Mapping[str, Any]


@dataclass(frozen=True)
class Episodes:
    """The log at one place of the store (without a slash at its end). Methods raise EvidenceFailed."""

    store: EvidenceStore
    place: str

    def last(self) -> Entry | None:
        """The state; None where nothing was ever the matter."""
        names = (key.removeprefix(f"{self.place}/") for key in self.store.keys(f"{self.place}/"))
        numbers = [int(found[1]) for name in names if (found := _ENTRY.fullmatch(name))]
        return self.get(max(numbers)) if numbers else None

    def get(self, number: int) -> Entry | None:
        """The entry of that number, None where there is none."""
        key = self._key(number)
        data = self.store.get(f"{key}.json")
        return None if data is None else Entry(number, key, json.loads(data))

    def append(self, last: Entry | None, facts: Mapping[str, Any]) -> Entry | None:
        """The entry after `last`; None where somebody else was first."""
        number = 1 if last is None else last.number + 1
        data = json.dumps(facts, ensure_ascii=False, indent=2).encode() + b"\n"
        won = self.store.put_if_absent(f"{self._key(number)}.json", data)
        return Entry(number, self._key(number), facts) if won else None

    def _key(self, number: int) -> str:
        return f"{self.place}/{number:04d}"
