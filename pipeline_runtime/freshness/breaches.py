"""A product's breaches: each begins once and ends once, whoever looks, and the owner hears of both once.

What is kept of a product lies below `freshness/<account>/<database>.<table>/`:

    0001.json         it is late; 0002.json: it is fresh again; and so on
    0001.told/…       that the owner was told of that
    first-seen.json   since when a product without a table is known
    published.json    the last publish that was seen, for when the table's history has forgotten it
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from pipeline_runtime.freshness.judging import Judgement, shown_time
from pipeline_runtime.freshness.publishes import Publish
from pipeline_runtime.lineage.values import utc_text
from pipeline_runtime.notify.episodes import Entry, Episodes
from pipeline_runtime.notify.owner import Kind, Notice, Notifier
from pipeline_runtime.notify.telling import tell_once
from pipeline_runtime.notify.values import without_values

if TYPE_CHECKING:
    from pipeline_runtime.catalog.table import TableIdentity
    from pipeline_runtime.evidence.store import EvidenceStore

__all__ = ["Breaches"]

_MANUAL = "docs/operations.md#late-data"


@dataclass(frozen=True)
class Breaches:
    """The breaches of one product. Methods raise EvidenceFailed."""

    store: EvidenceStore
    identity: TableIdentity

    @property
    def _log(self) -> Episodes:
        return Episodes(self.store, self._place)

    @property
    def _place(self) -> str:
        return f"freshness/{self.identity.account}/{self.identity.fqn}"

    def last(self) -> Entry | None:
        """The state, to be read before the product is looked at: see `Episodes`."""
        return self._log.last()

    def first_seen(self, now: datetime, *, keep: bool) -> datetime:
        """Since when a product is known that the catalog does not have; `keep` notes it where that is now."""
        key = f"{self._place}/first-seen.json"
        stored = self.store.get(key)
        if stored is None and keep:
            self.store.put_if_absent(key, json.dumps({"at": utc_text(now)}).encode() + b"\n")
            stored = self.store.get(key)
        return now if stored is None else datetime.fromisoformat(json.loads(stored)["at"])

    def remembered(self, seen: Publish, *, keep: bool) -> Publish:
        """The publish that the table shows, or for one that is not exact the last one that was; `keep` notes it."""
        key = f"{self._place}/published.json"
        stored = self.store.get(key)
        known = None if stored is None else json.loads(stored)
        if not seen.exact:
            return seen if known is None else Publish(datetime.fromisoformat(known["at"]), known["run_id"])
        wanted = {"at": utc_text(seen.at), "run_id": seen.run_id}
        if keep and known != wanted:
            self.store.put(key, json.dumps(wanted).encode() + b"\n")
        return seen

    def note(self, last: Entry | None, found: Judgement) -> Entry | None:
        """The entry that is the state now: `last`, or the one that this judgement adds; None where nothing is wrong.

        None also where somebody else added theirs meanwhile, who then tells of it.
        """
        was_late = last is not None and last.facts["state"] == "late"
        published_at = None if found.publish is None else utc_text(found.publish.at)
        run_id = None if found.publish is None else found.publish.run_id
        if found.standing.is_breach:
            if was_late and last is not None and _is_of(last, found.publish):
                return last
            facts = {"state": "late", "since": utc_text(found.due), "published_at": published_at}
        elif last is not None and was_late:
            facts = {"state": "fresh", "late_since": last.facts["since"], "published_at": published_at}
        else:
            return last
        return self._log.append(last, {**facts, "run_id": run_id, "sla": found.product.sla, "at": utc_text(found.now)})

    def tell(self, entry: Entry, found: Judgement, notifier: Notifier) -> str | None:
        """Tells the owner of that entry, unless that was done; returns where it went. Raises NotTold."""
        notice = _late(entry, found) if entry.facts["state"] == "late" else _fresh_again(entry, found)
        return tell_once(self.store, notifier, f"{entry.key}.told", notice, found.now)


def _is_of(entry: Entry, publish: Publish | None) -> bool:
    """Whether that breach began with this publish, rather than with an earlier one that nobody saw replaced."""
    at, run_id = entry.facts["published_at"], entry.facts["run_id"]
    return at is None if publish is None else publish.is_same(run_id, at)


def _late(entry: Entry, found: Judgement) -> Notice:
    fqn = found.product.identity.fqn
    return _notice(
        Kind.LATE,
        entry,
        found,
        f"{fqn} is late",
        f"{fqn} is late since {entry.facts['since']}: {found.fact}.\n{found.cause}",
    )


def _fresh_again(entry: Entry, found: Judgement) -> Notice:
    fqn, since = found.product.identity.fqn, entry.facts["late_since"]
    late_for = max(found.counts_from - datetime.fromisoformat(since), timedelta())
    return _notice(
        Kind.FRESH_AGAIN,
        entry,
        found,
        f"{fqn} is fresh again",
        f"{fqn} is fresh again: {found.fact}.\nIt was late since {since}, for {shown_time(late_for)}.",
    )


def _notice(kind: Kind, entry: Entry, found: Judgement, subject: str, text: str) -> Notice:
    product = found.product
    run_id = found.publish.run_id if found.publish is not None and kind is Kind.FRESH_AGAIN else None
    return Notice(
        kind=kind,
        id=entry.key,
        owner=product.owner,
        domain=product.domain,
        pipeline=product.pipeline,
        run_id=run_id or "",
        at=utc_text(found.now),
        subject=subject,
        text=f"{without_values(text)}\n\nPipeline {product.pipeline} of domain {product.domain}.\n{_MANUAL}\n",
    )
