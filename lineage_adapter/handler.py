"""The Lambda's entry point for HTTP: one request of API Gateway, one event, one answer.

The answer's body is `{"status", "id", "clientToken", "reason", "deadLetter"}`. `status` is one of

- `accepted` (200): DataZone has the event under `id`; whether it processes it shows later, at GetLineageEvent;
- `duplicate` (200): DataZone had it already;
- `skipped` (422): a DatasetEvent or JobEvent;
- `refused` (400, 401, 402, 403, 413, 415, 422): final, `reason` says why;
- `unavailable` (429, 503, with Retry-After): send the same bytes again;
- `misconfigured` (500): the deployment must be mended, then the same bytes sent again;
- `failed` (500): a fault of the adapter's own.

What is skipped or refused is kept as a dead letter, and `deadLetter` names it. Of a key's holder everything that is
not accepted is kept: such emitters try a few times and forget, the executor keeps its events itself.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from lineage_adapter.deployment import dead_letters, seconds_left, settings, sink
from lineage_adapter.errors import AdapterError, BodyUnreadable, Unavailable
from lineage_adapter.gateway import read_caller, read_wire, response
from lineage_adapter.log import log_outcome
from lineage_adapter.submission import Outcome, fault, judge, keep

__all__ = ["handler"]

#: Seconds that one request may take; the Lambda's timeout and every emitter's must be longer.
REQUEST_SECONDS = 9.0
#: Seconds kept back of the Lambda's remaining time, for the answer and the log.
ANSWER_SECONDS = 0.5
#: Seconds; what an emitter is told to wait.
RETRY_AFTER = 2


def handler(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
    """Answers one API Gateway request whose body is an OpenLineage run event."""
    started = time.monotonic()
    outcome = Outcome()
    try:
        outcome = _submit(event, context)
    except AdapterError as error:
        outcome = replace(outcome, error=error, seconds=time.monotonic() - started)
    except Exception as error:  # the boundary, as in `judge`
        outcome = replace(outcome, error=fault(error), seconds=time.monotonic() - started)
    log_outcome(outcome, entry=outcome.caller.entry if outcome.caller else "unknown", context=context)
    return _answer(outcome)


def _submit(request: Mapping[str, Any], context: Any) -> Outcome:
    caller = read_caller(request, settings().principals)
    try:
        wire = read_wire(request)
    except BodyUnreadable as error:  # nothing came: there is nothing to keep
        return Outcome(caller, error=error)
    outcome = judge(wire, caller, sink(), seconds_left(context, REQUEST_SECONDS, ANSWER_SECONDS))
    return keep(outcome, wire, dead_letters, always=caller.entry == "key")


def _answer(outcome: Outcome) -> dict[str, Any]:
    receipt, error = outcome.receipt, outcome.error
    answer = {
        "status": outcome.status,
        "id": receipt.id if receipt else None,
        "clientToken": outcome.event.client_token if outcome.event else None,
        "reason": str(error) if error else None,
        "deadLetter": outcome.letter,
    }
    code = error.http if error else 200
    return response(code, answer, RETRY_AFTER if isinstance(error, Unavailable) else None)
