"""What reaches DataZone, how often, and what the emitter is told."""

from __future__ import annotations

import hashlib
import json
import socket
import time
from types import SimpleNamespace

import pytest
from adapter_samples import as_bytes, http_api, run_event

from sandbox.fakes.datazone import DOMAIN_ID


class Context:
    """Lambda's context with a fixed time left."""

    aws_request_id = "5f1f3b5c-0000-4000-8000-000000000001"

    def __init__(self, milliseconds: int) -> None:
        self.milliseconds = milliseconds

    def get_remaining_time_in_millis(self) -> int:
        return self.milliseconds


def test_an_event_is_accepted_and_its_id_is_answered(post, datazone):
    answer = post(run_event())

    (event,) = datazone.get("/fake/events")
    assert (answer.code, answer.status, answer.body["id"]) == (200, "accepted", event["id"])
    assert answer.body["clientToken"] == event["clientToken"]
    assert answer.body["reason"] is None
    assert answer.headers["content-type"] == "application/json"


@pytest.mark.parametrize(
    "body",
    [
        json.dumps(run_event(), indent=4) + "\n",
        '  {"eventType" :"COMPLETE", ' + json.dumps(run_event(eventType=None))[1:],
        as_bytes(run_event(job={"namespace": "cordata.fraud", "name": "prüfung-日次"})).decode(),
        json.dumps(run_event(job={"namespace": "cordata.fraud", "name": "prüfung \\/ \u00e9"})).replace("1", "1"),
    ],
    ids=["indented", "odd spacing", "unicode", "escapes"],
)
def test_datazone_receives_the_bytes_that_the_emitter_wrote(post, datazone, body):
    assert post(body.encode()).status == "accepted"

    assert datazone.bodies == [body]


def test_the_token_is_the_sha256_of_the_event_with_sorted_keys(post, datazone):
    post(run_event())

    expected = hashlib.sha256(json.dumps(run_event(), sort_keys=True).encode()).hexdigest()
    assert datazone.get("/fake/events")[0]["clientToken"] == expected


def test_reported_the_same_bytes_again_are_the_same_event(post, datazone):
    first, second = post(run_event()), post(run_event())

    assert (second.code, second.status, second.body["id"]) == (200, "accepted", first.body["id"])
    assert len(datazone.bodies) == 1


def test_reported_a_reordered_duplicate_counts_as_accepted_already(post, datazone):
    post(run_event())

    reordered = json.dumps(dict(reversed(run_event().items())), indent=2).encode()
    answer = post(reordered)

    assert (answer.code, answer.status, answer.body["id"]) == (200, "duplicate", None)
    assert datazone.bodies == [as_bytes(run_event()).decode()]


def test_the_events_of_one_run_stay_apart(post, datazone):
    for event_type in ("START", "COMPLETE", "OTHER"):
        assert post(run_event(eventType=event_type)).status == "accepted"

    assert [json.loads(body)["eventType"] for body in datazone.bodies] == ["START", "COMPLETE", "OTHER"]


def test_reported_throttled_twice_then_accepted(post, datazone):
    datazone.set("/fake/failures", error="ThrottlingException", times=2)

    assert post(run_event()).status == "accepted"
    assert len(datazone.bodies) == 1


def test_throttled_for_good_the_emitter_is_told_when_to_come_back(post, datazone):
    datazone.set("/fake/failures", error="ThrottlingException", times=100)

    answer = post(run_event())

    assert (answer.code, answer.status, answer.headers["retry-after"]) == (429, "unavailable", "2")
    assert "ThrottlingException, attempt 5" in answer.reason
    assert datazone.set("/fake/failures", times=0) == {"pending": 95}


def test_datazones_own_error_is_retried_and_then_reported_as_unavailable(post, datazone):
    datazone.set("/fake/failures", error="InternalServerException", times=1)
    assert post(run_event()).status == "accepted"

    datazone.set("/fake/failures", error="InternalServerException", times=100)
    answer = post(run_event(eventType="START"))

    assert (answer.code, answer.status, answer.headers["retry-after"]) == (503, "unavailable", "2")
    assert "HTTP 500" in answer.reason


def test_an_event_whose_answer_was_lost_is_not_posted_as_a_second_one(post, datazone):
    datazone.set("/fake/failures", error="InternalServerException", after_accepting=True)

    answer = post(run_event())

    (event,) = datazone.get("/fake/events")
    assert (answer.status, answer.body["id"]) == ("accepted", event["id"])


def test_a_hung_datazone_is_given_up_and_asked_again(adapter_environment, post, datazone):
    adapter_environment.setattr("lineage_adapter.sink.READ_SECONDS", 0.2)
    datazone.set("/fake/failures", seconds=0.5)

    assert post(run_event()).status == "accepted"
    time.sleep(0.5)  # by now DataZone has worked on the first attempt too
    assert len(datazone.bodies) == 1


def test_an_unreachable_datazone_is_unavailable(adapter_environment, post):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        adapter_environment.setenv("AWS_ENDPOINT_URL_DATAZONE", f"http://127.0.0.1:{closed.getsockname()[1]}")
        answer = post(run_event())

    assert (answer.code, answer.status) == (503, "unavailable")
    assert "did not answer (EndpointConnectionError, attempt 5)" in answer.reason


@pytest.mark.parametrize(("left", "attempts"), [(3_000, 1), (6_400, 1), (7_000, 5), (60_000, 5)])
def test_no_attempt_begins_that_could_outlive_the_lambda(post, datazone, left, attempts):
    datazone.set("/fake/failures", error="ThrottlingException", times=100)

    answer = post(run_event(), Context(left))

    assert answer.code == 429
    assert datazone.set("/fake/failures", times=0) == {"pending": 100 - attempts}


def test_pauses_grow_with_each_attempt_and_are_never_equal(adapter_environment, post, datazone):
    pauses: list[float] = []
    adapter_environment.setattr("lineage_adapter.sink.FIRST_PAUSE", 0.2)
    clock = SimpleNamespace(monotonic=time.monotonic, sleep=pauses.append)
    adapter_environment.setattr("lineage_adapter.sink.time", clock)
    datazone.set("/fake/failures", error="ThrottlingException", times=100)

    post(run_event())

    assert len(pauses) == len(set(pauses)) == 4
    assert all(0 <= pause <= 0.2 * 2**number for number, pause in enumerate(pauses))


@pytest.mark.parametrize(
    ("error", "code", "status", "remedy"),
    [
        ("ValidationException", 400, "refused", "DataZone rejects the event"),
        ("ServiceQuotaExceededException", 402, "refused", "raise the quota"),
        ("AccessDeniedException", 500, "misconfigured", "the adapter's role"),
        ("UnauthorizedException", 500, "misconfigured", "the adapter's role"),
    ],
)
def test_a_final_error_is_asked_once_and_says_what_to_do(post, datazone, error, code, status, remedy):
    datazone.set("/fake/failures", error=error, times=10)

    answer = post(run_event())

    assert (answer.code, answer.status, answer.body["id"]) == (code, status, None)
    assert error in answer.reason
    assert remedy in answer.reason
    assert "retry-after" not in answer.headers
    assert datazone.set("/fake/failures", times=0) == {"pending": 9}


def test_what_only_datazone_can_judge_is_answered_in_its_words(post, datazone):
    answer = post(run_event(schemaURL=None))

    assert (answer.code, answer.status) == (400, "refused")
    assert "ValidationException" in answer.reason
    assert "schemaURL" in answer.reason
    assert datazone.bodies == []


def test_a_fault_of_the_adapter_is_answered_without_the_payload(adapter_environment, invoke, capsys):
    def explode(*_: object) -> None:
        raise RuntimeError("s3cret from the payload")

    adapter_environment.setattr("lineage_adapter.sink.Sink.post", explode)

    answer = invoke(http_api(as_bytes(run_event()).decode()))

    assert (answer.code, answer.status) == (500, "failed")
    assert "RuntimeError at test_adapter_delivery.py:" in answer.reason
    assert "s3cret" not in answer.reason + capsys.readouterr().out


def test_reported_accepted_is_not_processed(post, datazone):
    datazone.set("/fake/processing", polls=2, fail_next=1)
    answer = post(run_event())

    client = datazone.client()
    statuses = [
        client.get_lineage_event(domainIdentifier=DOMAIN_ID, identifier=answer.body["id"])["processingStatus"]
        for _ in range(3)
    ]

    assert answer.status == "accepted"
    assert "process" not in json.dumps(answer.body)
    assert statuses == ["PROCESSING", "PROCESSING", "FAILED"]


def test_a_bad_event_among_ten_does_not_hold_up_the_others(post, datazone):
    events = [run_event(run={"runId": f"b8c1c9e3-5a1e-4c0f-9a1a-2c9f8b1a5e{number:02}"}) for number in range(10)]
    events[3] = run_event(producer=None)

    statuses = [post(event).status for event in events]

    assert statuses == ["accepted"] * 3 + ["refused"] + ["accepted"] * 6
    assert len(datazone.bodies) == 9
