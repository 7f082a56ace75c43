"""Whether an owner is told, and that it is done once.

- One run is told of once, whoever does it: the run itself, or the closer. `told/<run id>/` keeps that.
- The same failure of following runs is told of at the first one, and then once in 24 hours. It is over when a run
  publishes, or fails otherwise. `failing/<domain>/<pipeline>/` keeps that. Two failures are the same where their texts
  are, apart from ids, times and catalog versions; of a failed suite, where the same expectations failed.
- A quarantined batch is a batch of its own to look at, so each is told of.
- A deprecation is told of once for each day that is named, and once more when a week is left.

A telling that fails is made up for by the closer's next look at the run.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from pipeline_runtime.errors import EvidenceFailed, PipelineError, Quarantined
from pipeline_runtime.evidence.store import EvidenceStore
from pipeline_runtime.lineage.redact import error_text, redact
from pipeline_runtime.lineage.values import utc_text
from pipeline_runtime.notify.episodes import Entry, Episodes
from pipeline_runtime.notify.notices import deprecation_notice, failure_notice, quarantine_notice
from pipeline_runtime.notify.once import PATIENCE, Once
from pipeline_runtime.notify.owner import Notice, Notifier, NotTold

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipeline_runtime.lineage.facts import RunFacts

__all__ = ["AGAIN", "note_published", "signature_of", "tell_of_failure", "tell_of_run", "tell_once"]

#: After this long the same failure is told of again.
AGAIN = timedelta(hours=24)
#: How often a log is read anew because somebody else appended to it.
_TRIES = 5

_PASSING = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"  # run ids
    r"|\bjr_[0-9a-f]+"  # job run ids of Glue
    r"|\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)?"
    r"|\b[0-9a-f]{16,}\b|\b\d{10,}\b"  # hashes, request ids, snapshot ids
    r"|\bv\d+\b",  # a table's version in the catalog, which moves with every append
    re.IGNORECASE,
)


def tell_of_run(
    facts: RunFacts,
    error: PipelineError | None,
    lines: Sequence[str],
    notifier: Notifier,
    store: EvidenceStore,
    now: datetime,
) -> Iterator[str]:
    """Tells the owner of an ended run what there is to tell; yields what the trace says of that. Raises nothing.

    `lines` are those that the trace shows after FAILED.
    """
    owner, at = facts.descriptor.metadata.owner, utc_text(now)
    metadata = facts.descriptor.metadata

    def ended() -> str | None:
        if error is None:
            note_published(store, metadata.domain, metadata.name, facts.context.run_id, now)
            return None
        if isinstance(error, Quarantined):
            notice = quarantine_notice(facts, error, at)
            return tell_of_failure(store, notifier, notice, f"quarantine {facts.context.run_id}", now)
        return tell_of_failure(store, notifier, failure_notice(facts, error, lines, at), signature_of(error), now)

    def deprecated() -> str | None:
        return _tell_of_deprecation(facts, notifier, store, now)

    for tell in (ended, deprecated):
        if (said := _guarded(owner, tell)) is not None:
            yield said


def tell_of_failure(
    store: EvidenceStore, notifier: Notifier, notice: Notice, signature: str, now: datetime
) -> str | None:
    """Tells of a run that failed, unless it was told of, or its failure was of late; says what became of it.

    None where the run was told of before. Raises NotTold, EvidenceFailed.
    """
    repeated: list[Entry] = []

    def decide() -> bool:
        earlier = _same_of_late(store, notice, signature, now)
        if earlier is not None:
            repeated.append(earlier)
        return earlier is None

    where = tell_once(store, notifier, f"told/{notice.id}", notice, now, decide)
    if repeated:
        facts = repeated[0].facts
        return (
            f"{notice.owner} was told of this failure at {facts['at']} (run {facts['run_id']}), and is again after "
            f"{AGAIN.total_seconds() / 3600:.0f} hours"
        )
    return None if where is None else _told(notice, where)


def tell_once(
    store: EvidenceStore,
    notifier: Notifier,
    key: str,
    notice: Notice,
    now: datetime,
    decide: Callable[[], bool] = lambda: True,
) -> str | None:
    """Delivers the notice unless that was done under this key; returns where it went, None where it did not go now.

    `decide` is asked by whoever gets to do it; where it says no, that is what is kept. Raises NotTold, EvidenceFailed.
    """
    try:
        attempt = Once(store, key).attempt(now)
    except EvidenceFailed:
        return notifier.tell(notice)  # Twice is better than not at all.
    if attempt is None:
        return None
    if not decide():
        attempt.done(told=False, at=utc_text(now))
        return None
    try:
        where = notifier.tell(notice)
    except NotTold as failure:
        attempt.failed(redact(str(failure)), now)
        raise
    attempt.done(told=True, at=utc_text(now), where=where)
    return where


def signature_of(error: PipelineError | str) -> str:
    """What two failures have in common that are the same: a hash of the text without what changes by itself."""
    if isinstance(error, PipelineError) and error.result is not None and error.result.failed:
        broken = sorted(f"{each.assertion}({each.column})" for each in error.result.failed)
        text = "; ".join(broken)
    else:
        text = error if isinstance(error, str) else error_text(error)
    return hashlib.sha256(_PASSING.sub("#", text).encode()).hexdigest()


def _same_of_late(store: EvidenceStore, notice: Notice, signature: str, now: datetime) -> Entry | None:
    """The entry of the pipeline's log that says that the same failure was told of lately; else notes this one."""
    log = _failures(store, notice.domain, notice.pipeline)
    for _ in range(_TRIES):
        last = log.last()
        if last is not None and last.facts["run_id"] == notice.run_id:
            return None  # Noted by somebody who then could not tell.
        same = last is not None and last.facts.get("signature") == signature
        if last is not None and same and _counts(store, last, now):
            return last
        if log.append(last, {"run_id": notice.run_id, "at": utc_text(now), "signature": signature}) is not None:
            return None
    return None


def _failures(store: EvidenceStore, domain: str, pipeline: str) -> Episodes:
    # A job's name, which stands in for a pipeline's where nobody knows it, may hold what no key may.
    return Episodes(
        store, "/".join(["failing", *(re.sub(r"[^A-Za-z0-9_-]", "-", part) or "-" for part in (domain, pipeline))])
    )


def _counts(store: EvidenceStore, entry: Entry, now: datetime) -> bool:
    """Whether the owner heard of that entry's failure, or hears of it now, and not too long ago."""
    age = now - datetime.fromisoformat(entry.facts["at"])
    result = Once(store, f"told/{entry.facts['run_id']}").result()
    return age < (PATIENCE if result is None else AGAIN)


def note_published(store: EvidenceStore, domain: str, pipeline: str, run_id: str, now: datetime) -> None:
    """Notes that the pipeline's failures are over, where it had any. Raises EvidenceFailed."""
    log = _failures(store, domain, pipeline)
    last = log.last()
    if last is not None and "signature" in last.facts:
        log.append(last, {"run_id": run_id, "at": utc_text(now)})


def _tell_of_deprecation(facts: RunFacts, notifier: Notifier, store: EvidenceStore, now: datetime) -> str | None:
    from pipeline_runtime.catalog.deprecation import deprecation_text

    source, metadata = facts.source, facts.descriptor.metadata
    if source is None or source.deprecation is None:
        return None
    declared, after = facts.descriptor.source, source.deprecation.after
    text = deprecation_text(declared.fqn, source.pinned_version, source.deprecation, over=False)
    left = "/last-week" if after - now.date() <= timedelta(days=7) else ""
    id_ = f"deprecations/{metadata.domain}/{metadata.name}/{declared.fqn}/v{source.pinned_version}/{after}{left}"
    notice = deprecation_notice(facts, text, id_, utc_text(now))
    where = tell_once(store, notifier, f"told/{id_}", notice, now)
    return None if where is None else _told(notice, where)


def _told(notice: Notice, where: str) -> str:
    return f"{notice.owner or 'the topic'} → {where}"


def _guarded(owner: str, tell: Callable[[], str | None]) -> str | None:
    """Whatever becomes of the notice, the run has ended as it has."""
    try:
        return tell()
    except Exception as failure:
        known = isinstance(failure, NotTold | PipelineError)
        reason = str(failure) if known else f"{type(failure).__name__}: {failure}"
        return f"{owner} was not told: {redact(reason)}"
