"""Reads of one table, out of AWS's own logs, a record at a time.

Three records of a read are understood:
- CloudTrail, `GetDataAccess` of Lake Formation: whoever was lent credentials for the table, by an engine's name;
- CloudTrail, S3 data events (`GetObject`): who fetched an object below the table's location;
- S3 server access logs (`REST.GET.OBJECT`): the same, as the bucket writes it down.
https://docs.aws.amazon.com/lake-formation/latest/dg/logging-using-cloudtrail.html
https://docs.aws.amazon.com/AmazonS3/latest/userguide/LogFormat.html
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from typing import Any
from urllib.parse import unquote

__all__ = ["Access", "Kind", "Place", "Record", "names_of", "normal_principal", "records_of"]

#: The session of credentials that Lake Formation lent: of the role that the location is registered with.
_LENT = re.compile(r":assumed-role/[^/]+/(AWSLF-[^/]+)$")
_ASSUMED = re.compile(r"^arn:([^:]+):sts::(\d+):assumed-role/([^/]+)(?:/.*)?$")
_ROLE = re.compile(r"^arn:([^:]+):iam::(\d+):role/(?:.*/)?([^/]+)$")
_ACCESS_LOG = re.compile(
    r"(?P<owner>\S+) (?P<bucket>\S+) \[(?P<time>[^\]]+)\] (?P<ip>\S+) (?P<requester>\S+) (?P<request_id>\S+) "
    r'(?P<operation>\S+) (?P<key>\S+) (?:".*?"|-) (?P<status>\d{3}|-) '
)
_ACCESS_LOG_START = re.compile(r"[0-9a-f]{64} \S+ \[\d{2}/\w{3}/\d{4}:")
_READS = frozenset({"GetObject", "SelectObjectContent"})


class Kind(str, Enum):
    """Which of the three records it is."""

    LAKE_FORMATION = "Lake Formation data access (CloudTrail)"
    S3_EVENT = "S3 data events (CloudTrail)"
    S3_LOG = "S3 server access logs"


@dataclass(frozen=True)
class Place:
    """The table: its names in lower case as `<database>.<table>`, and where its files lie, None where not known."""

    names: frozenset[str]
    bucket: str | None = None
    prefix: str = ""


@dataclass(frozen=True)
class Access:
    """One read. `principal` is an ARN where the log has one.

    `session` names credentials that Lake Formation lent, `role_id` the role that it lent them to.
    """

    principal: str
    session: str | None = None
    role_id: str | None = None


@dataclass(frozen=True)
class Record:
    """One record of a kind that could tell of a read; `access` is None where it tells of something else."""

    kind: Kind
    time: datetime
    access: Access | None = None


def records_of(content: str, place: Place) -> Iterator[Record]:
    """The records in a log file. Raises ValueError where the file is none of the three kinds, or is damaged."""
    if _ACCESS_LOG_START.match(content):
        yield from _server_log(content, place)
        return
    for event in _events(content):
        record = _of_event(event, place)
        if record is not None:
            yield record


def normal_principal(arn: str) -> str:
    """One ARN a role, whatever its session and path: logs name either."""
    assumed = _ASSUMED.match(arn)
    role = assumed or _ROLE.match(arn)
    return f"arn:{role[1]}:iam::{role[2]}:role/{role[3]}" if role else arn


def _server_log(content: str, place: Place) -> Iterator[Record]:
    for number, line in enumerate(content.splitlines(), 1):
        if not line.strip():
            continue
        found = _ACCESS_LOG.match(line)
        if found is None:
            raise ValueError(f"line {number} is no line of an S3 server access log")
        time = datetime.strptime(found["time"], "%d/%b/%Y:%H:%M:%S %z").astimezone(UTC)
        reads = found["operation"] == "REST.GET.OBJECT" and found["status"] in ("200", "206")
        inside = reads and found["bucket"] == place.bucket and _is_below(unquote(unquote(found["key"])), place)
        access = _by_requester(found["requester"]) if inside else None
        yield Record(Kind.S3_LOG, time, access)


def _by_requester(requester: str) -> Access:
    if requester == "-":
        return Access("anonymous")
    lent = _LENT.search(requester)
    return Access(normal_principal(requester), session=lent[1] if lent else None)


def _is_below(key: str, place: Place) -> bool:
    return not place.prefix or key.startswith(f"{place.prefix}/")


def _events(content: str) -> Iterator[Mapping[str, Any]]:
    """CloudTrail's own files hold one object with Records; exports hold one event a line."""
    try:
        whole = json.loads(content)
        events = whole.get("Records", [whole]) if isinstance(whole, dict) else whole
    except json.JSONDecodeError:
        events = [json.loads(line) for line in content.splitlines() if line.strip()]
    if not isinstance(events, list) or not all(isinstance(event, dict) for event in events):
        raise ValueError("is no CloudTrail log: a list of events under Records is expected")
    if any("eventSource" not in event for event in events):
        raise ValueError("is no CloudTrail log: an event has no eventSource")
    yield from events


def _of_event(event: Mapping[str, Any], place: Place) -> Record | None:
    source, name = event["eventSource"], event.get("eventName")
    if source == "lakeformation.amazonaws.com" and name == "GetDataAccess":
        kind, of = Kind.LAKE_FORMATION, _lent
    elif source == "s3.amazonaws.com" and event.get("eventCategory", "Data") == "Data":
        kind, of = Kind.S3_EVENT, _fetched
    else:
        return None
    time = datetime.fromisoformat(event["eventTime"]).astimezone(UTC)
    return Record(kind, time, of(event, place) if "errorCode" not in event else None)


def _lent(event: Mapping[str, Any], place: Place) -> Access | None:
    arn = str((event.get("requestParameters") or {}).get("tableArn", ""))
    if ".".join(arn.lower().partition(":table/")[2].split("/")) not in place.names:
        return None
    extra, who = event.get("additionalEventData") or {}, event.get("userIdentity") or {}
    # Another account's principal is an id only, unless that account lets its ARN be seen.
    principal = extra.get("lakeFormationPrincipal") or _named(who)
    role_id = str(who.get("principalId", "")).partition(":")[0] or None
    return Access(normal_principal(principal), extra.get("lakeFormationRoleSessionName"), role_id)


def _fetched(event: Mapping[str, Any], place: Place) -> Access | None:
    asked = event.get("requestParameters") or {}
    if event.get("eventName") not in _READS or place.bucket is None or asked.get("bucketName") != place.bucket:
        return None
    if not _is_below(str(asked.get("key", "")), place):
        return None
    who = event.get("userIdentity") or {}
    lent = _LENT.search(str(who.get("arn", "")))
    # From 2026 on Lake Formation can pass on whose role asked: V2.<account>.<role id>.
    identity = str((who.get("sessionContext") or {}).get("sourceIdentity", ""))
    role_id = identity.rpartition(".")[2] if lent and identity else None
    return Access(normal_principal(_named(who)), lent[1] if lent else None, role_id or None)


def _named(who: Mapping[str, Any]) -> str:
    issuer = ((who.get("sessionContext") or {}).get("sessionIssuer") or {}).get("arn")
    if arn := issuer or who.get("arn"):
        return str(arn)
    if service := who.get("invokedBy"):
        return str(service)
    known = [str(who[key]) for key in ("accountId", "principalId") if who.get(key)]
    return " ".join(known) or "unknown"


def names_of(table: str, aliases: Collection[str]) -> frozenset[str]:
    """The table's names in lower case."""
    return frozenset(name.lower() for name in (table, *aliases))
