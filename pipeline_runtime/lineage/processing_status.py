"""Whether DataZone has processed a run's events: accepted is not processed.

DataZone takes an event at once and works on it later (`processingStatus`: REQUESTED, PROCESSING, SUCCESS, FAILED; API
reference, GetLineageEvent). Its API gives no reason for FAILED, and lists events by time only: a run's are found by the
ids in the receipts of their delivery, else by looking through the events of a time span.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Any, Protocol

from pipeline_runtime.evidence.runs import EventKind, RunEvidence, events_by_run

__all__ = ["EventStatus", "LineageReader", "Progress", "node_of", "progress_of", "seen_in", "stored_of"]

#: An event's time in DataZone is kept in whole seconds; the search allows for that.
_AROUND = timedelta(seconds=2)
_EVENT_ID = re.compile(r"[a-z0-9]{14}")


class Progress(str, Enum):
    """How far an event, or a run as a whole, has come."""

    PROCESSED = "processed"
    PENDING = "pending"
    FAILED = "failed"
    NOT_DELIVERED = "not delivered"


_PROGRESS = {
    "SUCCESS": Progress.PROCESSED,
    "FAILED": Progress.FAILED,
    "REQUESTED": Progress.PENDING,
    "PROCESSING": Progress.PENDING,
}


@dataclass(frozen=True)
class EventStatus:
    """One event: its `event_type` (START, COMPLETE, …), how far it came, DataZone's id, and why where it failed."""

    event_type: str
    progress: Progress
    id: str | None = None
    reason: str | None = None


class LineageReader(Protocol):
    """What is asked of boto3's `datazone` client."""

    def get_lineage_event(self, *, domainIdentifier: str, identifier: str) -> dict[str, Any]: ...  # noqa: N803

    def get_lineage_node(self, *, domainIdentifier: str, identifier: str) -> dict[str, Any]: ...  # noqa: N803

    def get_paginator(self, name: str) -> Any: ...


@dataclass(frozen=True)
class _Stored:
    event_type: str
    time: datetime
    job: str


def stored_of(evidence: RunEvidence, client: LineageReader, domain_id: str) -> tuple[EventStatus, ...]:
    """The status of every event that the evidence prefix holds of a run, in the order the run sent them.

    Raises EvidenceFailed, and botocore's errors where DataZone cannot be asked.
    """
    events = events_by_run(evidence.store, [evidence.run_id]).get(evidence.run_id)
    return tuple(_stored_status(evidence, kind, client, domain_id) for kind in (events.stored if events else ()))


def seen_in(
    client: LineageReader, domain_id: str, run_id: str, since: datetime, until: datetime
) -> tuple[EventStatus, ...]:
    """The status of the run's events that happened from `since` to `until`, oldest first.

    Looks through every event of that time: DataZone cannot filter by run.
    """
    found = _listed(client, domain_id, run_id, since, until)
    return tuple(_status(str(summary["eventType"]), item["processingStatus"], item["id"]) for item, summary in found)


def progress_of(statuses: Iterable[EventStatus]) -> Progress:
    """The run's as a whole: what needs a person comes before what needs time."""
    order = (Progress.FAILED, Progress.NOT_DELIVERED, Progress.PENDING, Progress.PROCESSED)
    known = {status.progress for status in statuses}
    return next((progress for progress in order if progress in known), Progress.NOT_DELIVERED)


def node_of(evidence: RunEvidence, client: LineageReader, domain_id: str) -> str | None:
    """The id of the run's node in DataZone's lineage, None where there is none (yet)."""
    body = evidence.event(EventKind.TERMINAL) or evidence.event(EventKind.START)
    if body is None:
        return None
    try:
        node = client.get_lineage_node(domainIdentifier=domain_id, identifier=f"{_read(body).job}/{evidence.run_id}")
    except Exception as error:
        if _code(error) == "ResourceNotFoundException":
            return None
        raise
    return str(node["id"])


def _stored_status(evidence: RunEvidence, kind: EventKind, client: LineageReader, domain_id: str) -> EventStatus:
    event = _read(evidence.event(kind) or b"{}")
    receipt = evidence.receipt(kind)
    if receipt is None:
        parked = evidence.parked(kind)
        remedy = f"run `python -m pipeline_runtime replay {evidence.run_id}`"
        return EventStatus(event.event_type, Progress.NOT_DELIVERED, reason=parked or remedy)
    if receipt.id is not None and not _EVENT_ID.fullmatch(receipt.id):
        reason = f"it was delivered to {receipt.destination}, whose id {receipt.id!r} is none of DataZone's"
        return EventStatus(event.event_type, Progress.FAILED, receipt.id, reason)
    if receipt.id is not None:
        try:
            answer = client.get_lineage_event(domainIdentifier=domain_id, identifier=receipt.id)
        except Exception as error:
            if _code(error) != "ResourceNotFoundException":
                raise
            reason = f"{domain_id} has no event {receipt.id}; is it the domain that the adapter posts to?"
            return EventStatus(event.event_type, Progress.FAILED, receipt.id, reason)
        return _status(event.event_type, answer["processingStatus"], receipt.id)
    # Whoever accepted a duplicate gave no id: the event is in DataZone under an earlier delivery's.
    around = (event.time - _AROUND, event.time + _AROUND)
    for item, summary in _listed(client, domain_id, evidence.run_id, *around):
        job = f"{summary['job']['namespace']}.{summary['job']['name']}"
        if (summary["eventType"], job) == (event.event_type, event.job):
            return _status(event.event_type, item["processingStatus"], item["id"])
    reason = f"it was delivered to {receipt.destination}, and {domain_id} does not list it"
    return EventStatus(event.event_type, Progress.FAILED, reason=reason)


def _status(event_type: str, processing: str, identifier: str) -> EventStatus:
    progress = _PROGRESS.get(processing, Progress.PENDING)
    reason = None
    if progress is Progress.FAILED:
        reason = "DataZone took the event and could not process it; its API tells no reason"
    return EventStatus(event_type, progress, identifier, reason)


def _listed(
    client: LineageReader, domain_id: str, run_id: str, since: datetime, until: datetime
) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """The listed events of a run with their OpenLineage summaries, oldest first."""
    pages = client.get_paginator("list_lineage_events").paginate(
        domainIdentifier=domain_id, timestampAfter=since, timestampBefore=until, sortOrder="ASCENDING"
    )
    for page in pages:
        for item in page["items"]:
            summary = item.get("eventSummary", {}).get("openLineageRunEventSummary", {})
            if summary.get("runId") == run_id:
                yield item, summary


def _read(body: bytes) -> _Stored:
    event = json.loads(body)
    time = datetime.fromisoformat(event["eventTime"])
    job = f"{event['job']['namespace']}.{event['job']['name']}"
    return _Stored(str(event.get("eventType", "OTHER")), time if time.tzinfo else time.replace(tzinfo=UTC), job)


def _code(error: Exception) -> str:
    """AWS's own code of a botocore error, empty for any other: this module does without botocore."""
    response = getattr(error, "response", None)
    return str(response.get("Error", {}).get("Code", "")) if isinstance(response, dict) else ""
