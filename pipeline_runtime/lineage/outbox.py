"""Delivers an event that is stored, and leaves the receipt: the one way out, for the run and for `replay`."""

from __future__ import annotations

import contextlib
import hashlib
from datetime import UTC, datetime

from pipeline_runtime.errors import EvidenceFailed
from pipeline_runtime.evidence.runs import EventKind, Receipt, RunEvidence
from pipeline_runtime.lineage.delivery import Delivered, Delivery, Undelivered
from pipeline_runtime.lineage.values import utc_text

__all__ = ["deliver", "deliver_children"]


def deliver(
    evidence: RunEvidence, kind: EventKind, body: bytes, delivery: Delivery, *, share: float = 1.0
) -> Delivered | Undelivered:
    """Sends the bytes and records the receipt in the run's evidence.

    A receipt that cannot be written costs nothing but a second delivery, which the sink knows by its token.
    """
    outcome = delivery.send(body, share=share)
    if isinstance(outcome, Delivered):
        receipt = Receipt(
            sha256=hashlib.sha256(body).hexdigest(),
            delivered_at=utc_text(datetime.now(UTC)),
            destination=delivery.destination,
            status=outcome.status,
            id=outcome.id,
        )
        with contextlib.suppress(EvidenceFailed):
            evidence.record_delivery(kind, receipt)
    return outcome


def deliver_children(evidence: RunEvidence, delivery: Delivery) -> tuple[int, int, str | None]:
    """Sends the kept events of child runs, in their order; how many there are, how many the sink took, and why not all.

    All or none count as delivered: what is sent once more, the sink knows by its token. Raises EvidenceFailed where
    they cannot be read.
    """
    bodies = evidence.children()
    outcomes = [delivery.send(body) for body in bodies]
    reasons = [outcome.reason for outcome in outcomes if not isinstance(outcome, Delivered)]
    if not reasons:
        with contextlib.suppress(EvidenceFailed):
            evidence.record_children(len(bodies), utc_text(datetime.now(UTC)), delivery.destination)
    return len(bodies), len(bodies) - len(reasons), reasons[0] if reasons else None
