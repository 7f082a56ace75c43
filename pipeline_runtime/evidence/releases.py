"""Who publishes a quarantined batch: claimed before it is done, so that it is done once.

    releases/<run id>/1.json   the first attempt to release that run's batch
    releases/<run id>/2.json   the second, made when the first had ended without publishing; and so on
    releases/<run id>/registered.json   that the contract was registered by a later call, not by the attempt

An attempt is a run of its own: how it ended is in its own terminal event, under `runs/<its run id>/`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from pipeline_runtime.evidence.store import EvidenceStore

__all__ = ["Attempt", "attempts_of", "claim_attempt", "is_registered", "note_registered"]


@dataclass(frozen=True)
class Attempt:
    """One attempt to release a batch, as its claim says.

    `run_id` is the attempt's own; `claimed_at` is ISO 8601 with Z; `owner` is its process, as `writers.owner` names it.
    """

    original_run_id: str
    run_id: str
    released_by: str
    reason: str | None
    claimed_at: str
    owner: str | None


def attempts_of(store: EvidenceStore, original_run_id: str) -> tuple[Attempt, ...]:
    """The attempts to release that run's batch, in order. Raises EvidenceFailed."""
    found: list[Attempt] = []
    while (record := store.get(_key(original_run_id, len(found) + 1))) is not None:
        found.append(Attempt(**json.loads(record)))
    return tuple(found)


def claim_attempt(store: EvidenceStore, earlier: Sequence[Attempt], attempt: Attempt) -> bool:
    """Claims the attempt that follows `earlier`; False where someone else was first. Raises EvidenceFailed."""
    record = json.dumps(asdict(attempt), ensure_ascii=False, indent=2).encode() + b"\n"
    return store.put_if_absent(_key(attempt.original_run_id, len(earlier) + 1), record)


def is_registered(store: EvidenceStore, original_run_id: str) -> bool:
    """Whether a later call has registered the contract of a batch whose release could not. Raises EvidenceFailed."""
    return store.get(_registered(original_run_id)) is not None


def note_registered(store: EvidenceStore, original_run_id: str, at: str) -> None:
    """Records that the contract is registered now; `at` is ISO 8601 with Z. Raises EvidenceFailed."""
    store.put(_registered(original_run_id), json.dumps({"registered_at": at}).encode() + b"\n")


def _registered(original_run_id: str) -> str:
    return f"releases/{original_run_id}/registered.json"


def _key(original_run_id: str, number: int) -> str:
    return f"releases/{original_run_id}/{number}.json"
