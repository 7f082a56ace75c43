"""The state behind the DataZone fake: domains, accepted events, their processing. No HTTP in here."""

from __future__ import annotations

import json
import random
import re
import time
import uuid
from collections import deque
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sandbox.fakes.datazone_nodes import Caller, LineageGraph

__all__ = ["DOMAIN_ID", "ERROR_STATUS", "Accepted", "AwsError", "Failure", "Store", "seconds_since_1970"]

#: The domain that exists from the start.
DOMAIN_ID = "dzd_sandbox"

MAX_EVENT_BYTES = 300_000
RUN_STATES = {"START", "RUNNING", "COMPLETE", "ABORT", "FAIL", "OTHER"}
ERROR_STATUS = {
    "ValidationException": 400,
    "UnauthorizedException": 401,
    "ServiceQuotaExceededException": 402,
    "AccessDeniedException": 403,
    "ResourceNotFoundException": 404,
    "ConflictException": 409,
    "ThrottlingException": 429,
    "InternalServerException": 500,
}


class AwsError(Exception):
    """An error as AWS answers it; `code` is a key of ERROR_STATUS."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass
class Accepted:
    """One accepted event. `time` is the event's own, `received` the fake's, both in seconds since 1970."""

    id: str
    domain_id: str
    token: str | None
    body: bytes
    event: dict[str, Any]
    time: float
    received: float
    caller: Caller
    outcome: str
    looks: int = 0
    processed: bool = False

    @property
    def status(self) -> str:
        return self.outcome if self.processed else "PROCESSING"


@dataclass(frozen=True)
class Failure:
    """What is to go wrong with one post: an error code, or only a late answer."""

    error: str | None = None
    after_accepting: bool = False
    seconds: float = 0.0


class Store:
    """Not thread-safe: its owner lets one request in at a time."""

    def __init__(self, polls: int, seconds: float) -> None:
        self.polls = polls
        self.seconds = seconds
        self.fail_next = 0
        self.failures: deque[Failure] = deque()
        self._often, self._rate, self._draw = Failure(), 0.0, random.Random(0)
        self.events: dict[str, Accepted] = {}
        self.graphs: dict[str, LineageGraph] = {DOMAIN_ID: LineageGraph()}
        self._tokens: dict[tuple[str, str], Accepted] = {}

    def fail_often(self, failure: Failure, rate: float, seed: int) -> None:
        """Lets `rate` of all further posts (0 to 1) fail so, by a reproducible draw."""
        self._often, self._rate, self._draw = failure, rate, random.Random(seed)

    def next_failure(self) -> Failure:
        """What is to go wrong with the post that comes now."""
        if self.failures:
            return self.failures.popleft()
        return self._often if self._rate and self._draw.random() < self._rate else Failure()

    def graph(self, domain_id: str) -> LineageGraph:
        """The lineage of a domain; raises AwsError for an id that is malformed or unknown."""
        if not re.fullmatch(r"dzd[-_][a-zA-Z0-9_-]{1,36}", domain_id):
            raise AwsError("ValidationException", "domainIdentifier must match dzd[-_][a-zA-Z0-9_-]{1,36}")
        if domain_id not in self.graphs:
            raise AwsError("ResourceNotFoundException", f"domain {domain_id} does not exist")
        return self.graphs[domain_id]

    def accept(self, domain_id: str, body: bytes, token: str | None, caller: Caller) -> Accepted:
        """Takes an event, or finds the one that the token stands for."""
        self.graph(domain_id)
        if token is not None and not re.fullmatch(r"[\x21-\x7E]{1,128}", token):
            raise AwsError("ValidationException", "clientToken must be 1 to 128 characters of [\\x21-\\x7E]")
        if len(body) > MAX_EVENT_BYTES:
            raise AwsError("ValidationException", f"event must be at most {MAX_EVENT_BYTES} bytes, it is {len(body)}")
        event, when = _run_event(body)
        known = self._tokens.get((domain_id, token)) if token else None
        if known is not None:
            if known.body != body:
                raise AwsError("ConflictException", "clientToken was used with another event")
            return known
        outcome = "FAILED" if self.fail_next > 0 else "SUCCESS"
        self.fail_next = max(0, self.fail_next - 1)
        event_id = uuid.uuid4().hex[:14]
        accepted = Accepted(event_id, domain_id, token, body, event, when, time.time(), caller, outcome)
        self.events[event_id] = accepted
        if token:
            self._tokens[domain_id, token] = accepted
        return accepted

    def events_of(self, domain_id: str) -> list[Accepted]:
        """A domain's events, in the order they came."""
        return [each for each in self.events.values() if each.domain_id == domain_id]

    def look(self, domain_id: str) -> None:
        """Counts one look at the domain and processes the events whose time has come."""
        self.graph(domain_id)
        for each in self.events_of(domain_id):
            each.looks += 1
            if each.looks > self.polls and time.time() >= each.received + self.seconds:
                self.process(each)

    def process(self, each: Accepted) -> None:
        """Ends an event's processing; only a success makes nodes."""
        if not each.processed and each.outcome == "SUCCESS":
            self.graphs[each.domain_id].add(each.event, each.time, each.caller)
        each.processed = True


def seconds_since_1970(timestamp: str) -> float:
    """An ISO 8601 time as a number; without an offset it is UTC."""
    when = datetime.fromisoformat(timestamp)
    return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()


def _run_event(body: bytes) -> tuple[dict[str, Any], float]:
    """The run event and its own time; raises ValidationException for anything else."""
    try:
        event = json.loads(body.decode("utf-8"))
        if not event["schemaURL"].endswith("/RunEvent"):
            raise ValueError("schemaURL is not that of a RunEvent")
        if event.get("eventType") not in {None, *RUN_STATES}:
            raise ValueError(f"eventType must be one of {', '.join(sorted(RUN_STATES))}")
        named = [event["job"], *(event.get("inputs") or []), *(event.get("outputs") or [])]
        names = [each[key] for each in named for key in ("namespace", "name")]
        if not all(isinstance(text, str) and text for text in (event["producer"], event["run"]["runId"], *names)):
            raise ValueError("producer, run id, namespaces and names must be text")
        return event, seconds_since_1970(event["eventTime"])
    except KeyError as error:
        raise AwsError("ValidationException", f"not an OpenLineage run event: {error} is missing") from None
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise AwsError("ValidationException", f"not an OpenLineage run event: {error}") from None
