"""What a look at the products' freshness is given by its environment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pipeline_runtime.catalog.account import job_account, job_region
from pipeline_runtime.evidence.event_files import open_event_folder
from pipeline_runtime.evidence.s3 import evidence_client
from pipeline_runtime.evidence.store import open_store
from pipeline_runtime.freshness.check import Watch
from pipeline_runtime.freshness.products import declared_products
from pipeline_runtime.lineage.settings import LineageSettings
from pipeline_runtime.notify.owner import open_notifier

__all__ = ["open_watch"]


def open_watch(
    environ: Mapping[str, str],
    *,
    evidence: str | None = None,
    domain: str | None = None,
    declared: Sequence[str] = (),
    tells: bool = True,
) -> Watch:
    """The watch that the environment describes; what is given beside it comes first.

    `declared` are further lists of products, as CORDATA_FRESHNESS_PRODUCTS is one. Raises ConfigurationError for what
    is missing or wrong, UsageError where there is no evidence folder, EvidenceFailed.
    """
    import boto3

    place = LineageSettings.evidence_only(environ, evidence)
    store = open_store(place, evidence_client)
    session = boto3.Session()
    region = job_region(session, environ)
    account = job_account(session.client("sts", region_name=region))
    lists = [*declared, *filter(None, [environ.get("CORDATA_FRESHNESS_PRODUCTS", "").strip()])]
    products = [each for text in lists for each in declared_products(text, region=region, account=account)]
    chosen = domain or environ.get("CORDATA_FRESHNESS_DOMAIN", "").strip() or None
    return Watch(
        glue=session.client("glue", region_name=region),
        s3=session.client("s3", region_name=region),
        region=region,
        store=store,
        folder=open_event_folder(place),
        notifier=open_notifier(environ, store) if tells else None,
        declared=tuple(each for each in products if chosen in (None, each.domain)),
        domain=chosen,
    )
