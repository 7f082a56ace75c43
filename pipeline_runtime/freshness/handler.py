"""The Lambda's entry point, for a schedule: every product of the account is looked at once.

CORDATA_EVIDENCE            as the jobs have it
CORDATA_OWNER_TOPIC         the topic that owners are told by
CORDATA_FRESHNESS_DOMAIN    look at this domain's products only
CORDATA_FRESHNESS_PRODUCTS  products that are declared, so that one which was never published is known: a JSON list

Writes a line a product in CloudWatch's embedded metric format and answers with what was found,
`{"products": [{"product", "standing", "told"}]}`. What cannot be judged or told stops nothing; the call fails at its
end, so that the Lambda's alarm hears of it. The next one tells what this one could not.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from typing import Any

from botocore.exceptions import BotoCoreError

from pipeline_runtime.errors import PipelineError
from pipeline_runtime.freshness.check import Watch
from pipeline_runtime.freshness.metrics import metric_line
from pipeline_runtime.freshness.settings import open_watch

__all__ = ["FreshnessFailed", "handler"]


class FreshnessFailed(Exception):
    """Some products could not be judged, or some owners not told; the next call tries again."""


def handler(event: Mapping[str, Any], context: Any) -> dict[str, Any]:  # noqa: ARG001 - Lambda's signature
    """Looks at every product. Raises FreshnessFailed, ConfigurationError."""
    try:
        report = _watch().look(datetime.now(UTC))
    except (PipelineError, BotoCoreError) as error:
        raise FreshnessFailed(str(error)) from error
    for each in report.products:
        sys.stdout.write(json.dumps(metric_line(each.found, each.told), ensure_ascii=False) + "\n")
    sys.stdout.flush()
    if report.problems:
        raise FreshnessFailed("; ".join(report.problems))
    return {
        "products": [
            {
                "product": each.found.product.identity.fqn,
                "standing": each.found.standing.value,
                "told": each.told is not None,
            }
            for each in report.products
        ]
    }


@cache
def _watch() -> Watch:
    """Made once a process, at its first event; a wrong setting is reported at every event."""
    return open_watch(os.environ)
