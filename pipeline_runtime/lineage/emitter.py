"""Emits a run's events: stored first, then delivered, and never at the price of the run (design decisions D2, D7)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from openlineage.client.event_v2 import RunEvent

from pipeline_runtime.errors import EvidenceFailed
from pipeline_runtime.evidence.runs import EventKind, RunEvidence
from pipeline_runtime.lineage.delivery import Delivered, Delivery
from pipeline_runtime.lineage.events import parking_reason, to_bytes
from pipeline_runtime.lineage.limits import size_problem
from pipeline_runtime.lineage.outbox import deliver, deliver_children
from pipeline_runtime.lineage.slimming import fitted, wire_bytes

__all__ = ["Emitter", "TerminalOutcome", "UndeliveredEvent"]

#: Which part of the remaining time an event may use: a dead sink at START must leave time for the terminal event.
_SHARES = {EventKind.START: 0.4, EventKind.TERMINAL: 0.6, EventKind.OTHER: 1.0}


@dataclass(frozen=True)
class UndeliveredEvent:
    """An event that the sink does not have. `stored` says whether `replay` can still send it."""

    kind: EventKind
    reason: str
    stored: bool


@dataclass(frozen=True)
class TerminalOutcome:
    """What became of the terminal event.

    `body` are the bytes that stand for the run: ours where the claim was `won`, else those of whoever was first.
    None where the claim could not be made, and so nothing was sent.
    """

    won: bool
    body: bytes | None

    @property
    def event_type(self) -> str | None:
        """COMPLETE, FAIL or ABORT, as stored."""
        return None if self.body is None else str(json.loads(self.body)["eventType"])


class Emitter:
    """One run's events on their way out. `delivery` is None where lineage is turned off in so many words.

    `log` gets a line for each thing that went wrong; `undelivered` collects what the exit summary must say.
    No method but `check` raises for evidence or delivery.
    """

    def __init__(self, evidence: RunEvidence, delivery: Delivery | None, log: Callable[[str], None]) -> None:
        self._evidence = evidence
        self._delivery = delivery
        self._log = log
        self.undelivered: list[UndeliveredEvent] = []

    def check(self) -> None:
        """Raises ConfigurationError, before any work, where events could not be stored."""
        self._evidence.check()

    def start(self, event: RunEvent) -> None:
        """Stores and delivers the START event."""
        self._emit(EventKind.START, event)

    def terminal(self, event: RunEvent) -> TerminalOutcome:
        """Claims the run's terminal event with these bytes, then delivers the bytes that hold the claim."""
        return self._emit(EventKind.TERMINAL, event)

    def other(self, event: RunEvent) -> None:
        """Stores and delivers the OTHER event."""
        self._emit(EventKind.OTHER, event)

    def children(self, events: Callable[[], Iterable[Mapping[str, Any]]]) -> None:
        """Keeps the events of child runs, then delivers them with what is left of the time.

        One that is too large, even slimmed, is left out and said. `events` makes them, and raises ValueError where
        they cannot be made.
        """
        try:
            bodies = [fitted(wire_bytes(event), self._evidence.keep_full) for event in events()]
            sendable = [body for body in bodies if size_problem(body) is None]
            if len(sendable) < len(bodies):
                self._log(f"lineage: {len(bodies) - len(sendable)} child events are too large and were left out")
            if not sendable:
                return
            self._evidence.keep_children(sendable)
            if self._delivery is None:
                return
            count, delivered, reason = deliver_children(self._evidence, self._delivery)
        except (EvidenceFailed, ValueError) as error:
            self._log(f"lineage: child runs not delivered: {error}")
            return
        rest = "" if reason is None else f"; the rest is kept, `replay` sends it later: {reason}"
        self._log(f"{delivered} of {count} events of child runs delivered{rest}")

    @property
    def summary(self) -> str:
        """The exit summary's line about lineage."""
        if self.undelivered:
            names = ", ".join(event.kind.name for event in self.undelivered)
            reasons = "; ".join(dict.fromkeys(event.reason for event in self.undelivered))
            remedy = ""
            if any(event.stored for event in self.undelivered):
                where = self._evidence.where(self.undelivered[-1].kind).rpartition("/")[0]
                remedy = (
                    f". Kept in {where}; `python -m pipeline_runtime replay {self._evidence.run_id}` sends it later"
                )
            return f"lineage: not delivered ({names}): {reasons}{remedy}"
        return "lineage: turned off" if self._delivery is None else "lineage: delivered"

    def _emit(self, kind: EventKind, event: RunEvent) -> TerminalOutcome:
        try:
            body = fitted(to_bytes(event), self._evidence.keep_full)
            claim = self._evidence.claim(kind, body)
        except EvidenceFailed as error:
            # Unclaimed, it must stay unsent: whoever closes the run would add a second terminal event.
            self._undelivered(kind, str(error), stored=False)
            return TerminalOutcome(won=False, body=None)
        if not claim.won:
            self._log(f"lineage: {kind.name} was stored before, {self._evidence.where(kind)} stands")
        reason = parking_reason(event, body) if claim.won else size_problem(claim.body)
        if reason is not None:
            self._park(kind, reason)
        elif self._delivery is not None:
            outcome = deliver(self._evidence, kind, claim.body, self._delivery, share=_SHARES[kind])
            if not isinstance(outcome, Delivered):
                self._undelivered(kind, outcome.reason, stored=True)
        return TerminalOutcome(claim.won, claim.body)

    def _park(self, kind: EventKind, reason: str) -> None:
        try:
            self._evidence.park(kind, reason)
        except EvidenceFailed as error:
            self._log(f"lineage: {error}")
        self._undelivered(kind, reason, stored=True)

    def _undelivered(self, kind: EventKind, reason: str, *, stored: bool) -> None:
        self._log(f"lineage: {kind.name} not delivered: {reason}")
        if self._delivery is not None or not stored:
            self.undelivered.append(UndeliveredEvent(kind, reason, stored))
