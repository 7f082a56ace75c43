"""The one line of an event is CloudWatch's embedded metric format too: what an alarm needs, without another call."""

from __future__ import annotations

import json
import time

import jsonschema
import pytest
from adapter_samples import as_bytes, http_api, keyed, run_event

COUNTS = ("Accepted", "Duplicate", "Refused", "Skipped", "TooLarge", "Unavailable", "DeadLettered")

#: The rules of the specification ("Embedded metric format", CloudWatch user guide), as a JSON schema.
EMBEDDED = {
    "type": "object",
    "required": ["_aws"],
    "properties": {
        "_aws": {
            "type": "object",
            "required": ["Timestamp", "CloudWatchMetrics"],
            "properties": {
                "Timestamp": {"type": "integer"},
                "CloudWatchMetrics": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "additionalProperties": False,
                        "required": ["Namespace", "Dimensions", "Metrics"],
                        "properties": {
                            "Namespace": {"type": "string", "minLength": 1, "maxLength": 1024},
                            "Dimensions": {
                                "type": "array",
                                "minItems": 1,
                                "items": {"type": "array", "maxItems": 30, "items": {"type": "string"}},
                            },
                            "Metrics": {
                                "type": "array",
                                "maxItems": 100,
                                "items": {
                                    "type": "object",
                                    "additionalProperties": False,
                                    "required": ["Name"],
                                    "properties": {
                                        "Name": {"type": "string", "minLength": 1, "maxLength": 1024},
                                        "Unit": {"enum": ["Count", "Milliseconds"]},
                                    },
                                },
                            },
                        },
                    },
                },
            },
        }
    },
}


def line(capsys):
    (only,) = capsys.readouterr().out.splitlines()
    return json.loads(only)


def test_every_line_keeps_the_formats_rules_and_holds_what_it_promises(post, capsys):
    post(run_event())

    found = line(capsys)
    jsonschema.validate(found, EMBEDDED)
    (directive,) = found["_aws"]["CloudWatchMetrics"]
    assert {metric["Name"] for metric in directive["Metrics"]} == {*COUNTS, "Latency"}
    for metric in directive["Metrics"]:
        assert isinstance(found[metric["Name"]], int)
    for dimensions in directive["Dimensions"]:
        assert all(isinstance(found[name], str) and found[name] for name in dimensions)
    assert abs(found["_aws"]["Timestamp"] - time.time() * 1000) < 60_000


@pytest.mark.parametrize(
    ("event", "failure", "counted"),
    [
        (run_event(), None, {"Accepted"}),
        (run_event(producer=None), None, {"Refused", "DeadLettered"}),
        ({"job": {"namespace": "n", "name": "j"}}, None, {"Skipped", "DeadLettered"}),
        (run_event(run={"runId": "r", "facets": {"x": "x" * 300_000}}), None, {"Refused", "TooLarge", "DeadLettered"}),
        (run_event(), "ThrottlingException", {"Unavailable"}),
        (run_event(), "AccessDeniedException", {"Unavailable"}),
    ],
    ids=["accepted", "refused", "skipped", "too large", "throttled", "misconfigured"],
)
def test_each_outcome_is_counted(post, datazone, capsys, event, failure, counted):
    if failure:
        datazone.set("/fake/failures", error=failure, times=5)
    post(event)

    found = line(capsys)
    assert {name for name in COUNTS if found[name] == 1} == counted
    assert {found[name] for name in COUNTS} <= {0, 1}


def test_a_duplicate_is_counted_as_one(post, capsys):
    post(run_event())
    capsys.readouterr()

    post(json.dumps(dict(reversed(run_event().items()))).encode())

    assert (line(capsys)["Duplicate"]) == 1


def test_latency_is_what_the_emitter_waited(post, datazone, capsys):
    datazone.set("/fake/failures", seconds=0.3)
    post(run_event())

    assert 300 <= line(capsys)["Latency"] < 5_000


@pytest.mark.parametrize(("caller", "entry"), [(None, "iam"), (keyed(), "key"), ({}, "unknown")])
def test_the_entry_is_a_dimension(post, capsys, caller, entry):
    post(run_event(), authorizer=caller)

    found = line(capsys)
    assert (found["service"], found["entry"]) == ("lineage-adapter", entry)


def test_a_request_that_fails_before_its_caller_is_known_is_one_line_too(invoke, capsys):
    invoke(http_api(as_bytes(run_event()).decode(), authorizer={}))

    jsonschema.validate(line(capsys), EMBEDDED)
