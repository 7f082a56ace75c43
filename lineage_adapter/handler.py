"""The Lambda's entry point: one request of API Gateway's HTTP API, one event, one answer.

The answer's body is `{"status", "id", "clientToken", "reason"}`. `status` is one of

- `accepted` (200): DataZone has the event under `id`; whether it processes it shows later, at GetLineageEvent;
- `duplicate` (200): DataZone had it already;
- `skipped` (422): a DatasetEvent or JobEvent;
- `refused` (400, 402, 413, 415, 422): final, `reason` says why;
- `unavailable` (429, 503, with Retry-After): send the same bytes again;
- `misconfigured` (500): the deployment must be mended, then the same bytes sent again;
- `failed` (500): a fault of the adapter's own.
"""

from __future__ import annotations

import os
import time
import traceback
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from lineage_adapter.errors import AdapterError, Unavailable
from lineage_adapter.event import RunEvent, parse
from lineage_adapter.gateway import read_body, response
from lineage_adapter.limits import check_size
from lineage_adapter.log import log_line
from lineage_adapter.settings import settings_from
from lineage_adapter.sink import Receipt, Sink, datazone_sink

__all__ = ["handler", "sink"]

#: Seconds that one request may take; the Lambda's timeout and every emitter's must be longer.
REQUEST_SECONDS = 9.0
#: Seconds kept back of the Lambda's remaining time, for the answer and the log.
ANSWER_SECONDS = 0.5
#: Seconds; what an emitter is told to wait.
RETRY_AFTER = 2


@cache
def sink() -> Sink:
    """DataZone, connected once a process at its first request; a wrong setting is reported at every request."""
    return datazone_sink(settings_from(os.environ))


def handler(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
    """Answers one HTTP API request (payload format 2.0) whose body is an OpenLineage run event."""
    started = time.monotonic()
    body: bytes | None = None
    run_event: RunEvent | None = None
    outcome: Receipt | AdapterError
    try:
        body = read_body(event)
        run_event = parse(body)
        check_size(body)  # after parsing, so that the log names the run whose event is too large
        outcome = sink().post(run_event, _seconds_left(context))
    except AdapterError as error:
        outcome = error
    except Exception as error:  # the boundary: no emitter sees a traceback, and no log the payload in one
        outcome = AdapterError(f"the adapter failed: {type(error).__name__} at {_place(error)}")
    _log(outcome, body, run_event, context, time.monotonic() - started)
    return _answer(outcome, run_event)


def _place(error: Exception) -> str:
    """The line of code that failed; the error's own text may quote the payload."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{Path(last.filename).name}:{last.lineno}"


def _seconds_left(context: Any) -> float:
    remaining = getattr(context, "get_remaining_time_in_millis", None)
    if remaining is None:
        return REQUEST_SECONDS
    return min(REQUEST_SECONDS, float(remaining()) / 1000 - ANSWER_SECONDS)


def _answer(outcome: Receipt | AdapterError, run_event: RunEvent | None) -> dict[str, Any]:
    accepted = isinstance(outcome, Receipt)
    answer = {
        "status": outcome.status,
        "id": outcome.id if isinstance(outcome, Receipt) else None,
        "clientToken": run_event.client_token if run_event else None,
        "reason": None if accepted else str(outcome),
    }
    code = 200 if isinstance(outcome, Receipt) else outcome.http
    return response(code, answer, RETRY_AFTER if isinstance(outcome, Unavailable) else None)


def _log(
    outcome: Receipt | AdapterError, body: bytes | None, run_event: RunEvent | None, context: Any, seconds: float
) -> None:
    receipt = outcome if isinstance(outcome, Receipt) else None
    error = outcome if isinstance(outcome, AdapterError) else None
    log_line(
        level="INFO" if receipt else "WARNING" if error and error.http < 500 else "ERROR",
        message="lineage event",
        status=outcome.status,
        id=receipt.id if receipt else None,
        clientToken=run_event.client_token if run_event else None,
        runId=run_event.run_id if run_event else None,
        eventType=run_event.event_type if run_event else None,
        job=f"{run_event.job_namespace}.{run_event.job_name}" if run_event else None,
        bytes=len(body) if body is not None else None,
        attempts=receipt.attempts if receipt else None,
        milliseconds=round(seconds * 1000),
        reason=str(error) if error else None,
        requestId=getattr(context, "aws_request_id", None),
    )
