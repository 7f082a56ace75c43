"""A product's freshness as a line of CloudWatch's embedded metric format: log and metrics in one.

The metrics are in the namespace Cordata/Freshness, by domain, and by domain and product. `Age` is missing for what was
never published, so that an alarm on it treats it as missing and not as fresh; `NeverPublished` counts it.
"""

from __future__ import annotations

from typing import Any

from pipeline_runtime.freshness.judging import Judgement
from pipeline_runtime.lineage.values import utc_text

__all__ = ["NAMESPACE", "metric_line"]

NAMESPACE = "Cordata/Freshness"
_COUNTS = ("Late", "NeverPublished", "Blocked")


def metric_line(found: Judgement, told: str | None) -> dict[str, Any]:
    """What is known of the product, as JSON; `told` says where its owner was told, None where nobody was now."""
    product, publish = found.product, found.publish
    blocked_since = None if found.attempts is None else found.attempts.blocked_since
    metrics: dict[str, float] = {
        "Late": int(found.standing.is_breach),
        "NeverPublished": int(publish is None),
        "Blocked": int(blocked_since is not None),
        "Allowed": found.allowed.total_seconds(),
    }
    if publish is not None:
        metrics["Age"] = found.age.total_seconds()
    directive = {
        "Namespace": NAMESPACE,
        "Dimensions": [["domain"], ["domain", "product"]],
        "Metrics": [{"Name": name, "Unit": "Count" if name in _COUNTS else "Seconds"} for name in metrics],
    }
    return {
        "level": "WARNING" if found.standing.is_breach else "INFO",
        "message": "freshness",
        "domain": product.domain or "unknown",
        "product": product.identity.fqn,
        "pipeline": product.pipeline,
        "owner": product.owner,
        "standing": found.standing.value,
        "sla": product.sla,
        "publishedAt": None if publish is None else utc_text(publish.at),
        "runId": None if publish is None else publish.run_id,
        "blockedSince": None if blocked_since is None else utc_text(blocked_since),
        "cause": found.cause if found.standing.is_breach else None,
        "told": told,
        **metrics,
        "_aws": {"Timestamp": int(found.now.timestamp() * 1000), "CloudWatchMetrics": [directive]},
    }
