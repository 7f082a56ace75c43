"""What is not handed on: each with its reason, and nothing of it at DataZone."""

from __future__ import annotations

import base64
import gzip
import json
import re
import tracemalloc

import pytest
from adapter_samples import PRODUCER, SCHEMA, as_bytes, http_api, run_event

LIMIT = 300_000


def with_plan(text: str) -> bytes:
    """An event that a long facet fills up."""
    return as_bytes(run_event(run={"runId": "r", "facets": {"plan": {"text": text}}}))


def of_size(size: int) -> bytes:
    """An event of exactly `size` bytes."""
    return with_plan("x" * (size - len(with_plan(""))))


def test_an_event_of_exactly_the_limit_is_accepted(post):
    body = of_size(LIMIT)

    assert len(body) == LIMIT
    assert post(body).status == "accepted"


def test_one_byte_more_is_too_large_and_both_numbers_are_told(post, datazone):
    answer = post(of_size(LIMIT + 1))

    assert (answer.code, answer.status) == (413, "refused")
    assert "300,001 bytes" in answer.reason
    assert "300,000" in answer.reason
    assert datazone.bodies == []


def test_the_limit_counts_bytes_not_characters(post, datazone):
    body = with_plan("ü" * (LIMIT // 2))

    assert len(body.decode()) < LIMIT < len(body)
    assert post(body).code == 413
    assert datazone.bodies == []


def test_a_too_large_event_is_logged_under_its_run(post, capsys):
    post(of_size(LIMIT + 1))

    line = json.loads(capsys.readouterr().out)
    assert (line["runId"], line["bytes"], line["status"]) == ("r", LIMIT + 1, "refused")


def test_a_small_gzip_body_that_unpacks_to_more_than_the_limit_is_never_unpacked_whole(invoke, datazone):
    bomb = base64.b64encode(gzip.compress(b" " * 50_000_000)).decode()

    tracemalloc.start()
    answer = invoke(http_api(bomb, base64=True, content_encoding="gzip"))
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert (answer.code, answer.status) == (413, "refused")
    assert most < 5_000_000
    assert datazone.bodies == []


@pytest.mark.parametrize(
    "event",
    [
        {"schemaURL": SCHEMA + "DatasetEvent", "dataset": {"namespace": "n", "name": "d"}},
        {"schemaURL": SCHEMA + "JobEvent", "job": {"namespace": "n", "name": "j"}, "inputs": [], "outputs": []},
        {"dataset": {"namespace": "n", "name": "d"}},
        {"job": {"namespace": "n", "name": "j"}},
    ],
    ids=["DatasetEvent", "JobEvent", "DatasetEvent without schemaURL", "JobEvent without schemaURL"],
)
def test_reported_other_kinds_of_event_are_skipped_with_the_reason(post, datazone, event):
    answer = post({"eventTime": "2026-08-04T09:14:22Z", "producer": PRODUCER, **event})

    assert (answer.code, answer.status) == (422, "skipped")
    assert re.search("a (DatasetEvent|JobEvent) is not handed on: DataZone takes OpenLineage run events", answer.reason)
    assert datazone.bodies == []


@pytest.mark.parametrize(
    ("changes", "missing"),
    [
        ({"producer": None}, "producer"),
        ({"producer": ""}, "producer"),
        ({"eventTime": None}, "eventTime"),
        ({"run": None}, "run.runId"),
        ({"run": {"facets": {}}}, "run.runId"),
        ({"run": "r"}, "run.runId"),
        ({"job": None}, "job.namespace, job.name"),
        ({"job": {"namespace": "cordata.fraud", "name": 7}}, "job.name"),
        ({"run": None, "producer": None}, "producer, run.runId"),
    ],
)
def test_a_run_event_that_identifies_no_run_is_refused(post, datazone, changes, missing):
    answer = post(run_event(**changes))

    assert (answer.code, answer.status) == (422, "refused")
    assert f"a run event without {missing};" in answer.reason
    assert datazone.bodies == []


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("{", "not JSON: Expecting property name enclosed in double quotes at byte 1"),
        ('{"é": nope}', "not JSON: Expecting value at byte 7"),
        ('{"a": 1} {"b": 2}', "not JSON: Extra data at byte 9"),
        ("\ufeff{}", "not JSON: Unexpected UTF-8 BOM"),
        ("[1, 2]", "not one object; post one event a request"),
        ('"text"', "not one object"),
        ("null", "not one object"),
        ("{}", "this is no OpenLineage event"),
        ('{"run": 1, "run": 2}', "the same key twice"),
        ('{"run": NaN}', "NaN is no JSON number"),
        ("[" * 200_000, "nested too deeply"),
        ('{"a":' * 100_000, "nested too deeply"),
    ],
)
def test_what_is_no_event_is_refused(post, datazone, body, reason):
    answer = post(body.encode())

    assert (answer.code, answer.status) == (422 if "OpenLineage" in reason else 400, "refused")
    assert reason in answer.reason
    assert datazone.bodies == []


def test_bytes_that_are_not_utf8_are_refused(invoke, datazone):
    utf16 = base64.b64encode(json.dumps(run_event()).encode("utf-16")).decode()

    answer = invoke(http_api(utf16, base64=True))

    assert (answer.code, answer.status) == (400, "refused")
    assert "not UTF-8: byte 0" in answer.reason
    assert datazone.bodies == []


@pytest.mark.parametrize("body", [None, ""])
def test_a_request_without_a_body_is_refused(invoke, body):
    answer = invoke(http_api(body))

    assert (answer.code, answer.status) == (400, "refused")
    assert "no body" in answer.reason
