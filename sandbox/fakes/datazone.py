"""Amazon DataZone's lineage operations, answered as AWS documents them. moto has none of them.

PostLineageEvent
    models the domain id's pattern (ValidationException) and its existence (ResourceNotFoundException);
    models the size limit: 300,000 *bytes* (ValidationException);
    models Client-Token: 1 to 128 characters of [\\x21-\\x7E], optional (ValidationException);
    models idempotency: the same token with the same body answers the same id, with another body it is a
    ConflictException; a token belongs to its domain, and never expires here (AWS says nothing of a time);
    models "only run events": a JSON object with eventTime, producer, schemaURL of a RunEvent, run.runId,
    job.namespace and job.name, datasets with namespace and name; all else is a ValidationException.
Processing
    models that accepted is not processed: an event is PROCESSING at first, then SUCCESS or FAILED. It ends after
    it was looked at `polls` times (by any read of its domain) and `seconds` have passed. Only SUCCESS makes nodes.
GetLineageEvent, ListLineageEvents
    model headers, body, status, paging (50 a page at most), time and status filters; none filters by run.
GetLineageNode
    models lookup by node id or source identifier, so a run is `<job namespace>.<job name>/<run id>`; which
    identifier a dataset gets is in `sandbox.fakes.datazone_nodes`. History (`timestamp`) and forms are left out.
Who calls
    the account is the access key where that has 12 digits, as in all of this sandbox; permissions are not modelled.

Test-only paths, unsigned, JSON in and out:
    GET  /fake/events      every accepted event in order: id, domainId, clientToken, status, account, body (text)
    GET  /fake/nodes       every node, with all pending events processed: id, type, name, sourceIdentifier, asset
                           (the linked asset's id or null), knownAs, upstream, downstream (source identifiers)
    POST /fake/assets      {"arns": [...]}: registers assets; GET lists them
    POST /fake/domains     {"ids": [...]}: further domains
    POST /fake/failures    {"error": "ThrottlingException", "times": 2}: the next posts fail so; with
                           "after_accepting": true the event is taken and only the answer lost; with "seconds": 9
                           and no "error" the answer is late; {"error": …, "rate": 0.1, "seed": 7} instead lets every
                           tenth post or so fail from now on, by a reproducible draw; a rate of 0 ends it
    POST /fake/processing  {"polls": 1, "seconds": 0, "fail_next": 0}: each optional
    POST /fake/reset       forget everything
"""

from __future__ import annotations

import json
import re
import threading
import time
import uuid
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from werkzeug.http import http_date
from werkzeug.wrappers import Request, Response

from sandbox.fakes.datazone_nodes import Caller, LineageGraph, Node
from sandbox.fakes.datazone_store import (
    DOMAIN_ID,
    ERROR_STATUS,
    Accepted,
    AwsError,
    Failure,
    Store,
    seconds_since_1970,
)

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

__all__ = ["DOMAIN_ID", "DataZoneFake"]

MAX_RESULTS = 50

_CREDENTIAL = re.compile(r"Credential=(?P<key>[^/,\s]+)/\d{8}/(?P<region>[^/]+)/datazone/aws4_request")


class DataZoneFake:
    """The WSGI application. Requests are answered one at a time; a late answer does not delay the others."""

    def __init__(self, polls: int = 1, seconds: float = 0.0) -> None:
        self._lock = threading.Lock()
        self._defaults = (polls, seconds)
        self.reset()

    def reset(self) -> None:
        """Forgets everything; the domain `DOMAIN_ID` remains."""
        self._store = Store(*self._defaults)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        request = Request(environ)
        try:
            answer = self._dispatch(request)
        except AwsError as error:
            answer = _json({"message": str(error)}, ERROR_STATUS[error.code])
            answer.headers["x-amzn-ErrorType"] = error.code
        answer.headers["x-amzn-RequestId"] = str(uuid.uuid4())
        return answer(environ, start_response)

    def _dispatch(self, request: Request) -> Response:
        for method, pattern, operation in self._routes():
            match = re.fullmatch(pattern, request.path)
            if match is None or request.method != method:
                continue
            arguments: tuple[Any, ...] = match.groups()
            if operation == self._post_lineage_event:
                failure = self._next_failure()
                time.sleep(failure.seconds)  # outside the lock
                arguments = (*arguments, failure)
            with self._lock:
                return operation(request, *arguments)
        raise AwsError("ValidationException", f"no such operation here: {request.method} {request.path}")

    def _routes(self) -> tuple[tuple[str, str, Callable[..., Response]], ...]:
        lineage = "/v2/domains/([^/]+)/lineage"
        return (
            ("POST", f"{lineage}/events", self._post_lineage_event),
            ("GET", f"{lineage}/events", self._list_lineage_events),
            ("GET", f"{lineage}/events/([^/]+)", self._get_lineage_event),
            ("GET", f"{lineage}/nodes/(.+)", self._get_lineage_node),
            ("GET", "/fake/events", self._fake_events),
            ("GET", "/fake/nodes", self._fake_nodes),
            ("GET", "/fake/assets", self._fake_assets),
            ("POST", "/fake/assets", self._fake_assets),
            ("POST", "/fake/domains", self._fake_domains),
            ("POST", "/fake/failures", self._fake_failures),
            ("POST", "/fake/processing", self._fake_processing),
            ("POST", "/fake/reset", self._fake_reset),
        )

    def _next_failure(self) -> Failure:
        with self._lock:
            return self._store.next_failure()

    # DataZone's operations

    def _post_lineage_event(self, request: Request, domain_id: str, failure: Failure) -> Response:
        if failure.error and not failure.after_accepting:
            raise AwsError(failure.error, "as the test asked")
        token = request.headers.get("Client-Token")
        accepted = self._store.accept(domain_id, request.get_data(), token, _caller(request))
        if failure.error:
            raise AwsError(failure.error, "as the test asked, after accepting the event")
        return _json({"id": accepted.id, "domainId": domain_id})

    def _get_lineage_event(self, _: Request, domain_id: str, event_id: str) -> Response:
        self._store.look(domain_id)
        if not re.fullmatch(r"[a-z0-9]{14}", event_id):
            raise AwsError("ValidationException", "identifier must match [a-z0-9]{14}")
        found = self._store.events.get(event_id)
        if found is None or found.domain_id != domain_id:
            raise AwsError("ResourceNotFoundException", f"no lineage event {event_id} in domain {domain_id}")
        headers = {
            "Id": found.id,
            "Domain-Id": domain_id,
            "Created-By": found.caller.account,
            "Processing-Status": found.status,
            "Event-Time": http_date(found.time),
            "Created-At": http_date(found.received),
        }
        return Response(found.body, 200, headers, content_type="application/octet-stream")

    def _list_lineage_events(self, request: Request, domain_id: str) -> Response:
        self._store.look(domain_id)
        query = request.args
        size = query.get("maxResults", MAX_RESULTS, type=int)
        if not 1 <= size <= MAX_RESULTS:
            raise AwsError("ValidationException", f"maxResults must be from 1 to {MAX_RESULTS}")
        after = seconds_since_1970(query["timestampAfter"]) if "timestampAfter" in query else float("-inf")
        before = seconds_since_1970(query["timestampBefore"]) if "timestampBefore" in query else float("inf")
        status = query.get("processingStatus")
        found = [
            each
            for each in self._store.events_of(domain_id)
            if after < each.time < before and status in (None, each.status)
        ]
        found.sort(key=lambda each: each.time, reverse=query.get("sortOrder", "DESCENDING") == "DESCENDING")
        start = query.get("nextToken", 0, type=int)
        answer: dict[str, Any] = {"items": [_summary(each) for each in found[start : start + size]]}
        if start + size < len(found):
            answer["nextToken"] = str(start + size)
        return _json(answer)

    def _get_lineage_node(self, _: Request, domain_id: str, identifier: str) -> Response:
        self._store.look(domain_id)
        graph = self._store.graph(domain_id)
        node = graph.find(identifier)
        if node is None:
            raise AwsError("ResourceNotFoundException", f"no lineage node {identifier} in domain {domain_id}")
        upstream, downstream = graph.edges(node)
        return _json(
            {
                "domainId": domain_id,
                "id": node.id,
                "typeName": node.type_name,
                "typeRevision": "1",
                "name": node.name,
                "sourceIdentifier": node.source_identifier,
                "eventTimestamp": node.last_time,
                "createdAt": node.first_time,
                "upstreamNodes": [{"id": each, "eventTimestamp": when} for each, when in upstream.items()][:100],
                "downstreamNodes": [{"id": each, "eventTimestamp": when} for each, when in downstream.items()][:100],
            }
        )

    # Test-only paths

    def _fake_events(self, _: Request) -> Response:
        return _json([_received(each) for each in self._store.events.values()])

    def _fake_nodes(self, _: Request) -> Response:
        for each in self._store.events.values():
            self._store.process(each)
        graphs = self._store.graphs.values()
        return _json([_describe(graph, node) for graph in graphs for node in graph.nodes.values()])

    def _fake_assets(self, request: Request) -> Response:
        graph = self._store.graphs[DOMAIN_ID]
        for arn in request.get_json()["arns"] if request.method == "POST" else ():
            graph.register_asset(arn)
        return _json([{"id": asset, "sourceIdentifier": arn} for arn, asset in graph.assets.items()])

    def _fake_domains(self, request: Request) -> Response:
        for domain_id in request.get_json()["ids"]:
            self._store.graphs.setdefault(domain_id, LineageGraph())
        return _json(list(self._store.graphs))

    def _fake_failures(self, request: Request) -> Response:
        wanted = request.get_json()
        error = wanted.get("error")
        if error is not None and error not in ERROR_STATUS:
            raise AwsError("ValidationException", f"error must be one of {', '.join(ERROR_STATUS)}")
        failure = Failure(error, bool(wanted.get("after_accepting")), float(wanted.get("seconds", 0)))
        if "rate" in wanted:
            self._store.fail_often(failure, float(wanted["rate"]), int(wanted.get("seed", 0)))
        else:
            self._store.failures.extend([failure] * int(wanted.get("times", 1)))
        return _json({"pending": len(self._store.failures)})

    def _fake_processing(self, request: Request) -> Response:
        wanted, store = request.get_json(), self._store
        store.polls = int(wanted.get("polls", store.polls))
        store.seconds = float(wanted.get("seconds", store.seconds))
        store.fail_next = int(wanted.get("fail_next", store.fail_next))
        return _json({"polls": store.polls, "seconds": store.seconds, "fail_next": store.fail_next})

    def _fake_reset(self, _: Request) -> Response:
        self.reset()
        return _json({})


def _json(value: Any, status: int = 200) -> Response:
    return Response(json.dumps(value), status, content_type="application/json")


def _caller(request: Request) -> Caller:
    match = _CREDENTIAL.search(request.headers.get("Authorization", ""))
    key = match["key"] if match else ""
    account = key if re.fullmatch(r"\d{12}", key) else request.headers.get("x-moto-account-id", "123456789012")
    return Caller(account, match["region"] if match else "us-east-1")


def _summary(each: Accepted) -> dict[str, Any]:
    """An event as ListLineageEvents shows it."""

    def names(datasets: list[dict[str, str]] | None) -> list[dict[str, str]]:
        return [{"namespace": one["namespace"], "name": one["name"]} for one in datasets or []]

    event = each.event
    return {
        "id": each.id,
        "domainId": each.domain_id,
        "processingStatus": each.status,
        "eventTime": each.time,
        "createdAt": each.received,
        "createdBy": each.caller.account,
        "eventSummary": {
            "openLineageRunEventSummary": {
                "eventType": event.get("eventType", "OTHER"),
                "runId": event["run"]["runId"],
                "job": names([event["job"]])[0],
                "inputs": names(event.get("inputs")),
                "outputs": names(event.get("outputs")),
            }
        },
    }


def _received(each: Accepted) -> dict[str, Any]:
    return {
        "id": each.id,
        "domainId": each.domain_id,
        "clientToken": each.token,
        "status": each.status,
        "account": each.caller.account,
        "body": each.body.decode("utf-8"),
    }


def _describe(graph: LineageGraph, node: Node) -> dict[str, Any]:
    return {
        "id": node.id,
        "type": node.type_name,
        "name": node.name,
        "sourceIdentifier": node.source_identifier,
        "asset": graph.asset_of(node),
        "knownAs": sorted(node.known_as),
        "upstream": sorted(node.upstream),
        "downstream": sorted(node.downstream),
    }
