"""Closes runs of `ingest` that were killed: no job run of Glue's tells of them, only their silence does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from pipeline_runtime.closer.delivering import deliver_stored
from pipeline_runtime.closer.events import ending_event
from pipeline_runtime.evidence.runs import EventKind, RunEvidence
from pipeline_runtime.evidence.store import EvidenceStore
from pipeline_runtime.ingestion.following import Follower, Following, silent_followers
from pipeline_runtime.lineage.delivery import Delivery
from pipeline_runtime.lineage.values import utc_text

__all__ = ["LostBatch", "close_lost_batches"]


@dataclass(frozen=True)
class LostBatch:
    """A run that ended without a word, why it counts as one, and which of its events could not be delivered."""

    run_id: str
    task: str
    reason: str
    undelivered: tuple[str, ...]


def close_lost_batches(
    store: EvidenceStore, open_delivery: Callable[[], Delivery | None], now: datetime, task: str | None = None
) -> list[LostBatch]:
    """Says FAIL for each silent follower that has no terminal event; of one task where it is named.

    What it had landed is counted by the next batch that ends. Raises EvidenceFailed.
    """
    return [_close(store, each, open_delivery, now) for each in silent_followers(store, now, task)]


def _close(
    store: EvidenceStore, lost: Follower, open_delivery: Callable[[], Delivery | None], now: datetime
) -> LostBatch:
    run = RunEvidence(store, lost.run_id)
    start = run.event(EventKind.START)
    reason = (
        f"the run ended without a word: it was last seen at {utc_text(lost.seen_at)}, following {lost.task}. "
        "The replication goes on; the next batch counts what came since the last one"
    )
    undelivered: list[str] = []
    if start is not None:
        if run.event(EventKind.TERMINAL) is None:
            run.claim(EventKind.TERMINAL, ending_event(start, "FAIL", reason, now))
        undelivered = deliver_stored(run, open_delivery())
    if not undelivered:
        Following(store, lost.run_id, lost.task).end()
    return LostBatch(lost.run_id, lost.task, reason, tuple(undelivered))
