"""One line of JSON a request: enough to find the event, nothing of what it says."""

from __future__ import annotations

import json

import pytest
from adapter_samples import RUN_ID, as_bytes, http_api, run_event

SECRET = "s3cret-42"
COUNTS = ["Accepted", "Duplicate", "Refused", "Skipped", "TooLarge", "Unavailable", "DeadLettered"]
METRICS = {"service", "entry", "Latency", "_aws", *COUNTS}


class Context:
    aws_request_id = "5f1f3b5c-0000-4000-8000-000000000001"


@pytest.fixture
def lines(capsys):
    """The lines written so far, each parsed."""

    def read():
        return [json.loads(line) for line in capsys.readouterr().out.splitlines()]

    return read


def test_an_accepted_event_is_one_line_that_names_it(post, lines):
    answer = post(run_event(), Context())

    (line,) = lines()
    assert {name: value for name, value in line.items() if name not in METRICS} == {
        "level": "INFO",
        "message": "lineage event",
        "status": "accepted",
        "id": answer.body["id"],
        "clientToken": answer.body["clientToken"],
        "runId": RUN_ID,
        "eventType": "COMPLETE",
        "job": "cordata.fraud.transactions-scored-daily",
        "caller": "arn:aws:iam::444455556666:role/lineage-invoker-fraud",
        "bytes": len(as_bytes(run_event())),
        "attempts": 1,
        "requestId": Context.aws_request_id,
    }


def test_retries_show_in_the_line(post, datazone, lines):
    datazone.set("/fake/failures", error="ThrottlingException", times=2)
    post(run_event())

    assert [line["attempts"] for line in lines()] == [3]


@pytest.mark.parametrize(
    ("failure", "level"), [("ThrottlingException", "WARNING"), ("AccessDeniedException", "ERROR"), (None, "INFO")]
)
def test_the_level_tells_what_needs_a_person(post, datazone, lines, failure, level):
    if failure:
        datazone.set("/fake/failures", error=failure, times=5)
    post(run_event())

    assert [line["level"] for line in lines()] == [level]


@pytest.mark.parametrize(
    "body",
    [
        as_bytes(run_event(run={"runId": RUN_ID, "facets": {"x": {"password": SECRET}}})).decode(),
        as_bytes(run_event(schemaURL=SECRET)).decode(),
        as_bytes(run_event(producer=None, eventType=SECRET)).decode(),
        as_bytes(run_event(eventType={"password": SECRET}, schemaURL=None)).decode(),
        f'{{"password": "{SECRET}" oops',
        f'{{"{SECRET}": 1, "{SECRET}": 2}}',
        f'["{SECRET}"]',
    ],
    ids=["accepted", "rejected", "incomplete", "odd eventType", "not JSON", "key twice", "no object"],
)
def test_neither_log_nor_answer_quotes_payload_or_headers(invoke, lines, body):
    answer = invoke(http_api(body, authorization=f"Bearer {SECRET}"))

    assert SECRET not in json.dumps(lines())
    assert SECRET not in json.dumps(answer.body)


def test_a_name_with_a_line_break_stays_on_its_line(post, lines):
    post(run_event(job={"namespace": "cordata.fraud", "name": 'x\n{"level": "INFO"}'}))

    assert [line["job"] for line in lines()] == ['cordata.fraud.x\n{"level": "INFO"}']


def test_long_names_are_cut(post, lines):
    post(run_event(job={"namespace": "n", "name": "j" * 100_000}))

    assert [len(line["job"]) for line in lines()] == [500]
