"""`replay`: late, and still the same bytes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pipeline_runtime.cli import main as command
from pipeline_runtime.evidence.runs import EventKind, Receipt, RunEvidence
from pipeline_runtime.evidence.store import EvidenceStore, open_store

RUN = "b8c1c9e3-5a1e-4c0f-9a1a-2c9f8b1a5e12"
OTHER_RUN = "0d2f6a77-0000-4c0f-9a1a-2c9f8b1a5e12"


def body(kind: EventKind, run_id: str = RUN) -> bytes:
    return json.dumps({"eventType": kind.name, "run": {"runId": run_id}, "note": "größe"}, ensure_ascii=False).encode()


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sink: Any) -> EvidenceStore:
    monkeypatch.setenv("CORDATA_EVIDENCE", str(tmp_path / "evidence"))
    monkeypatch.setenv("CORDATA_LINEAGE_URL", sink.url)
    monkeypatch.delenv("CORDATA_LINEAGE", raising=False)
    monkeypatch.delenv("CORDATA_LINEAGE_AUTH", raising=False)
    return open_store(str(tmp_path / "evidence"), lambda: pytest.fail("no S3 here"))


@pytest.fixture
def run(store: EvidenceStore) -> RunEvidence:
    run = RunEvidence(store, RUN)
    for kind in (EventKind.OTHER, EventKind.TERMINAL, EventKind.START):
        run.claim(kind, body(kind))
    return run


def test_what_was_not_delivered_is_sent_in_order_byte_for_byte(
    run: RunEvidence, sink: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command(["replay", RUN]) == 0

    assert sink.bodies == [body(kind) for kind in EventKind]
    assert capsys.readouterr().out.splitlines() == [
        f"{RUN} START: delivered, accepted as lin-1",
        f"{RUN} TERMINAL: delivered, accepted as lin-1",
        f"{RUN} OTHER: delivered, accepted as lin-1",
    ]
    assert run.receipt(EventKind.TERMINAL) is not None


def test_a_second_replay_sends_nothing(run: RunEvidence, sink: Any, capsys: pytest.CaptureFixture[str]) -> None:
    command(["replay", RUN])
    sink.received.clear()
    assert command(["replay", RUN]) == 0
    assert sink.received == []
    assert f"{RUN} START: was delivered before" in capsys.readouterr().out


def test_only_what_has_no_receipt_is_sent(run: RunEvidence, sink: Any) -> None:
    run.record_delivery(EventKind.START, Receipt("x", "2026-08-04T09:14:22Z", "u", "accepted", None))
    assert command(["replay"]) == 0
    assert sink.bodies == [body(EventKind.TERMINAL), body(EventKind.OTHER)]


def test_without_run_ids_every_run_of_the_prefix_is_replayed(run: RunEvidence, store: EvidenceStore, sink: Any) -> None:
    RunEvidence(store, OTHER_RUN).claim(EventKind.START, body(EventKind.START, OTHER_RUN))
    assert command(["replay"]) == 0
    assert sink.bodies == [body(EventKind.START, OTHER_RUN), *(body(kind) for kind in EventKind)]


def test_a_refusal_leaves_the_event_undelivered_and_the_others_are_still_sent(
    run: RunEvidence, sink: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    sink.script = [(400, b"no RunEvent"), (202, b"")]
    assert command(["replay", RUN]) == 1
    first, *others = capsys.readouterr().out.splitlines()
    assert first.startswith(f"{RUN} START: not delivered: ")
    assert first.endswith("answered 400: no RunEvent")
    assert others == [f"{RUN} TERMINAL: delivered, accepted", f"{RUN} OTHER: delivered, accepted"]
    assert run.receipt(EventKind.START) is None


def test_a_duplicate_counts_as_delivered(run: RunEvidence, sink: Any, capsys: pytest.CaptureFixture[str]) -> None:
    sink.script = [(200, b'{"status":"duplicate","id":"lin-7"}')]
    assert command(["replay", RUN]) == 0
    assert "START: delivered, duplicate as lin-7" in capsys.readouterr().out


@pytest.mark.parametrize("large", [False, True])
def test_a_parked_event_is_not_sent_and_says_why(
    store: EvidenceStore, sink: Any, capsys: pytest.CaptureFixture[str], large: bool
) -> None:
    run = RunEvidence(store, RUN)
    run.claim(EventKind.TERMINAL, b"x" * 300_001 if large else b"{}")
    if not large:
        run.park(EventKind.TERMINAL, "no complete identity")
    assert command(["replay"]) == 1
    assert sink.received == []
    reason = "300,001 bytes" if large else "no complete identity"
    assert f"{RUN} TERMINAL: not sent: " in (out := capsys.readouterr().out)
    assert reason in out


def test_a_run_that_has_no_events_is_said(store: EvidenceStore, capsys: pytest.CaptureFixture[str]) -> None:
    assert command(["replay", RUN]) == 1
    assert capsys.readouterr().out == f"{RUN}: no event is stored\n"
    assert command(["replay"]) == 0
    assert capsys.readouterr().out == "no event is stored\n"


def test_the_places_can_be_named_on_the_command_line(
    run: RunEvidence, tmp_path: Path, sink: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CORDATA_EVIDENCE")
    monkeypatch.delenv("CORDATA_LINEAGE_URL")
    monkeypatch.setenv("CORDATA_LINEAGE", "off")
    assert command(["replay", RUN, "--evidence", str(tmp_path / "evidence"), "--lineage-url", sink.url]) == 0
    assert len(sink.received) == 3


@pytest.mark.parametrize(
    ("environ", "argv", "words"),
    [
        ({"CORDATA_EVIDENCE": ""}, [], "CORDATA_EVIDENCE is not set"),
        ({"CORDATA_LINEAGE_URL": ""}, [], "no destination for lineage"),
        ({"CORDATA_LINEAGE": "off"}, [], "replay needs a destination"),
        ({}, ["jr_0ab1"], "is not a UUID"),
        ({}, ["--evidence", "gs://bucket"], "s3://bucket/prefix"),
        ({}, ["--no-such-option"], "unrecognized arguments"),
    ],
)
def test_a_command_that_cannot_be_used_exits_with_2_and_one_message(
    store: EvidenceStore,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    environ: dict[str, str],
    argv: list[str],
    words: str,
) -> None:
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    assert command(["replay", *argv]) == 2
    captured = capsys.readouterr()
    assert words in captured.err
    assert "Traceback" not in captured.err
    assert captured.out == ""


def test_help_is_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert command(["replay", "--help"]) == 0
    assert "START first, then the terminal event" in capsys.readouterr().out


def test_replay_needs_no_engine() -> None:
    code = (
        "import sys, pipeline_runtime.cli.replay as r; "
        "bad = {'pyspark', 'openlineage', 'great_expectations'} & set(sys.modules); sys.exit(str(bad) if bad else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
