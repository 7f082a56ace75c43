"""Thousands of events under throttling, poison, duplicates and disorder: each good one once, each bad one kept.

What is drawn is drawn from one seed; what goes wrong is told by it, so a failure can be repeated.
"""

from __future__ import annotations

import base64
import gzip
import json
import math
import random
from collections import Counter
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
from adapter_samples import STREAM, as_bytes, http_api, keyed, run_event, signed_by

from lineage_adapter import kinesis
from sandbox.fakes.event_source import KinesisShard

pytestmark = pytest.mark.lengthy

#: Error → how to make a poisonous event of it; each carries its number, so that no two are the same bytes.
POISON = {
    "EventMalformed": lambda number: b'{"n": %d' % number,
    "EventSkipped": lambda number: as_bytes({"job": {"namespace": "cordata.fraud", "name": f"j{number}"}}),
    "EventIncomplete": lambda number: of_run(number, producer=None),
    "EventRejected": lambda number: of_run(number, schemaURL=None),
    "DomainForeign": lambda number: of_run(number, job={"namespace": "cordata.finance", "name": "losses"}),
    "EventTooLarge": lambda number: of_run(number, inputs=[{"namespace": "n", "name": "x" * 300_000}]),
    "BodyUnreadable": lambda number: gzip.compress(of_run(number), mtime=0)[:-5],
}


def of_run(number: int, **changes: Any) -> bytes:
    return as_bytes(run_event(run={"runId": f"00000000-0000-4000-8000-{number:012}"}, **changes))


@dataclass
class Storm:
    """`sent`: bodies in the order they come, duplicates among them; `good` and `poison`: what they are made of."""

    sent: list[bytes]
    good: set[bytes]
    poison: dict[bytes, str] = field(default_factory=dict)


def storm(count: int, draw: random.Random) -> Storm:
    """`count` events of which 1 % are poison; 5 % come again, every other one with its keys in another order."""
    good, poison = [], {}
    for number in range(count):
        if number % 100 == 7:
            error = draw.choice(sorted(POISON))
            poison[POISON[error](number)] = error
        else:
            good.append(of_run(number))
    again = draw.sample(good, count // 20)
    reordered = [as_bytes(dict(reversed(json.loads(body).items()))) if draw.random() < 0.5 else body for body in again]
    sent = [*good, *poison, *reordered, *draw.sample(sorted(poison), len(poison) // 10)]
    draw.shuffle(sent)
    return Storm(sent, set(good), poison)


def check(storm: Storm, datazone, letters) -> None:
    def canonical(body: bytes | str) -> str:
        return json.dumps(json.loads(body), sort_keys=True)

    accepted = Counter(canonical(body) for body in datazone.bodies)
    assert accepted == Counter({canonical(body): 1 for body in storm.good})
    assert {body.encode() for body in datazone.bodies} <= set(storm.sent)  # byte for byte as somebody sent it
    kept = letters.all()
    assert {letter["data"]: letter["error"] for letter in kept} == storm.poison
    assert all(letter["reason"] for letter in kept)
    times = Counter(body for body in storm.sent if body in storm.poison)
    assert Counter(letter["data"] for letter in kept) == times  # one letter each time it came, not each time we looked


@pytest.fixture
def weather(adapter_environment, datazone):
    """Every tenth post is throttled; three attempts in place of five let one event in a thousand come again."""
    adapter_environment.setattr("lineage_adapter.sink.FIRST_PAUSE", 0.0001)
    adapter_environment.setattr("lineage_adapter.sink.ATTEMPTS", 3)
    datazone.set("/fake/failures", error="ThrottlingException", rate=0.1, seed=20260804)
    yield
    datazone.set("/fake/failures", rate=0)


MANY = pytest.param(10_000, id="10000", marks=pytest.mark.slow)


@pytest.mark.parametrize("count", [2_000, MANY])
def test_a_stream_in_batches_of_500_loses_nothing_and_doubles_nothing(weather, datazone, letters, count, capsys):
    draw = random.Random(count)
    events = storm(count, draw)
    shard = KinesisShard(STREAM)
    for body in events.sent:
        shard.put(gzip.compress(body) if draw.random() < 0.2 and body in events.good else body)

    assert shard.drain(kinesis.handler, batch_size=500, context=Lambda)

    assert shard.invocations > math.ceil(len(events.sent) / 500)  # there were replays
    check(events, datazone, letters)
    capsys.readouterr()


@pytest.mark.parametrize("count", [1_000, MANY])
def test_the_routes_lose_nothing_either_while_emitters_try_again(weather, datazone, letters, count, invoke, capsys):
    """Emitters send again what is unavailable, as they are told to, and drop what is refused, as they all do."""
    draw = random.Random(count + 1)
    events = storm(count, draw)

    for body in events.sent:
        request = http_api(base64.b64encode(body).decode(), base64=True, authorizer=signed_by())
        while invoke(request).code in {429, 503}:
            pass

    check(events, datazone, letters)
    capsys.readouterr()


def test_batches_that_come_twice_double_no_event(weather, datazone, letters, capsys):
    """At-least-once: a whole batch again, though it had succeeded. Poison is then kept again, never lost.

    The answers that fail here come after DataZone took the event: the worst of failures.
    """
    draw = random.Random(3)
    datazone.set("/fake/failures", error="InternalServerException", after_accepting=True, rate=0.1, seed=3)
    events = storm(300, draw)
    shard = KinesisShard(STREAM)
    for body in events.sent:
        shard.put(body)

    assert shard.drain(kinesis.handler, batch_size=20, repeats=draw)

    accepted = [json.dumps(json.loads(body), sort_keys=True) for body in datazone.bodies]
    assert len(accepted) == len(set(accepted)) == len(events.good)
    assert {letter["data"]: letter["error"] for letter in letters.all()} == events.poison
    capsys.readouterr()


def test_a_keys_holder_that_never_tries_again_loses_nothing_with_a_redrive(
    adapter_environment, datazone, letters, invoke, monkeypatch, capsys
):
    from lineage_adapter.__main__ import main

    adapter_environment.setattr("lineage_adapter.sink.ATTEMPTS", 1)
    adapter_environment.setattr("lineage_adapter.redrive.WAIT_SECONDS", 0)
    datazone.set("/fake/failures", error="ThrottlingException", rate=0.1, seed=5)
    bodies = [of_run(number) for number in range(200)]

    codes = Counter(invoke(http_api(body.decode(), authorizer=keyed())).code for body in bodies)
    datazone.set("/fake/failures", error="ThrottlingException", rate=0)

    assert codes[429] > 5
    assert main(["redrive"]) == 0
    assert sorted(datazone.bodies) == sorted(body.decode() for body in bodies)
    capsys.readouterr()


class Lambda(SimpleNamespace):
    """A context with the time of a function that may take five minutes."""

    aws_request_id = "r-1"

    def get_remaining_time_in_millis(self) -> int:
        return 300_000
