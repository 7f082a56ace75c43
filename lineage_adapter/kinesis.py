"""The Lambda's entry point for a Kinesis stream: a batch of records, one event each.

Lambda takes the lowest sequence number that is reported as failed and replays everything from there. So a record
that can never be accepted is put among the dead letters and counts as done; only what may be accepted later is
reported. The client token makes the replay of accepted records harmless.

Behind the first failure of a batch refused records are left alone: the replay brings them again, and each becomes one
dead letter, not one a replay. A record that cannot be delivered for `LINEAGE_GIVE_UP_SECONDS` becomes a dead letter
too: a stream keeps its records for a time only, and Lambda's own on-failure queue is given no payload.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from lineage_adapter.callers import Caller
from lineage_adapter.deployment import dead_letters, seconds_left, settings, sink
from lineage_adapter.errors import AdapterError, ConfigurationError, Refused
from lineage_adapter.log import log_line, log_outcome
from lineage_adapter.sink import ATTEMPT_SECONDS
from lineage_adapter.submission import Outcome, Wire, fault, judge, keep

__all__ = ["handler"]

#: Seconds that one record may take, of those that Lambda leaves.
RECORD_SECONDS = 20.0
#: Seconds kept back of the Lambda's remaining time: for a dead letter and the answer.
SPARE_SECONDS = 6.0
#: So many failures in one batch are DataZone's trouble, not a record's: the rest waits for the replay.
MOST_FAILURES = 3


def handler(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
    """Takes one batch of a stream; returns the partial-batch response (ReportBatchItemFailures)."""
    failed: list[str] = []
    for record in event["Records"]:
        number = record["kinesis"]["sequenceNumber"]
        left = seconds_left(context, RECORD_SECONDS, SPARE_SECONDS)
        if left < ATTEMPT_SECONDS or len(failed) == MOST_FAILURES:
            failed.append(number)
            log_line(level="WARNING", message="lineage batch ended early", record=number, secondsLeft=round(left, 1))
            break
        if not _is_done(record, left, context, behind_a_failure=bool(failed)):
            failed.append(number)
    return {"batchItemFailures": [{"itemIdentifier": min(failed, key=int)}] if failed else []}


def _is_done(record: Mapping[str, Any], seconds: float, context: Any, *, behind_a_failure: bool) -> bool:
    """Whether this record needs no replay of its own."""
    wire = Wire.from_base64(record["kinesis"]["data"])
    outcome = _judge(record, wire, seconds)
    if isinstance(outcome.error, Refused) and behind_a_failure:
        return True  # the replay judges it again, and logs it
    outcome = keep(outcome, wire, dead_letters, always=_is_given_up(record))
    log_outcome(outcome, entry="kinesis", context=context, record=record["kinesis"]["sequenceNumber"])
    return outcome.is_done


def _judge(record: Mapping[str, Any], wire: Wire, seconds: float) -> Outcome:
    try:
        return judge(wire, _caller(record), sink(), seconds)
    except AdapterError as error:
        return Outcome(error=error)
    except Exception as error:  # the boundary: one record's fault must not throw away the whole batch's answer
        return Outcome(error=fault(error))


def _caller(record: Mapping[str, Any]) -> Caller:
    """The stream speaks for its producers: who may put records into it is IAM's to say."""
    stream = str(record["eventSourceARN"])
    principals = settings().principals
    if stream not in principals:
        raise ConfigurationError(f"{stream} belongs to no domain; list it in the adapter's LINEAGE_CALLERS")
    return Caller(stream, principals[stream], "kinesis")


def _is_given_up(record: Mapping[str, Any]) -> bool:
    """Whether the record waits for longer than the deployment lets it; never while that cannot be read."""
    arrived = record["kinesis"].get("approximateArrivalTimestamp")
    try:
        return arrived is not None and time.time() - float(arrived) > settings().give_up_seconds
    except ConfigurationError:
        return False
