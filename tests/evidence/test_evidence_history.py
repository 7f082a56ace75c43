"""`quality`: whether the last batch passed, and the rule that a grant may hang on."""

from __future__ import annotations

import json
import os
import time
import uuid
from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline_runtime.cli import main
from pipeline_runtime.evidence.history import WEEK, Assertion, Batch, Outcome, history_of
from pipeline_runtime.lineage.events import RunStatus
from pipeline_runtime.lineage.facts import Release
from sandbox.audited_domain import ENDED, AuditedDomain

DATASET = "fraud_curated.transactions_scored"
FULL = "arn:aws:glue:eu-central-1:111122223333/table/fraud_curated/transactions_scored"
NULLS, DRIFT = "expect_column_values_to_not_be_null", "expect_column_kl_divergence_to_be_less_than"
FAILS, PASSES = {NULLS: False, DRIFT: True}, {NULLS: False, DRIFT: False}
NOW = "2026-08-05T00:00:00Z"


class Evidence:
    """An evidence folder that runs leave their verdicts in."""

    def __init__(self, folder: Path, domain: AuditedDomain, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self.domain, self._capsys, self._runs = folder, domain, capsys, 0
        (folder / "runs").mkdir(parents=True)

    def run(
        self, age: timedelta, failing: Mapping[str, bool], status: RunStatus | None = None, **more: Any
    ) -> tuple[str, Path]:
        """One run that ended `age` before NOW; by default blocked where it fails."""
        self._runs += 1
        run_id = f"00000000-0000-4000-8000-{self._runs:012d}"
        ended = datetime.fromisoformat(NOW) - age
        fails = any(failing.values())
        status = status or (RunStatus.FAIL if fails else RunStatus.COMPLETE)
        return run_id, self.domain.run(self.folder, run_id, ended, status=status, failing=failing, **more)

    def quality(self, dataset: str = DATASET, *options: str, at: str = NOW) -> tuple[int, dict[str, Any]]:
        arguments = ["quality", dataset, "--evidence", str(self.folder), "--at", at, "--format", "json", *options]
        code = main(arguments)
        shown = self._capsys.readouterr()
        found: dict[str, Any] = json.loads(shown.out) if shown.out else {"error": shown.err}
        return code, found

    def text(self, dataset: str = DATASET, at: str = NOW) -> tuple[int, list[str]]:
        code = main(["quality", dataset, "--evidence", str(self.folder), "--at", at])
        shown = self._capsys.readouterr()
        return code, (shown.out + shown.err).splitlines()


@pytest.fixture
def evidence(tmp_path: Path, domain: AuditedDomain, capsys: pytest.CaptureFixture[str]) -> Evidence:
    return Evidence(tmp_path / "evidence", domain, capsys)


def days(number: float) -> timedelta:
    return timedelta(days=number)


def test_three_failing_batches_in_a_rolling_week_break_the_rule_and_two_do_not(evidence: Evidence) -> None:
    for day in (1, 2):
        evidence.run(days(day), FAILS)
    assert evidence.quality()[0] == 0

    evidence.run(days(3), FAILS)

    code, found = evidence.quality()
    assert (code, found["rule"]) == (1, {"broken": True, "failing": 3, "allowed": 2})


def test_a_batch_that_is_exactly_a_week_old_has_left_the_window(evidence: Evidence) -> None:
    for age in (days(1), days(2), days(7)):
        evidence.run(age, FAILS)
    assert evidence.quality()[0] == 0
    evidence.run(days(7) - timedelta(milliseconds=1), FAILS)
    assert evidence.quality()[0] == 1


def test_a_batch_of_this_very_instant_counts_and_a_later_one_does_not(evidence: Evidence) -> None:
    for age in (days(1), days(2), -timedelta(milliseconds=1)):
        evidence.run(age, FAILS)
    assert evidence.quality()[0] == 0
    evidence.run(days(0), FAILS)
    assert evidence.quality()[0] == 1


def test_the_week_is_counted_in_utc_whatever_the_zone_of_the_question(
    evidence: Evidence, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "Pacific/Kiritimati")
    time.tzset()
    try:
        for age in (days(1), days(2), days(7) - timedelta(hours=1)):
            evidence.run(age, FAILS)
        assert evidence.quality()[0] == 1
        assert evidence.quality(at="2026-08-05T02:00:00+02:00")[0] == 1
        assert evidence.quality(at="2026-08-05T03:00:00+02:00")[0] == 0
    finally:
        monkeypatch.undo()
        time.tzset()


def test_a_run_whose_verdict_is_stored_twice_counts_once(evidence: Evidence) -> None:
    for day in (1, 2):
        _, folder = evidence.run(days(day), FAILS)
        again = evidence.folder / "runs" / str(uuid.uuid4())
        again.mkdir()
        (again / "other.json").write_bytes((folder / "other.json").read_bytes())
    assert evidence.quality()[1]["rule"]["failing"] == 2


def test_blocked_quarantined_and_warned_batches_all_count(evidence: Evidence) -> None:
    evidence.run(days(1), FAILS)
    evidence.run(days(2), FAILS, RunStatus.QUARANTINED)
    evidence.domain.on_failure = "warn"
    evidence.domain.write()
    evidence.run(days(3), FAILS, RunStatus.COMPLETE)
    evidence.run(days(4), PASSES)

    code, found = evidence.quality()

    assert (code, found["rule"]["failing"]) == (1, 3)
    outcomes = [batch["outcome"] for batch in found["batches"]]
    assert outcomes == ["passed", "warned", "quarantined", "blocked"]


def test_a_release_repeats_a_verdict_and_is_no_batch_of_its_own(evidence: Evidence) -> None:
    original, _ = evidence.run(days(2), FAILS, RunStatus.QUARANTINED)
    evidence.run(days(1), FAILS, RunStatus.COMPLETE, release=Release(original, "ana", "seen"))
    code, found = evidence.quality()
    assert (code, found["rule"]["failing"], found["last_batch"]["run_id"]) == (0, 1, original)


def test_the_last_batch_is_told_with_what_it_failed(evidence: Evidence) -> None:
    evidence.run(days(2), PASSES)
    run_id, _ = evidence.run(days(1), FAILS)
    last = evidence.quality()[1]["last_batch"]
    assert (last["run_id"], last["outcome"], last["time"]) == (run_id, "blocked", "2026-08-04T00:00:00.000Z")
    assert last["failed"] == [{"expectation": DRIFT, "column": "tx_id", "expected": "100 %", "actual": "97 %"}]


def test_failures_are_counted_by_expectation_within_the_week(evidence: Evidence) -> None:
    for age, failing in ((8, FAILS), (3, FAILS), (2, {NULLS: True, DRIFT: True}), (1, PASSES)):
        evidence.run(days(age), failing)
    counted = {each["expectation"]: each for each in evidence.quality()[1]["expectations"]}
    assert (counted[DRIFT]["failures"], counted[DRIFT]["batches"]) == (2, 3)
    assert counted[DRIFT]["last_failure"] == "2026-08-03T00:00:00.000Z"
    assert (counted[NULLS]["failures"], counted[NULLS]["batches"]) == (1, 3)


def test_the_lines_say_the_same(evidence: Evidence) -> None:
    evidence.run(days(2), FAILS)
    run_id, _ = evidence.run(days(1), PASSES)
    code, lines = evidence.text()
    assert code == 0
    assert lines == [
        f"dataset       {FULL}",
        f"last batch    passed, run {run_id} of transactions-scored-daily, 2026-08-04T00:00:00.000Z",
        "rolling week  after 2026-07-29T00:00:00.000Z up to 2026-08-05T00:00:00.000Z",
        "batches       2: 1 passed, 1 blocked",
        f"expectation   {DRIFT}(tx_id): failed 1 of 2 times, last 2026-08-03T00:00:00.000Z",
        f"expectation   {NULLS}(tx_id): held 2 times",
        "rule          holds: 1 batch failed in the rolling week, 3 break it",
    ]


def test_a_week_without_a_batch_holds_the_rule_and_says_that_nothing_was_checked(evidence: Evidence) -> None:
    for day in (10, 11, 12):
        evidence.run(days(day), FAILS)
    code, lines = evidence.text()
    assert code == 0
    assert lines[1].startswith("last batch    blocked, run ")
    assert "batches       none was checked in this week" in lines


@pytest.mark.parametrize("name", [DATASET, DATASET.upper(), "table/fraud_curated/transactions_scored", FULL])
def test_a_dataset_may_be_called_by_any_of_its_names(evidence: Evidence, name: str) -> None:
    evidence.run(days(1), PASSES)
    assert evidence.quality(name)[0] == 0


def test_a_dataset_that_nobody_judged_is_no_success(evidence: Evidence) -> None:
    evidence.run(days(1), PASSES)
    code, found = evidence.quality("fraud_curated.transaction_scored")
    assert code == 2
    assert found["error"].endswith(
        "no verdict about fraud_curated.transaction_scored is stored; did you mean fraud_curated.transactions_scored?\n"
    )


def test_a_name_that_two_accounts_share_must_be_written_in_full(evidence: Evidence) -> None:
    evidence.run(days(1), PASSES)
    _, folder = evidence.run(days(2), PASSES)
    file = folder / "other.json"
    file.write_text(file.read_text().replace("111122223333", "444455556666"))
    code, found = evidence.quality()
    assert (code, "write one of them in full" in found["error"]) == (2, True)
    assert evidence.quality(FULL)[0] == 0


@pytest.mark.parametrize("body", ["", "{", '{"eventType": "OTHER"}'])
def test_a_verdict_that_cannot_be_read_leaves_the_rule_unjudged(evidence: Evidence, body: str) -> None:
    evidence.run(days(1), PASSES)
    _, folder = evidence.run(days(2), FAILS)
    (folder / "other.json").write_text(body)
    code, found = evidence.quality()
    assert code == 2
    assert found["error"].endswith("with it unread the rule cannot be judged\n")


def test_an_assertion_that_does_not_say_that_it_held_has_failed(evidence: Evidence) -> None:
    _, folder = evidence.run(days(1), PASSES)
    file = folder / "other.json"
    event = json.loads(file.read_bytes())
    for assertion in event["inputs"][0]["inputFacets"]["dataQualityAssertions"]["assertions"]:
        assertion.pop("success")
    file.write_text(json.dumps(event))
    assert evidence.quality()[1]["rule"]["failing"] == 1


def test_a_verdict_on_nothing_is_no_batch_that_passed(evidence: Evidence) -> None:
    evidence.run(days(3), FAILS)
    _, folder = evidence.run(days(1), PASSES)
    file = folder / "other.json"
    event = json.loads(file.read_bytes())
    event["inputs"][0]["inputFacets"]["dataQualityAssertions"]["assertions"] = []
    file.write_text(json.dumps(event))
    assert evidence.quality()[1]["last_batch"]["outcome"] == "blocked"


def test_old_verdicts_are_not_read_unless_the_last_batch_is_among_them(evidence: Evidence) -> None:
    for age in (1, 2, 300, 301, 302):
        _, folder = evidence.run(days(age), FAILS)
        stored = (datetime.fromisoformat(NOW) - days(age)).timestamp()
        os.utime(folder / "other.json", (stored, stored))
        if age > 100:
            (folder / "other.json").write_text("broken, and nobody needs it")
            os.utime(folder / "other.json", (stored, stored))
    code, found = evidence.quality()
    assert (code, found["verdicts"]) == (0, {"read": 2, "stored": 5})


def test_the_last_batch_is_found_however_old_it_is(evidence: Evidence) -> None:
    for age in (100, 200):
        _, folder = evidence.run(days(age), FAILS)
        stored = (datetime.fromisoformat(NOW) - days(age)).timestamp()
        os.utime(folder / "other.json", (stored, stored))
    code, found = evidence.quality()
    assert (code, found["last_batch"]["time"]) == (0, "2026-04-27T00:00:00.000Z")


def test_the_evidence_prefix_may_lie_in_s3(evidence: Evidence, aws: Any) -> None:
    for day in (1, 2, 3):
        evidence.run(days(day), FAILS)
    bucket = f"quality-{uuid.uuid4().hex}"
    s3 = aws.client("s3")
    s3.create_bucket(Bucket=bucket, CreateBucketConfiguration={"LocationConstraint": aws.region})
    for file in evidence.folder.rglob("*.json"):
        key = f"evidence/{file.relative_to(evidence.folder).as_posix()}"
        s3.put_object(Bucket=bucket, Key=key, Body=file.read_bytes())
    assert main(["quality", DATASET, "--evidence", f"s3://{bucket}/evidence", "--at", NOW]) == 1
    assert main(["quality", DATASET, "--evidence", "s3://no-such-bucket-here/evidence", "--at", NOW]) == 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--evidence", "nowhere"], "nowhere: does not exist"),
        ([], "CORDATA_EVIDENCE is not set"),
        (["--at", "2026-08-05"], "is not `now` or ISO 8601 with an offset"),
        (["--at", "yesterday"], "is not `now` or ISO 8601 with an offset"),
    ],
)
def test_a_question_that_cannot_be_answered_exits_two(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, arguments: list[str], said: str
) -> None:
    monkeypatch.delenv("CORDATA_EVIDENCE", raising=False)
    assert main(["quality", DATASET, *arguments]) == 2
    assert said in capsys.readouterr().err


def batch(number: int, age: timedelta, fails: bool) -> Batch:
    return Batch(
        f"run-{number}",
        "job.validate",
        ENDED - age,
        ("arn", "table/a/b"),
        Outcome.BLOCKED if fails else Outcome.PASSED,
        (Assertion("expect_x", None, not fails, None, None),),
    )


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(-2, 16 * 24), st.booleans()), max_size=20))
def test_the_rule_is_broken_exactly_when_three_runs_failed_in_the_half_open_week(
    drawn: list[tuple[int, int, bool]],
) -> None:
    """The law, said another way: distinct failing runs with 0 ≤ age < 7 days, at least three of them."""
    runs = {number: (timedelta(hours=age), fails) for number, age, fails in drawn}
    batches = [batch(number, age, fails) for number, (age, fails) in runs.items()]
    expected = [number for number, (age, fails) in runs.items() if fails and timedelta(0) <= age < WEEK]

    history = history_of([*batches, *reversed(batches)], ENDED)

    assert history.rule_broken == (len(expected) >= 3)
    assert len(history.failing) == len(expected)
