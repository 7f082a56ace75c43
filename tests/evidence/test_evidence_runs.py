"""What the evidence prefix holds about a run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pipeline_runtime.errors import ConfigurationError, EvidenceFailed
from pipeline_runtime.evidence.runs import Claim, EventKind, Receipt, RunEvents, RunEvidence, Staged, events_by_run
from pipeline_runtime.evidence.store import EvidenceStore, open_store

RUN = "b8c1c9e3-5a1e-4c0f-9a1a-2c9f8b1a5e12"
OTHER_RUN = "0d2f6a77-0000-4c0f-9a1a-2c9f8b1a5e12"
RECEIPT = Receipt("ab" * 32, "2026-08-04T09:14:22.123Z", "https://adapter/lineage", "accepted", "lin-1")


@pytest.fixture
def store(tmp_path: Path) -> EvidenceStore:
    return open_store(str(tmp_path), lambda: pytest.fail("no S3 here"))


@pytest.fixture
def run(store: EvidenceStore) -> RunEvidence:
    return RunEvidence(store, RUN)


def files(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder / "runs" / RUN).as_posix() for path in folder.rglob("*") if path.is_file())


def test_whoever_stores_the_terminal_event_first_has_claimed_it(run: RunEvidence, store: EvidenceStore) -> None:
    closer = RunEvidence(store, RUN)

    assert closer.claim(EventKind.TERMINAL, b'{"eventType":"FAIL"}') == Claim(True, b'{"eventType":"FAIL"}')
    assert run.claim(EventKind.TERMINAL, b'{"eventType":"COMPLETE"}') == Claim(False, b'{"eventType":"FAIL"}')
    assert run.event(EventKind.TERMINAL) == b'{"eventType":"FAIL"}'


def test_a_claim_repeated_with_the_same_bytes_is_still_ours(run: RunEvidence) -> None:
    run.claim(EventKind.TERMINAL, b"same")
    assert run.claim(EventKind.TERMINAL, b"same") == Claim(True, b"same")


def test_each_record_lies_under_its_documented_name_and_reads_back(run: RunEvidence, tmp_path: Path) -> None:
    staged = Staged(
        "arn:aws:glue:eu-central-1:111122223333:table/a/b", "iceberg", "2026-08-04T09:14:22Z", 7, "audit_b8c1"
    )
    assert (run.receipt(EventKind.START), run.parked(EventKind.OTHER), run.staged(), run.refused()) == (None,) * 4

    for kind in EventKind:
        run.claim(kind, kind.name.encode())
    run.record_delivery(EventKind.START, RECEIPT)
    run.park(EventKind.OTHER, "too large")
    run.stage(staged)
    run.refuse("the descriptor does not parse", "2026-08-04T09:14:22Z")
    run.keep_listener_events(b"{}\n")

    assert files(tmp_path) == [
        "listener/events.jsonl",
        "other.json",
        "other.parked.json",
        "refused.json",
        "staged.json",
        "start.delivered.json",
        "start.json",
        "terminal.json",
    ]
    assert run.event(EventKind.START) == b"START"
    assert run.receipt(EventKind.START) == RECEIPT
    assert run.parked(EventKind.OTHER) == "too large"
    assert run.staged() == staged
    assert run.refused() == "the descriptor does not parse"
    assert run.listener_events() == b"{}\n"
    assert run.where(EventKind.TERMINAL) == str(tmp_path / "runs" / RUN / "terminal.json")


def test_parquet_locations_survive_the_write_ahead(run: RunEvidence) -> None:
    staged = Staged("arn", "parquet", "2026-08-04T09:14:22Z", locations=("s3://b/t/d=1/", "s3://b/t/d=2/"))
    run.stage(staged)
    assert run.staged() == staged


def test_a_run_may_start_where_its_evidence_can_be_written_and_its_id_is_free(run: RunEvidence) -> None:
    run.check()
    run.claim(EventKind.START, b"a run that crashed before it ended")
    run.check()


def test_a_run_whose_evidence_cannot_be_written_does_not_start(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    run = RunEvidence(open_store(str(tmp_path / "file"), lambda: pytest.fail("no S3 here")), RUN)

    with pytest.raises(ConfigurationError, match="CORDATA_EVIDENCE") as caught:
        run.check()
    assert caught.value.exit_code == 2


def test_a_run_id_that_has_its_terminal_event_is_not_used_again(run: RunEvidence, tmp_path: Path) -> None:
    run.claim(EventKind.TERMINAL, b"{}")
    with pytest.raises(ConfigurationError, match=r"already has its terminal event .*every run needs an id of its own"):
        run.check()


@pytest.mark.parametrize("run_id", ["jr_0ab1", "", "../x", RUN.upper(), RUN.replace("-", "")])
def test_a_run_id_that_is_no_uuid_is_refused(store: EvidenceStore, run_id: str) -> None:
    with pytest.raises(ConfigurationError, match="is not a UUID"):
        RunEvidence(store, run_id)


def test_the_listing_tells_what_is_stored_delivered_and_parked(run: RunEvidence, store: EvidenceStore) -> None:
    run.check()
    run.claim(EventKind.TERMINAL, b"{}")
    run.claim(EventKind.START, b"{}")
    run.record_delivery(EventKind.START, RECEIPT)
    run.park(EventKind.TERMINAL, "too large")
    other = RunEvidence(store, OTHER_RUN)
    other.claim(EventKind.START, b"{}")
    RunEvidence(store, "11111111-0000-4c0f-9a1a-2c9f8b1a5e12").refuse("no event", "2026-08-04T09:14:22Z")

    mine = RunEvents(
        (EventKind.START, EventKind.TERMINAL), frozenset({EventKind.START}), frozenset({EventKind.TERMINAL})
    )
    assert events_by_run(store) == {
        OTHER_RUN: RunEvents((EventKind.START,), frozenset(), frozenset()),
        RUN: mine,
    }
    assert events_by_run(store, [RUN]) == {RUN: mine}
    assert events_by_run(store, ["22222222-0000-4c0f-9a1a-2c9f8b1a5e12"]) == {}


def test_a_claim_refused_by_a_store_that_then_shows_nothing_is_a_failure(run: RunEvidence) -> None:
    class Contradictory:
        def put_if_absent(self, key: str, data: bytes) -> bool:
            return False

        def get(self, key: str) -> bytes | None:
            return None

        def describe(self, key: str) -> str:
            return key

    contradictory: Any = Contradictory()
    with pytest.raises(EvidenceFailed, match=r"terminal\.json"):
        RunEvidence(contradictory, RUN).claim(EventKind.TERMINAL, b"{}")


def test_records_are_json_that_people_can_read(run: RunEvidence, tmp_path: Path) -> None:
    run.park(EventKind.START, "größer als erlaubt")
    text = (tmp_path / "runs" / RUN / "start.parked.json").read_text(encoding="utf-8")
    assert json.loads(text) == {"reason": "größer als erlaubt"}
    assert "größer" in text
