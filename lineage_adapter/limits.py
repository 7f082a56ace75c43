"""What DataZone accepts, checked before it is asked: botocore checks none of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lineage_adapter.errors import EventIncomplete, EventSkipped, EventTooLarge

__all__ = ["MAX_EVENT_BYTES", "check_run_event", "check_size"]

#: Bytes of UTF-8, not characters (API reference, PostLineageEvent, `event`).
MAX_EVENT_BYTES = 300_000

#: What identifies a run event; OpenLineage requires each of them.
_REQUIRED = ("eventTime", "producer", "run.runId", "job.namespace", "job.name")


def check_size(body: bytes) -> None:
    """Raises EventTooLarge for a body of more than 300,000 bytes."""
    if len(body) > MAX_EVENT_BYTES:
        raise EventTooLarge(
            f"the event is {len(body):,} bytes of UTF-8, DataZone takes at most {MAX_EVENT_BYTES:,}; "
            "the emitter must leave facets out, the adapter trims nothing"
        )


def check_run_event(event: Mapping[str, Any]) -> None:
    """Raises EventSkipped for another kind of event, EventIncomplete for a run event that identifies no run."""
    kind = _kind(event)
    if kind in {"DatasetEvent", "JobEvent"}:
        raise EventSkipped(f"a {kind} is not handed on: DataZone takes OpenLineage run events only")
    if kind != "RunEvent":
        raise EventIncomplete("neither run, job nor dataset: this is no OpenLineage event")
    missing = [path for path in _REQUIRED if not _text_at(event, path)]
    if missing:
        raise EventIncomplete(f"a run event without {', '.join(missing)}; OpenLineage requires each as text")


def _kind(event: Mapping[str, Any]) -> str:
    """The kind that schemaURL names, else the one that the event's own members show; empty for none."""
    schema = event.get("schemaURL")
    named = schema.rpartition("/")[2] if isinstance(schema, str) else ""
    if named in {"RunEvent", "DatasetEvent", "JobEvent"}:
        return named
    members = (("run", "RunEvent"), ("eventType", "RunEvent"), ("dataset", "DatasetEvent"), ("job", "JobEvent"))
    return next((kind for member, kind in members if member in event), "")


def _text_at(event: Mapping[str, Any], path: str) -> bool:
    """Whether a non-empty string stands at this dotted path."""
    value: Any = event
    for member in path.split("."):
        value = value.get(member) if isinstance(value, Mapping) else None
    return isinstance(value, str) and value != ""
