"""Sends what a run has stored and nobody has delivered."""

from __future__ import annotations

from pipeline_runtime.evidence.runs import EventKind, RunEvidence
from pipeline_runtime.lineage.delivery import Delivered, Delivery
from pipeline_runtime.lineage.limits import size_problem
from pipeline_runtime.lineage.outbox import deliver

__all__ = ["deliver_stored"]


def deliver_stored(run: RunEvidence, delivery: Delivery | None) -> list[str]:
    """In the order of the run; returns what could not be sent, with why. Raises EvidenceFailed."""
    problems: list[str] = []
    for kind in EventKind:
        body = run.event(kind)
        if delivery is None or body is None or run.receipt(kind) is not None:
            continue
        reason = run.parked(kind) or size_problem(body)
        if reason is None:
            outcome = deliver(run, kind, body, delivery)
            reason = None if isinstance(outcome, Delivered) else outcome.reason
        if reason is not None:
            problems.append(f"{kind.name}: {reason}")
    return problems
