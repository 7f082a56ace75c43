"""A run's events in the evidence prefix: the terminal one to verify, and whether the others say the same."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import replace

from pipeline_runtime.errors import UsageError
from pipeline_runtime.evidence.runs import EventKind, RunEvidence
from pipeline_runtime.evidence.verification.claim import ClaimedRun, claimed_run
from pipeline_runtime.evidence.verification.finding import Finding, FindingKind

__all__ = ["stored_claim", "stored_findings"]


def stored_claim(run: RunEvidence) -> ClaimedRun:
    """What the run's terminal event claims. Raises UsageError where there is none, EvidenceFailed."""
    body = run.event(EventKind.TERMINAL)
    where = run.where(EventKind.TERMINAL)
    if body is not None:
        return claimed_run(body, where)
    if (reason := run.refused()) is not None:
        raise UsageError(f"run {run.run_id} was refused before any event, so there is nothing to verify: {reason}")
    started = run.event(EventKind.START) is not None
    why = "the run has started and not ended" if started else "no such run is in this evidence prefix"
    raise UsageError(f"{where} does not exist: {why}")


def stored_findings(run: RunEvidence, claim: ClaimedRun) -> Iterator[Finding]:
    """Where START or the whole of a slimmed event tells another story, or what was delivered is not what is stored."""
    if claim.run_id != run.run_id:
        text = f"run id: {claim.where} says {claim.run_id}"
        yield Finding(FindingKind.EVENTS_DISAGREE, text)
    start = run.event(EventKind.START)
    if start is not None:
        began = claimed_run(start, run.where(EventKind.START))
        for what, first, last in (
            ("job", began.job, claim.job),
            ("commit", began.commit, claim.commit),
            ("descriptor_sha256", began.files[began.descriptor_path], claim.files[claim.descriptor_path]),
        ):
            if first != last:
                text = f"{what}: START says {first}, the terminal event {last}"
                yield Finding(FindingKind.EVENTS_DISAGREE, text)
    if claim.full_sha256 is not None:
        yield from _whole_event(run, claim, claim.full_sha256)
    for kind in EventKind:
        receipt, body = run.receipt(kind), run.event(kind)
        if receipt is None or body is None:
            continue
        stored = hashlib.sha256(body).hexdigest()
        if receipt.sha256 != stored:
            text = f"{kind.name}: {receipt.sha256} was delivered at {receipt.delivered_at}, {stored} is stored"
            yield Finding(FindingKind.DELIVERY_MISMATCH, text)


def _whole_event(run: RunEvidence, claim: ClaimedRun, digest: str) -> Iterator[Finding]:
    """Whether the event that was too large to be sent is kept, and says of the run what the sent one says."""
    key = f"runs/{run.run_id}/full/{digest}.json"
    where = run.store.describe(key)
    body = run.store.get(key)
    if body is None:
        yield Finding(FindingKind.WHOLE_EVENT, f"{where} does not exist, and the event was slimmed from it")
    elif (found := hashlib.sha256(body).hexdigest()) != digest:
        yield Finding(FindingKind.WHOLE_EVENT, f"{where}: the event names {digest}, it is {found}")
    elif replace(claimed_run(body, where), where=claim.where, full_sha256=digest) != claim:
        yield Finding(FindingKind.WHOLE_EVENT, f"{where} claims another run or declaration than the event made of it")
