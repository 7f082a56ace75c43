"""Emitting: stored first, then delivered, and never at the price of the run."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import shutil
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from pipeline_runtime.catalog.table import TableIdentity
from pipeline_runtime.errors import ConfigurationError, EngineFailed
from pipeline_runtime.evidence.runs import EventKind, RunEvidence
from pipeline_runtime.evidence.store import open_store
from pipeline_runtime.lineage.delivery import Delivery
from pipeline_runtime.lineage.emitter import Emitter
from pipeline_runtime.lineage.events import RunStatus, start_event, terminal_event, to_bytes, validation_event
from pipeline_runtime.lineage.facts import RunFacts

AT = datetime(2026, 8, 4, 9, 14, 22, tzinfo=UTC)


@pytest.fixture
def evidence(tmp_path: Path, facts: RunFacts) -> RunEvidence:
    return RunEvidence(open_store(str(tmp_path / "evidence"), lambda: pytest.fail("no S3 here")), facts.context.run_id)


@pytest.fixture
def log() -> list[str]:
    return []


def emit_all(emitter: Emitter, facts: RunFacts, status: RunStatus = RunStatus.COMPLETE) -> list[bytes]:
    """A whole run's events; returns their bytes."""
    error = None if status is RunStatus.COMPLETE else EngineFailed("no")
    events = [
        start_event(facts, at=AT),
        terminal_event(facts, status, at=AT, error=error),
        validation_event(facts, status, at=AT),
    ]
    emitter.check()
    emitter.start(events[0])
    emitter.terminal(events[1])
    emitter.other(events[2])
    return [to_bytes(event) for event in events]


def test_what_the_sink_receives_is_what_the_evidence_holds(
    evidence: RunEvidence, sink: Any, facts: RunFacts, log: list[str]
) -> None:
    emitter = Emitter(evidence, Delivery(sink.url), log.append)

    bodies = emit_all(emitter, facts)

    assert sink.bodies == bodies
    assert [evidence.event(kind) for kind in EventKind] == bodies
    assert [json.loads(body)["eventType"] for body in bodies] == ["START", "COMPLETE", "OTHER"]
    receipt = evidence.receipt(EventKind.TERMINAL)
    assert receipt is not None
    assert receipt.sha256 == hashlib.sha256(bodies[1]).hexdigest()
    assert (receipt.destination, receipt.status, receipt.id) == (sink.url, "accepted", "lin-1")
    assert (emitter.summary, emitter.undelivered, log) == ("lineage: delivered", [], [])


def test_the_event_is_stored_before_it_is_sent(
    evidence: RunEvidence, sink: Any, facts: RunFacts, log: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    stored: list[bool] = []
    send = Delivery.send

    def watched(self: Delivery, body: bytes, *, share: float = 1.0) -> Any:
        stored.append(any(evidence.event(kind) == body for kind in EventKind))
        return send(self, body, share=share)

    monkeypatch.setattr(Delivery, "send", watched)
    emit_all(Emitter(evidence, Delivery(sink.url), log.append), facts)
    assert stored == [True] * 3


def test_reported_ol_2_a_dead_sink_costs_bounded_time_and_is_said(
    evidence: RunEvidence, closed_port: int, facts: RunFacts, log: list[str]
) -> None:
    delivery = Delivery(f"http://127.0.0.1:{closed_port}/lineage", budget_seconds=1.0)
    emitter = Emitter(evidence, delivery, log.append)
    started = time.monotonic()

    bodies = emit_all(emitter, facts)

    assert time.monotonic() - started < 4
    assert [event.kind for event in emitter.undelivered] == list(EventKind)
    assert [evidence.event(kind) for kind in EventKind] == bodies
    assert all(evidence.receipt(kind) is None for kind in EventKind)
    assert emitter.summary.startswith("lineage: not delivered (START, TERMINAL, OTHER)")
    assert f"python -m pipeline_runtime replay {evidence.run_id}" in emitter.summary
    assert [line.split(":")[0] for line in log] == ["lineage"] * 3


def test_a_sink_that_recovers_gets_the_later_events(
    evidence: RunEvidence, sink: Any, facts: RunFacts, log: list[str]
) -> None:
    sink.script = [(403, b"not yet"), (202, b"")]
    emitter = Emitter(evidence, Delivery(sink.url), log.append)
    emit_all(emitter, facts)
    assert [event.kind for event in emitter.undelivered] == [EventKind.START]
    assert "not yet" in emitter.summary


def test_whoever_claimed_the_terminal_event_first_is_the_one_delivered(
    evidence: RunEvidence, sink: Any, facts: RunFacts, log: list[str]
) -> None:
    closers = to_bytes(terminal_event(facts, RunStatus.FAIL, at=AT, error=EngineFailed("the driver was killed")))
    evidence.claim(EventKind.TERMINAL, closers)

    outcome = Emitter(evidence, Delivery(sink.url), log.append).terminal(
        terminal_event(facts, RunStatus.COMPLETE, at=AT)
    )

    assert (outcome.won, outcome.body, outcome.event_type) == (False, closers, "FAIL")
    assert sink.bodies == [closers]
    assert "was stored before" in log[0]


def test_one_run_has_one_terminal_event_however_often_it_is_emitted(
    evidence: RunEvidence, sink: Any, facts: RunFacts, log: list[str]
) -> None:
    emitter = Emitter(evidence, Delivery(sink.url), log.append)
    first = emitter.terminal(terminal_event(facts, RunStatus.COMPLETE, at=AT))
    second = emitter.terminal(terminal_event(facts, RunStatus.FAIL, at=AT, error=EngineFailed("late")))
    assert (first.won, first.event_type) == (True, "COMPLETE")
    assert (second.won, second.event_type) == (False, "COMPLETE")
    assert set(sink.bodies) == {first.body}


def test_lineage_turned_off_stores_everything_and_sends_nothing(
    evidence: RunEvidence, facts: RunFacts, log: list[str]
) -> None:
    emitter = Emitter(evidence, None, log.append)
    bodies = emit_all(emitter, facts)
    assert [evidence.event(kind) for kind in EventKind] == bodies
    assert (emitter.summary, log) == ("lineage: turned off", [])


def test_a_run_whose_evidence_cannot_be_written_is_stopped_before_it_starts(
    tmp_path: Path, facts: RunFacts, log: list[str]
) -> None:
    (tmp_path / "file").touch()
    store = open_store(str(tmp_path / "file"), lambda: pytest.fail("no S3 here"))
    with pytest.raises(ConfigurationError, match="CORDATA_EVIDENCE"):
        Emitter(RunEvidence(store, facts.context.run_id), None, log.append).check()


def test_without_a_claim_the_terminal_event_is_not_sent_and_the_run_goes_on(
    evidence: RunEvidence, tmp_path: Path, sink: Any, facts: RunFacts, log: list[str]
) -> None:
    emitter = Emitter(evidence, Delivery(sink.url), log.append)
    emitter.start(start_event(facts, at=AT))
    shutil.rmtree(tmp_path / "evidence")
    (tmp_path / "evidence").touch()

    outcome = emitter.terminal(terminal_event(facts, RunStatus.COMPLETE, at=AT))

    assert (outcome.won, outcome.body, outcome.event_type) == (False, None, None)
    assert len(sink.received) == 1
    assert [(event.kind, event.stored) for event in emitter.undelivered] == [(EventKind.TERMINAL, False)]
    assert emitter.summary.startswith("lineage: not delivered (TERMINAL): evidence: ")
    assert "replay" not in emitter.summary


@pytest.mark.parametrize("case", ["no account", "too large"])
def test_reported_ol_3_and_6_an_event_that_must_not_be_sent_is_parked_with_its_reason(
    evidence: RunEvidence, sink: Any, facts: RunFacts, log: list[str], case: str
) -> None:
    assert facts.target is not None
    if case == "no account":
        unknown = TableIdentity("eu-central-1", "", "fraud_curated", "transactions_scored")
        changed = dataclasses.replace(facts, target=dataclasses.replace(facts.target, identity=unknown))
    else:
        assert facts.provenance is not None
        files = {f"sql/größe_{number}.sql": "ab" * 32 for number in range(4_000)}
        changed = dataclasses.replace(facts, provenance=dataclasses.replace(facts.provenance, files=files))
    emitter = Emitter(evidence, Delivery(sink.url), log.append)

    outcome = emitter.terminal(terminal_event(changed, RunStatus.COMPLETE, at=AT))

    assert outcome.won
    assert sink.received == []
    reason = evidence.parked(EventKind.TERMINAL)
    assert reason is not None
    assert ("no complete identity" if case == "no account" else "DataZone accepts 300,000") in reason
    assert reason in emitter.summary
