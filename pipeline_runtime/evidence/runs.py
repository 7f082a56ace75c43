"""What the evidence prefix holds about one run.

    runs/<run id>/start.json             the START event
    runs/<run id>/terminal.json          the terminal event: whoever writes it first has claimed it
    runs/<run id>/other.json             the OTHER event with the suite's verdict
    runs/<run id>/<event>.delivered.json the receipt of its delivery
    runs/<run id>/<event>.parked.json    why it must not be sent as it is
    runs/<run id>/full/<sha-256>.json    an event that was too large, whole; the event that was sent names it
    runs/<run id>/staged.json            what the run is about to publish, written before it does
    runs/<run id>/foreseen/<event>.json  the terminal event and the OTHER that follow once that is published
    runs/<run id>/refused.json           why the run ended before any event (exit 2)
    runs/<run id>/listener/events.jsonl  what the Spark listener saw
    runs/<run id>/listener/children.jsonl what of it is sent as child runs, where the deployment asks for that
    runs/<run id>/listener/children.delivered.json the receipt of its delivery

Events are written once and never replaced: what is stored is what is delivered, now or by `replay`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from enum import Enum
from typing import Any
from uuid import UUID

from pipeline_runtime.errors import ConfigurationError, EvidenceFailed
from pipeline_runtime.evidence.store import EvidenceStore

__all__ = ["Claim", "EventKind", "Receipt", "RunEvents", "RunEvidence", "Staged", "events_by_run"]

_ROOT = "runs/"
_LISTENER_EVENTS = "listener/events.jsonl"
_CHILDREN = "listener/children.jsonl"
_CHILDREN_RECEIPT = "listener/children.delivered.json"


class EventKind(str, Enum):
    """The events a run sends, in the order in which it sends them."""

    START = "start"
    TERMINAL = "terminal"
    OTHER = "other"


@dataclass(frozen=True)
class Claim:
    """What is stored now. `won` is False where another writer was first with other bytes."""

    won: bool
    body: bytes


@dataclass(frozen=True)
class Receipt:
    """A delivery: the SHA-256 of the bytes that were sent, when (ISO 8601, Z), where, and what was answered."""

    sha256: str
    delivered_at: str
    destination: str
    status: str
    id: str | None


@dataclass(frozen=True)
class Staged:
    """What a run is about to publish; with it, a closer can tell whether a killed run did.

    `target` is the table's ARN. Iceberg: `snapshot_id` of the audited snapshot on `branch`, None where the write
    creates it. Parquet: the `locations` that partitions will be switched to. `staged_at` is ISO 8601 with Z.
    """

    target: str
    format: str
    staged_at: str
    snapshot_id: int | None = None
    branch: str | None = None
    locations: tuple[str, ...] = ()


@dataclass(frozen=True)
class RunEvents:
    """Which events of a run are stored, delivered and parked, as the prefix's listing tells.

    `has_children_due` says that events of child runs are kept and not delivered.
    """

    stored: tuple[EventKind, ...]
    delivered: frozenset[EventKind]
    parked: frozenset[EventKind]
    has_children_due: bool = False


@dataclass(frozen=True)
class RunEvidence:
    """One run's part of the evidence prefix. Methods raise EvidenceFailed where the store cannot be used."""

    store: EvidenceStore
    run_id: str

    def __post_init__(self) -> None:
        try:
            canonical = str(UUID(self.run_id))
        except ValueError:
            canonical = None
        if canonical != self.run_id:
            raise ConfigurationError(f"run id {self.run_id!r} is not a UUID in lower case, such as 0b8c…-…-…")

    def check(self) -> None:
        """Shows, before any work, that the prefix can be written and the run id is free.

        Raises ConfigurationError where it cannot or is not.
        """
        try:
            self.store.put(f"{_ROOT}.probe", b"written before each run to show that this prefix can be written\n")
            finished = self.store.get(self._key("terminal.json")) is not None
        except EvidenceFailed as error:
            raise ConfigurationError(
                f"{error}. A run needs a writable evidence prefix before it starts; set CORDATA_EVIDENCE to one."
            ) from error
        if finished:
            raise ConfigurationError(
                f"run id {self.run_id} already has its terminal event ({self.where(EventKind.TERMINAL)}); "
                "every run needs an id of its own"
            )

    def claim(self, kind: EventKind, body: bytes) -> Claim:
        """Stores an event unless one of its kind is stored already; says which bytes are there now."""
        key = self._key(f"{kind.value}.json")
        if self.store.put_if_absent(key, body):
            return Claim(True, body)
        stored = self.store.get(key)
        if stored is None:
            raise EvidenceFailed(f"evidence: {self.store.describe(key)} was refused as existing, and does not exist")
        # A repeated request of our own, whose first answer was lost, is no competitor.
        return Claim(stored == body, stored)

    def event(self, kind: EventKind) -> bytes | None:
        """The stored event's bytes."""
        return self.store.get(self._key(f"{kind.value}.json"))

    def keep_full(self, body: bytes) -> str:
        """Keeps an event that is too large to be sent whole; returns its s3:// address, or its key in the prefix.

        Not a path of this machine: the address goes into the event that is sent in its place.
        """
        key = self._key(f"full/{hashlib.sha256(body).hexdigest()}.json")
        self.store.put(key, body)
        address = self.store.describe(key)
        return address if address.startswith("s3://") else key

    def whole(self, kind: EventKind) -> bytes | None:
        """The stored event as it was before it was slimmed to be sent; as it is where that was not needed."""
        body = self.event(kind)
        if body is None:
            return None
        marker = json.loads(body)["run"].get("facets", {}).get("cordata_slimmed")
        return body if marker is None else self.store.get(self._key(f"full/{marker['full_sha256']}.json")) or body

    def record_delivery(self, kind: EventKind, receipt: Receipt) -> None:
        self._write(f"{kind.value}.delivered.json", asdict(receipt))

    def receipt(self, kind: EventKind) -> Receipt | None:
        """The receipt of the event's delivery, None where it was not delivered."""
        record = self._read(f"{kind.value}.delivered.json")
        return None if record is None else Receipt(**record)

    def park(self, kind: EventKind, reason: str) -> None:
        """Marks a stored event as not to be sent."""
        self._write(f"{kind.value}.parked.json", {"reason": reason})

    def parked(self, kind: EventKind) -> str | None:
        """Why the event must not be sent, None where it may."""
        record = self._read(f"{kind.value}.parked.json")
        return None if record is None else str(record["reason"])

    def stage(self, staged: Staged) -> None:
        """The write-ahead: to be called before the publishing commit, which must not happen if this fails."""
        self._write("staged.json", asdict(staged))

    def staged(self) -> Staged | None:
        record = self._read("staged.json")
        return None if record is None else Staged(**{**record, "locations": tuple(record["locations"])})

    def foresee(self, kind: EventKind, body: bytes) -> None:
        """Keeps the event that will be due once the batch is published, for whoever has to say it in our place."""
        self.store.put(self._key(f"foreseen/{kind.value}.json"), body)

    def foreseen(self, kind: EventKind) -> bytes | None:
        """The event that the run had foreseen, None where it had not come so far."""
        return self.store.get(self._key(f"foreseen/{kind.value}.json"))

    def complete_as_foreseen(self) -> None:
        """Claims that the run is complete in the words it had foreseen; nothing where it had not come so far.

        For a run that finishes what a killed one had begun to publish. What was claimed before stands.
        """
        for kind in (EventKind.TERMINAL, EventKind.OTHER):
            body = self.foreseen(kind)
            if body is None or not self.claim(kind, body).won:
                return

    def refuse(self, reason: str, at: str) -> None:
        """Records that the run ended before any event, so that nobody reports it as lost. `at` is ISO 8601, Z."""
        self._write("refused.json", {"reason": reason, "refused_at": at})

    def refused(self) -> str | None:
        """Why the run ended before any event, None where it did not."""
        record = self._read("refused.json")
        return None if record is None else str(record["reason"])

    def keep_listener_events(self, lines: bytes) -> None:
        """JSON lines, one a listener event."""
        self.store.put(self._key(_LISTENER_EVENTS), lines)

    def listener_events(self) -> bytes | None:
        return self.store.get(self._key(_LISTENER_EVENTS))

    def keep_children(self, bodies: Iterable[bytes]) -> None:
        """The events of child runs, as they are to be sent."""
        self.store.put(self._key(_CHILDREN), b"".join(body + b"\n" for body in bodies))

    def children(self) -> tuple[bytes, ...]:
        """The events of child runs, in their order; none where none are to be sent."""
        return tuple((self.store.get(self._key(_CHILDREN)) or b"").splitlines())

    def record_children(self, count: int, delivered_at: str, destination: str) -> None:
        """The receipt of the child runs' delivery; `delivered_at` is ISO 8601, Z."""
        record = {"events": count, "delivered_at": delivered_at, "destination": destination}
        self._write(_CHILDREN_RECEIPT, record)

    def where(self, kind: EventKind) -> str:
        """Where a person finds the event."""
        return self.store.describe(self._key(f"{kind.value}.json"))

    def _key(self, name: str) -> str:
        return f"{_ROOT}{self.run_id}/{name}"

    def _write(self, name: str, record: Mapping[str, Any]) -> None:
        self.store.put(self._key(name), json.dumps(record, ensure_ascii=False, indent=2).encode() + b"\n")

    def _read(self, name: str) -> dict[str, Any] | None:
        data = self.store.get(self._key(name))
        return None if data is None else json.loads(data)


def events_by_run(store: EvidenceStore, run_ids: Iterable[str] = ()) -> dict[str, RunEvents]:
    """The runs that have events, by run id, sorted; all runs of the prefix where none are named."""
    prefixes = [f"{_ROOT}{run_id}/" for run_id in run_ids] or [_ROOT]
    names: dict[str, set[str]] = {}
    for prefix in prefixes:
        for key in store.keys(prefix):
            run_id, _, name = key.removeprefix(_ROOT).partition("/")
            names.setdefault(run_id, set()).add(name)
    found = {run_id: _events(names[run_id]) for run_id in sorted(names)}
    return {run_id: events for run_id, events in found.items() if events.stored}


def _events(names: set[str]) -> RunEvents:
    def marked(suffix: str) -> list[EventKind]:
        return [kind for kind in EventKind if kind.value + suffix in names]

    return RunEvents(
        tuple(marked(".json")),
        frozenset(marked(".delivered.json")),
        frozenset(marked(".parked.json")),
        has_children_due=_CHILDREN in names and _CHILDREN_RECEIPT not in names,
    )
