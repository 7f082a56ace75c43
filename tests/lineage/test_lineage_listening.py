"""Waiting for the lineage listener when a run has ended."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JError

from pipeline_runtime.engine.run_session import RunSession
from pipeline_runtime.evidence.runs import RunEvidence
from pipeline_runtime.evidence.store import open_store
from pipeline_runtime.lineage.listener import LISTENER_CLASS

RUN = "b8c1c9e3-5a1e-4c0f-9a1a-2c9f8b1a5e12"


def session(start: Callable[[str, Mapping[str, str]], Any], seconds: float = 10.0) -> RunSession:
    return RunSession(start, namespace="cordata.fraud", job="scored", run_id=RUN, listener_seconds=seconds)


@pytest.fixture
def evidence(tmp_path: Path) -> RunEvidence:
    return RunEvidence(open_store(str(tmp_path), lambda: pytest.fail("no S3 here")), RUN)


@pytest.fixture
def started(evidence: RunEvidence) -> Iterator[Callable[..., RunSession]]:
    """Starts a run's session on a Spark that is there; the listener's file holds what is given."""
    sessions = []

    def start_one(spark: Any, text: str, seconds: float = 10.0) -> RunSession:
        def start(_name: str, settings: Mapping[str, str]) -> Any:
            Path(settings["spark.openlineage.transport.location"]).write_text(text, "utf-8")
            return spark

        sessions.append(session(start, seconds))
        sessions[-1].start(warehouse="s3://test-lake", foreign_accounts=(), endpoint=None)
        return sessions[-1]

    yield start_one
    for each in sessions:
        each.end(evidence)


class Restless:
    """A Spark with the listener attached and a bus that does not come to rest; all of its objects in one."""

    def __init__(self) -> None:
        self.sparkContext = self._jsc = self
        self.waits: list[int] = []

    def getConf(self) -> Restless:  # noqa: N802 - Spark's own name
        return self

    def sc(self) -> Restless:
        return self

    def listenerBus(self) -> Restless:  # noqa: N802 - Spark's own name
        return self

    def getAll(self) -> list[tuple[str, str]]:  # noqa: N802 - Spark's own name
        return [("spark.extraListeners", LISTENER_CLASS)]

    def waitUntilEmpty(self, milliseconds: int) -> None:  # noqa: N802 - Spark's own name
        self.waits.append(milliseconds)
        time.sleep(milliseconds / 1000)
        raise Py4JError("java.util.concurrent.TimeoutException: The event queue is not empty")


@contextmanager
def attached(spark: Any) -> Iterator[None]:
    """Within, the shared session's settings name the lineage listener, as a deployment's do."""
    conf = spark.sparkContext._conf
    conf.set("spark.extraListeners", LISTENER_CLASS)
    try:
        yield
    finally:
        conf.set("spark.extraListeners", "")


def test_a_run_that_never_started_spark_says_so() -> None:
    witness = session(lambda *_: pytest.fail("not to be started")).listened(engine_answers=True)
    assert (witness.events, witness.missing) == ((), "Spark was not started")


@pytest.mark.spark
def test_without_a_listener_the_run_says_so(spark: Any, started: Any) -> None:
    witness = started(spark, "").listened(engine_answers=True)
    assert (witness.events, witness.missing) == ((), "no lineage listener was attached to the run's Spark")


@pytest.mark.spark
def test_a_listener_that_was_heard_to_the_end_leaves_nothing_missing(
    spark: Any, started: Any, evidence: RunEvidence
) -> None:
    run = started(spark, '{"eventType":"COMPLETE"}\n{"cut sho')
    with attached(spark):
        witness = run.listened(engine_answers=True)
    assert (witness.events, witness.missing) == (({"eventType": "COMPLETE"},), None)
    assert run.end(evidence) is None
    assert evidence.listener_events() == b'{"eventType":"COMPLETE"}\n{"cut sho\n'


def test_after_an_interrupt_the_file_is_read_and_the_engine_is_not_asked(started: Any) -> None:
    spark = Restless()
    run = started(spark, '{"eventType":"START"}\n')
    witness = run.listened(engine_answers=False)
    assert spark.waits == []
    assert witness.events == ({"eventType": "START"},)
    assert "the run was interrupted" in str(witness.missing)


def test_a_listener_that_takes_too_long_leaves_what_it_wrote_and_is_waited_for_once(started: Any) -> None:
    spark = Restless()
    run = started(spark, '{"eventType":"START"}\n', seconds=0.3)
    first, second = run.listened(engine_answers=True), run.listened(engine_answers=True)
    assert spark.waits == [300, 0]
    assert first == second
    assert first.events == ({"eventType": "START"},)
    assert "had not heard of everything after 0.3 s" in str(first.missing)


class Gone:
    """A Spark whose JVM was killed: whatever is asked of it fails at the socket."""

    @property
    def sparkContext(self) -> Any:  # noqa: N802 - Spark's own name
        raise ConnectionRefusedError(111, "Connection refused")


def test_a_jvm_that_is_gone_costs_the_lineage_and_not_the_terminal_event(started: Any) -> None:
    witness = started(Gone(), '{"eventType":"START"}\n').listened(engine_answers=True)
    assert witness.events == ({"eventType": "START"},)
    assert "Spark did not answer" in str(witness.missing)
