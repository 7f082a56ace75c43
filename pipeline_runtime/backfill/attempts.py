"""What became of each period so far, read from the runs' evidence: a backfill keeps no state of its own.

The id of every run is a UUIDv5 of the pipeline, the backfill's name, the period and the attempt, so whoever asks again
finds the runs that were made.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from pipeline_runtime.backfill.periods import Period
from pipeline_runtime.evidence.runs import EventKind, RunEvidence
from pipeline_runtime.evidence.store import EvidenceStore

__all__ = ["Attempt", "Ending", "ending_of", "latest_attempt", "run_id_of"]


class Ending(str, Enum):
    """How a run ended, as its evidence says; OPEN where it has begun and not ended."""

    PUBLISHED = "published"
    QUARANTINED = "quarantined"
    FAILED = "failed"
    REFUSED = "refused"
    OPEN = "not ended"


@dataclass(frozen=True)
class Attempt:
    """One run for one period. `number` counts from 1."""

    period: Period
    number: int
    run_id: str


def run_id_of(pipeline: str, backfill: str, period: Period, number: int) -> str:
    """The run id of an attempt. `pipeline` is `<domain>/<name>`."""
    span = f"{period.nominal_time}/{period.end.isoformat()}"
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"https://cordata.tech/backfill/{pipeline}/{backfill}/{span}/{number}"))


def ending_of(store: EvidenceStore, run_id: str) -> Ending | None:
    """How the run ended; None where nothing is known of it. Raises EvidenceFailed."""
    run = RunEvidence(store, run_id)
    body = run.event(EventKind.TERMINAL)
    if body is None:
        if run.event(EventKind.START) is not None:
            return Ending.OPEN
        return None if run.refused() is None else Ending.REFUSED
    event = json.loads(body)
    if event["eventType"] == "COMPLETE":
        return Ending.PUBLISHED
    # Of the runs that failed only a quarantined one has an output: the quarantine.
    return Ending.QUARANTINED if event.get("outputs") else Ending.FAILED


def latest_attempt(
    store: EvidenceStore, period: Period, id_of: Callable[[Period, int], str]
) -> tuple[Attempt, Ending] | None:
    """The last attempt that left evidence, and how it ended; None where there was none. Raises EvidenceFailed."""
    found: tuple[Attempt, Ending] | None = None
    number = 1
    while (ending := ending_of(store, run_id := id_of(period, number))) is not None:
        found = Attempt(period, number, run_id), ending
        number += 1
    return found
