"""The run event inside a body: read to be judged and named, never to be written again."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from lineage_adapter.errors import EventMalformed
from lineage_adapter.limits import check_run_event
from lineage_adapter.token import client_token

__all__ = ["RunEvent", "parse"]


@dataclass(frozen=True)
class RunEvent:
    """One run event: the bytes as they came, the token they are posted under, and what a log may say of them."""

    body: bytes
    client_token: str
    event_type: str
    run_id: str
    job_namespace: str
    job_name: str


def parse(body: bytes) -> RunEvent:
    """The run event that `body` holds, whatever its size; raises a Refused where there is none."""
    event = _json_object(body)
    check_run_event(event)
    event_type = event.get("eventType")
    return RunEvent(
        body=body,
        client_token=client_token(event),
        event_type=event_type if isinstance(event_type, str) else "",
        run_id=event["run"]["runId"],
        job_namespace=event["job"]["namespace"],
        job_name=event["job"]["name"],
    )


def _json_object(body: bytes) -> dict[str, Any]:
    try:
        # Decoded first: json.loads would take UTF-16 and UTF-32 bytes too.
        event = json.loads(body.decode("utf-8"), object_pairs_hook=_unique, parse_constant=_no_constant)
    except UnicodeDecodeError as error:
        raise EventMalformed(f"the body is not UTF-8: byte {error.start} cannot be decoded") from None
    except json.JSONDecodeError as error:
        raise EventMalformed(f"the body is not JSON: {error.msg} at byte {_offset(error)}") from None
    except RecursionError:
        raise EventMalformed("the body is not usable JSON: its values are nested too deeply") from None
    except ValueError as error:
        raise EventMalformed(f"the body is not usable JSON: {error}") from None
    if not isinstance(event, dict):
        raise EventMalformed("the body is JSON, but not one object; post one event a request")
    return event


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object; with a key twice, readers disagree on what the event says, and its token would hide one value."""
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("an object holds the same key twice")
    return members


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON number")


def _offset(error: json.JSONDecodeError) -> int:
    return len(error.doc[: error.pos].encode("utf-8"))
