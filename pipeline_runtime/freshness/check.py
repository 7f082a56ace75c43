"""One look at all products: each is judged, its breach noted, its owner told."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from pipeline_runtime.catalog.lookup import find_table
from pipeline_runtime.errors import CatalogError, EvidenceFailed
from pipeline_runtime.freshness.breaches import Breaches
from pipeline_runtime.freshness.judging import Judgement
from pipeline_runtime.freshness.products import Product, product_of, registered_products
from pipeline_runtime.freshness.publishes import last_publish
from pipeline_runtime.freshness.runs import attempts_since
from pipeline_runtime.lineage.redact import redact
from pipeline_runtime.notify.owner import NotTold

if TYPE_CHECKING:
    from mypy_boto3_glue import GlueClient
    from mypy_boto3_s3 import S3Client

    from pipeline_runtime.evidence.event_files import EventFolder
    from pipeline_runtime.evidence.store import EvidenceStore
    from pipeline_runtime.notify.episodes import Entry
    from pipeline_runtime.notify.owner import Notifier

__all__ = ["Looked", "Report", "Watch"]


@dataclass(frozen=True)
class Looked:
    """A product's judgement, and where its owner was told now, None where there was nothing to tell."""

    found: Judgement
    told: str | None = None


@dataclass(frozen=True)
class Report:
    """Every product that could be judged, by name; and what could not be judged, told or noted, a line each."""

    products: tuple[Looked, ...]
    problems: tuple[str, ...]

    @property
    def is_breached(self) -> bool:
        return any(each.found.standing.is_breach for each in self.products)


@dataclass(frozen=True)
class Watch:
    """What a look takes. `notifier` is None for one that tells nobody and notes nothing.

    `store` and `folder` are the same evidence prefix. `domain` restricts what the catalog is asked for.
    """

    glue: GlueClient
    s3: S3Client
    region: str
    store: EvidenceStore
    folder: EventFolder
    notifier: Notifier | None
    declared: tuple[Product, ...] = ()
    domain: str | None = None

    def look(self, now: datetime) -> Report:
        """Judges every product, registered or declared. Raises CatalogError where the catalog lists none."""
        registered = registered_products(self.glue, self.region, self.domain)
        known = {each.identity.fqn: each for each in (*self.declared, *registered)}
        problems: list[str] = []
        judged: list[tuple[Entry | None, Judgement]] = []
        for product in (known[name] for name in sorted(known)):
            try:
                judged.append(self._judged(product, now))
            except (CatalogError, EvidenceFailed) as error:
                problems.append(redact(str(error)))
        looked = []
        for last, found in self._explained(judged, problems):
            try:
                looked.append(Looked(found, self._told(last, found)))
            except (EvidenceFailed, NotTold) as error:
                looked.append(Looked(found))
                problems.append(
                    redact(f"{found.product.identity.fqn}: {found.product.owner or 'its owner'} was not told: {error}")
                )
        return Report(tuple(looked), tuple(problems))

    def _judged(self, listed: Product, now: datetime) -> tuple[Entry | None, Judgement]:
        breaches = Breaches(self.store, listed.identity)
        # First the state, then the product: so that a view that is older than the state adds nothing to it.
        last = breaches.last()
        identity = listed.identity
        table = find_table(self.glue, database=identity.database, table=identity.table, region=self.region)
        product = listed if table is None else product_of(table, self.region) or listed
        publish = None if table is None else last_publish(table, identity, self.glue, self.s3, self.store)
        if publish is not None:
            publish = breaches.remembered(publish, keep=self.notifier is not None)
        since = product.registered_at
        if publish is None and since is None:
            since = breaches.first_seen(now, keep=self.notifier is not None)
        return last, Judgement(product, publish, since or now, now)

    def _explained(
        self, judged: Iterable[tuple[Entry | None, Judgement]], problems: list[str]
    ) -> list[tuple[Entry | None, Judgement]]:
        """The same, late products with what their pipelines' runs say of why."""
        judged = list(judged)
        since: Mapping[tuple[str, str], datetime] = {
            found.product.job: found.counts_from for _, found in judged if found.standing.is_breach
        }
        try:
            attempts = attempts_since(self.folder, since)
        except EvidenceFailed as error:
            problems.append(redact(f"why products are late is not known: {error}"))
            return judged
        return [(last, replace(found, attempts=attempts.get(found.product.job))) for last, found in judged]

    def _told(self, last: Entry | None, found: Judgement) -> str | None:
        if self.notifier is None:
            return None
        breaches = Breaches(self.store, found.product.identity)
        entry = breaches.note(last, found)
        return None if entry is None else breaches.tell(entry, found, self.notifier)
