"""A stream's batches: what can never be accepted counts as done, what may be accepted later comes again."""

from __future__ import annotations

import gzip
import json
import time
from typing import Any

import pytest
from adapter_samples import STREAM, as_bytes, run_event

from lineage_adapter import kinesis
from sandbox.fakes.event_source import KinesisShard


def of_run(number: int, **changes: Any) -> bytes:
    return as_bytes(run_event(run={"runId": f"00000000-0000-4000-8000-{number:012}"}, **changes))


def runs(datazone) -> list[int]:
    return [int(json.loads(body)["run"]["runId"][-12:]) for body in datazone.bodies]


@pytest.fixture
def shard(adapter_environment) -> KinesisShard:
    return KinesisShard(STREAM)


class Context:
    """Lambda's context whose time runs out after so many looks."""

    aws_request_id = "r-1"

    def __init__(self, looks: int) -> None:
        self.looks = looks

    def get_remaining_time_in_millis(self) -> int:
        self.looks -= 1
        return 60_000 if self.looks >= 0 else 3_000


def batch(shard: KinesisShard, context: Any = None) -> list[str]:
    """One invocation with all records of the shard; the sequence numbers that the handler reports."""
    answer = kinesis.handler({"Records": shard._records}, context)
    return [failure["itemIdentifier"] for failure in answer["batchItemFailures"]]


def test_reported_one_invalid_record_of_ten_does_not_hold_up_the_others(shard, datazone, letters):
    """DZ-3: the other nine are delivered, the bad one is a dead letter, once."""
    for number in range(10):
        shard.put(of_run(number, producer=None) if number == 3 else of_run(number))

    assert batch(shard) == []
    assert runs(datazone) == [0, 1, 2, 4, 5, 6, 7, 8, 9]
    assert (letters.one()["data"], letters.one()["error"]) == (of_run(3, producer=None), "EventIncomplete")


def test_what_may_be_accepted_later_is_reported_and_comes_again(shard, datazone, letters):
    for number in range(4):
        shard.put(of_run(number))
    datazone.set("/fake/failures", error="ThrottlingException", times=5)  # the first record's five attempts

    numbers = [record["kinesis"]["sequenceNumber"] for record in shard._records]
    assert batch(shard) == [numbers[0]]
    assert runs(datazone) == [1, 2, 3]
    assert batch(shard) == []
    assert sorted(runs(datazone)) == [0, 1, 2, 3]
    assert letters.all() == []


def test_the_lowest_failure_is_reported_by_number_not_as_text(shard, datazone):
    first, second = shard.put(of_run(0)), shard.put(of_run(1))
    for record, number in zip(shard._records, ("9", "10"), strict=True):
        record["kinesis"]["sequenceNumber"] = number
    datazone.set("/fake/failures", error="InternalServerException", times=10)

    assert first < second
    assert batch(shard) == ["9"]


def test_behind_a_failure_a_bad_record_waits_for_the_replay_and_is_one_letter(shard, datazone, letters):
    shard.put(of_run(0))
    shard.put(b"{")
    shard.put(of_run(2))
    datazone.set("/fake/failures", error="ThrottlingException", times=5)

    assert shard.drain(kinesis.handler)

    assert shard.invocations == 2
    assert sorted(runs(datazone)) == [0, 2]
    assert letters.one()["data"] == b"{"


def test_when_datazone_is_away_the_batch_ends_early(shard, datazone):
    numbers = [shard.put(of_run(number)) for number in range(20)]
    datazone.set("/fake/failures", error="InternalServerException", times=100)

    assert batch(shard) == [numbers[0]]
    assert datazone.set("/fake/failures", times=0) == {"pending": 100 - 3 * 5}


def test_no_record_begins_that_could_outlive_the_lambda(shard, datazone):
    numbers = [shard.put(of_run(number)) for number in range(5)]

    assert batch(shard, Context(looks=2)) == [numbers[2]]
    assert runs(datazone) == [0, 1]


def test_records_may_be_gzipped(shard, datazone):
    shard.put(gzip.compress(of_run(0)))

    assert batch(shard) == []
    assert datazone.bodies == [of_run(0).decode()]


def test_a_gzipped_bad_record_is_kept_as_it_came(shard, letters):
    packed = gzip.compress(of_run(0, producer=None))
    shard.put(packed)

    assert batch(shard) == []
    assert (letters.one()["data"], letters.one()["entry"]) == (packed, "kinesis")


def test_a_record_that_is_no_base64_is_kept_too(shard, letters):
    shard.put(b"x")
    shard._records[0]["kinesis"]["data"] = "no base64!"

    assert batch(shard) == []
    assert (letters.one()["data"], letters.one()["broken"]) == (b"no base64!", True)


def test_a_stream_speaks_for_its_own_domains_only(shard, datazone, letters):
    shard.put(of_run(0, job={"namespace": "cordata.finance", "name": "losses"}))
    shard.put(of_run(1, job={"namespace": "cordata.policy", "name": "claims"}))

    assert batch(shard) == []
    assert runs(datazone) == [1]
    assert (letters.one()["error"], letters.one()["caller"]) == ("DomainForeign", STREAM)


def test_a_stream_that_is_not_listed_is_a_matter_of_the_deployment_and_loses_nothing(shard, datazone, capsys):
    other = KinesisShard(STREAM + "-other")
    number = other.put(of_run(0))

    assert batch(other) == [number]
    line = json.loads(capsys.readouterr().out.splitlines()[0])
    assert (line["status"], line["record"]) == ("misconfigured", number)
    assert "LINEAGE_CALLERS" in line["reason"]
    assert datazone.bodies == []


def test_a_record_that_nobody_could_deliver_for_hours_becomes_a_letter_before_the_stream_forgets_it(
    adapter_environment, datazone, letters
):
    old = KinesisShard(STREAM, arrived=time.time() - 6 * 3600 - 1)
    old.put(of_run(0))
    datazone.set("/fake/failures", error="AccessDeniedException", times=1)

    assert batch(old) == []
    assert (letters.one()["error"], letters.one()["data"]) == ("AccessRefused", of_run(0))


def test_a_letter_that_cannot_be_kept_is_not_done(adapter_environment, shard, letters):
    adapter_environment.setenv("LINEAGE_DEAD_LETTER_QUEUE", letters.url + "-gone")
    number = shard.put(b"{")

    assert batch(shard) == [number]


def test_a_wrong_setting_reports_the_records_and_loses_none(adapter_environment, shard, datazone, letters):
    adapter_environment.delenv("DATAZONE_DOMAIN_ID")
    number = shard.put(of_run(0))

    assert batch(shard) == [number]
    assert (datazone.bodies, letters.all()) == ([], [])


def test_every_record_has_a_line_that_ties_the_run_to_datazones_id(shard, datazone, capsys):
    numbers = [shard.put(of_run(number)) for number in range(2)]

    batch(shard, Context(looks=9))

    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    events = datazone.get("/fake/events")
    assert [line["id"] for line in lines] == [event["id"] for event in events]
    assert [line["runId"][-1] for line in lines] == ["0", "1"]
    assert [(line["record"], line["entry"], line["requestId"]) for line in lines] == [
        (number, "kinesis", "r-1") for number in numbers
    ]
