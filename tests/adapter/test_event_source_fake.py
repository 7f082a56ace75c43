"""The fake calls a handler as Lambda's event source mapping does, and believes what it reports."""

from __future__ import annotations

import base64
import random
from typing import Any

import pytest

from sandbox.fakes.event_source import KinesisShard

STREAM = "arn:aws:kinesis:eu-central-1:444455556666:stream/lineage"


@pytest.fixture
def shard() -> KinesisShard:
    shard = KinesisShard(STREAM)
    for number in range(5):
        shard.put(b"%d" % number)
    return shard


class Handler:
    """Answers what it is told to, in turn, and success then; remembers the batches."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.batches: list[list[str]] = []

    def __call__(self, event: Any, context: Any) -> Any:
        records = event["Records"]
        self.batches.append([base64.b64decode(record["kinesis"]["data"]).decode() for record in records])
        answer = self.answers.pop(0) if self.answers else None
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, list):
            numbers = [records[each]["kinesis"]["sequenceNumber"] if isinstance(each, int) else each for each in answer]
            return {"batchItemFailures": [{"itemIdentifier": number} for number in numbers]}
        return answer


def test_records_come_in_order_and_in_batches(shard):
    handler = Handler()

    assert shard.drain(handler, batch_size=2)

    assert handler.batches == [["0", "1"], ["2", "3"], ["4"]]


@pytest.mark.parametrize("success", [None, {}, {"batchItemFailures": []}, {"batchItemFailures": None}])
def test_no_failures_are_success(shard, success):
    handler = Handler(success)

    assert shard.drain(handler)
    assert len(handler.batches) == 1


def test_from_the_lowest_reported_record_on_all_come_again(shard):
    handler = Handler([3, 1])

    assert shard.drain(handler)
    assert handler.batches == [["0", "1", "2", "3", "4"], ["1", "2", "3", "4"]]


@pytest.mark.parametrize("failure", [ValueError("x"), [""], [None], ["17"]], ids=["raised", "empty", "null", "unknown"])
def test_whatever_else_fails_the_whole_batch(shard, failure):
    handler = Handler(failure)

    assert shard.drain(handler)
    assert handler.batches == [["0", "1", "2", "3", "4"]] * 2


def test_a_record_that_never_succeeds_blocks_the_shard(shard):
    assert not shard.drain(Handler(*[[0]] * 20), most=10)
    assert shard.invocations == 10


def test_a_batch_may_come_twice_although_it_succeeded(shard):
    handler = Handler()

    assert shard.drain(handler, batch_size=1, repeats=random.Random(31))
    assert len(handler.batches) > 5
