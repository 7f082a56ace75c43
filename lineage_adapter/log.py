"""One line of JSON an event, on standard output, where Lambda takes it to CloudWatch Logs as it is.

The line is the log and the metrics in one (CloudWatch's embedded metric format): `_aws` names the members that
CloudWatch makes metrics of, in the namespace Cordata/LineageAdapter, for the service as a whole and by entry.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

from lineage_adapter.errors import EventTooLarge
from lineage_adapter.submission import Outcome

__all__ = ["log_line", "log_outcome"]

#: Characters; a log line names things, it does not carry an emitter's text.
_LONGEST = 500
_SERVICE = "lineage-adapter"

_COUNTS = ("Accepted", "Duplicate", "Refused", "Skipped", "TooLarge", "Unavailable", "DeadLettered")
#: An outcome's status → the metric that counts it. A fault and a wrong setting are unavailability to who sends.
_METRICS = {
    "accepted": "Accepted",
    "duplicate": "Duplicate",
    "refused": "Refused",
    "skipped": "Skipped",
    "unavailable": "Unavailable",
    "misconfigured": "Unavailable",
    "failed": "Unavailable",
}


def log_outcome(outcome: Outcome, *, entry: str, context: Any = None, record: str | None = None) -> None:
    """The line of one event. `record` is the sequence number of a stream's record."""
    event, receipt, error = outcome.event, outcome.receipt, outcome.error
    milliseconds = round(outcome.seconds * 1000)
    log_line(
        level="INFO" if receipt else "WARNING" if error and error.http < 500 else "ERROR",
        message="lineage event",
        status=outcome.status,
        id=receipt.id if receipt else None,
        clientToken=event.client_token if event else None,
        runId=event.run_id if event else None,
        eventType=event.event_type if event else None,
        job=f"{event.job_namespace}.{event.job_name}" if event else None,
        caller=outcome.caller.name if outcome.caller else None,
        bytes=outcome.size,
        attempts=receipt.attempts if receipt else None,
        error=type(error).__name__ if error else None,
        reason=str(error) if error else None,
        deadLetter=outcome.letter,
        record=record,
        requestId=getattr(context, "aws_request_id", None),
        **_metrics(outcome, entry, milliseconds),
    )


def log_line(**facts: Any) -> None:
    """Writes the facts that are known (not None) as one line; long text is cut."""
    known = {key: value for key, value in facts.items() if value is not None}
    line = {key: value[:_LONGEST] if isinstance(value, str) else value for key, value in known.items()}
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def _metrics(outcome: Outcome, entry: str, milliseconds: int) -> dict[str, Any]:
    """Every count is there in every line, 0 or 1, so that an alarm is never without data while events come."""
    counts = dict.fromkeys(_COUNTS, 0)
    counts[_METRICS[outcome.status]] = 1
    counts["TooLarge"] = int(isinstance(outcome.error, EventTooLarge))
    counts["DeadLettered"] = int(outcome.letter is not None)
    directive = {
        "Namespace": "Cordata/LineageAdapter",
        "Dimensions": [["service"], ["service", "entry"]],
        "Metrics": [
            *({"Name": name, "Unit": "Count"} for name in _COUNTS),
            {"Name": "Latency", "Unit": "Milliseconds"},
        ],
    }
    embedded = {"Timestamp": time.time_ns() // 1_000_000, "CloudWatchMetrics": [directive]}
    return {"service": _SERVICE, "entry": entry, **counts, "Latency": milliseconds, "_aws": embedded}
