"""An owner is told of what there is to act on, in the words of the trace, and of each thing once."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pipeline_runtime.catalog.deprecation import Deprecation
from pipeline_runtime.errors import (
    EngineFailed,
    PipelineError,
    PublishBlocked,
    Quarantined,
    RegistrationFailed,
    StepFailed,
    WriteFailed,
)
from pipeline_runtime.evidence.local import LocalStore
from pipeline_runtime.notify.notices import lost_run_notice
from pipeline_runtime.notify.once import Once
from pipeline_runtime.notify.owner import NoticeFile
from pipeline_runtime.notify.telling import signature_of, tell_of_failure, tell_of_run
from pipeline_runtime.notify.values import without_values
from pipeline_runtime.quality.result import AssertionResult, ValidationResult

NOON = datetime(2026, 8, 4, 12, tzinfo=UTC)


def run_id(number: int) -> str:
    return f"0b8c7a40-0000-4000-8000-{number:012d}"


@dataclass
class Owner:
    """An owner with a mailbox; runs of a pipeline that end at given times."""

    folder: Path
    deprecation: Deprecation | None = None
    said: list[str] = field(default_factory=list)

    @property
    def store(self) -> LocalStore:
        return LocalStore(self.folder / "evidence")

    @property
    def mailbox(self) -> NoticeFile:
        return NoticeFile(self.folder / "mailbox.jsonl")

    @property
    def told(self) -> list[dict[str, Any]]:
        file = self.folder / "mailbox.jsonl"
        return [json.loads(line) for line in file.read_text("utf-8").splitlines()] if file.exists() else []

    @property
    def told_of(self) -> list[int]:
        return [int(notice["run_id"][-4:]) for notice in self.told]

    def facts(self, number: int, published: Any = None) -> Any:
        metadata = SimpleNamespace(name="claims-ingest", domain="policy", owner="policy@example.com")
        source = SimpleNamespace(deprecation=self.deprecation, pinned_version=7)
        declared = SimpleNamespace(fqn="policy_landing.claims")
        return SimpleNamespace(
            descriptor=SimpleNamespace(metadata=metadata, source=declared),
            context=SimpleNamespace(run_id=run_id(number)),
            source=source,
            published=published,
        )

    def run(self, number: int, error: PipelineError | None, *, at: datetime = NOON, published: Any = None) -> list[str]:
        lines = [] if error is None else [f"{type(error).__name__}: {error}"]
        said = list(tell_of_run(self.facts(number, published), error, lines, self.mailbox, self.store, at))
        self.said += said
        return said


@pytest.fixture
def owner(tmp_path: Path) -> Owner:
    return Owner(tmp_path)


def blocked(actual: str, expectations: Sequence[str] = ("expect_column_values_to_not_be_null",)) -> PublishBlocked:
    broken = tuple(AssertionResult(each, "iban", False, "not NULL", actual) for each in expectations)
    return PublishBlocked("claims-ingest", ValidationResult("claims", broken))


def quarantined() -> Quarantined:
    return Quarantined("claims-ingest", "policy_raw.claims__quarantine", blocked("3 of 9").result)


def test_a_failure_is_told_in_the_words_of_the_trace_with_who_acts_and_where_to_read_on(owner):
    (said,) = owner.run(1, WriteFailed("policy_raw.claims: S3 does not answer"))

    assert said == f"policy@example.com → {owner.folder / 'mailbox.jsonl'}"
    (notice,) = owner.told
    assert (notice["kind"], notice["subject"]) == ("failure", "claims-ingest: run failed, WriteFailed")
    assert notice["text"].startswith("WriteFailed: policy_raw.claims: S3 does not answer\n\n")
    assert f"Pipeline claims-ingest of domain policy, run {run_id(1)}: nothing was published.\n" in notice["text"]
    assert "Who acts: whoever is on duty. Run again:" in notice["text"]
    assert notice["text"].endswith("docs/operations.md#writefailed\n")


def test_what_failed_after_the_publish_is_told_as_such(owner):
    owner.run(1, RegistrationFailed("x is published, but its contract is not registered"), published=object())
    assert "the batch is published, what follows it failed" in owner.told[0]["text"]


def test_a_run_that_publishes_tells_nobody_and_leaves_nothing(owner):
    assert owner.run(1, None) == []
    assert owner.told == []
    assert owner.store.keys("") == []


def test_one_run_is_told_of_once_though_run_and_closer_both_do_it(owner):
    gate = threading.Barrier(8)
    lost = lost_run_notice(
        owner="policy@example.com",
        domain="policy",
        pipeline="claims-ingest",
        run_id=run_id(1),
        reason="the job run ended as TIMEOUT",
        at="2026-08-04T12:00:00.000Z",
    )

    def tell(as_closer: bool) -> None:
        gate.wait()
        if as_closer:
            tell_of_failure(owner.store, owner.mailbox, lost, signature_of(lost.text), NOON)
        else:
            owner.run(1, EngineFailed("Spark's JVM is gone"))

    threads = [threading.Thread(target=tell, args=(number % 2 == 0,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert owner.told_of == [1]


def test_the_same_failure_of_following_runs_is_told_once_a_day_until_a_run_publishes(owner):
    def drift(number: int, at: datetime) -> None:
        owner.run(number, WriteFailed(f"claims: no answer to request 9f86d081884c7d65 of run {run_id(number)}"), at=at)

    hour = timedelta(hours=1)
    for number in range(1, 25):
        drift(number, NOON + hour * (number - 1))
    assert owner.told_of == [1]
    assert owner.said[1] == (
        f"policy@example.com was told of this failure at 2026-08-04T12:00:00.000Z (run {run_id(1)}), "
        "and is again after 24 hours"
    )
    drift(25, NOON + hour * 24)
    assert owner.told_of == [1, 25]

    owner.run(26, None, at=NOON + hour * 25)
    drift(27, NOON + hour * 26)
    assert owner.told_of == [1, 25, 27]


def test_another_failure_is_told_of_at_once(owner):
    owner.run(1, WriteFailed("claims is at v8, descriptor pins v7. Diff: + mcc (string)"))
    owner.run(2, WriteFailed("claims is at v8, descriptor pins v7. Diff: - amount (string)"))
    owner.run(3, WriteFailed("claims is at v8, descriptor pins v7. Diff: + mcc (string)"))
    assert owner.told_of == [1, 2, 3]


def test_a_table_that_grows_makes_no_new_failure_of_the_same_drift(owner):
    for number in (1, 2, 3):
        owner.run(number, WriteFailed(f"claims is at v{7 + number}, descriptor pins v7. Diff: + mcc (string)"))
    assert owner.told_of == [1]


def test_a_failed_suite_is_the_same_failure_where_the_same_expectations_failed(owner):
    owner.run(1, blocked("3 of 9"))
    owner.run(2, blocked("4 of 9"))
    owner.run(3, blocked("4 of 9", ("expect_column_values_to_not_be_null", "expect_column_values_to_be_unique")))
    assert owner.told_of == [1, 3]


def test_each_quarantined_batch_is_told_of(owner):
    for number in (1, 2):
        owner.run(number, quarantined(), published=SimpleNamespace(rows=3))
    assert owner.told_of == [1, 2]
    assert [notice["kind"] for notice in owner.told] == ["quarantine", "quarantine"]


def test_what_could_not_be_told_is_told_by_whoever_looks_next(owner):
    (owner.folder / "mailbox.jsonl").mkdir()
    (said,) = owner.run(1, WriteFailed("claims: no answer"))
    assert said.startswith("policy@example.com was not told: ")
    (owner.folder / "mailbox.jsonl").rmdir()

    owner.run(1, WriteFailed("claims: no answer"))
    owner.run(1, WriteFailed("claims: no answer"))

    assert owner.told_of == [1]


def test_a_failure_that_nobody_could_be_told_of_keeps_no_later_run_silent(owner):
    (owner.folder / "mailbox.jsonl").mkdir()
    owner.run(1, WriteFailed("claims: no answer"))
    (owner.folder / "mailbox.jsonl").rmdir()
    owner.run(2, WriteFailed("claims: no answer"), at=NOON + timedelta(minutes=9))
    owner.run(3, WriteFailed("claims: no answer"), at=NOON + timedelta(minutes=11))
    assert owner.told_of == [3]


def test_a_teller_that_was_killed_is_followed_by_another_after_ten_minutes(owner):
    assert Once(owner.store, f"told/{run_id(1)}").attempt(NOON) is not None  # and then it was killed
    owner.run(1, WriteFailed("claims: no answer"), at=NOON + timedelta(minutes=9))
    assert owner.told_of == []
    owner.run(1, WriteFailed("claims: no answer"), at=NOON + timedelta(minutes=10))
    owner.run(1, WriteFailed("claims: no answer"), at=NOON + timedelta(minutes=30))
    assert owner.told_of == [1]


def test_where_evidence_cannot_be_kept_twice_is_better_than_not_at_all(owner):
    (owner.folder / "evidence").write_text("a file, no folder")
    owner.run(1, WriteFailed("claims: no answer"))
    owner.run(1, WriteFailed("claims: no answer"))
    assert owner.told_of == [1, 1]


def test_whatever_happens_to_a_notice_is_a_line_of_the_trace_and_no_crash(owner, monkeypatch):
    def broken(*_: Any) -> None:
        raise RuntimeError("password=hunter2")

    monkeypatch.setattr(NoticeFile, "tell", broken)
    assert owner.run(1, WriteFailed("no answer")) == ["policy@example.com was not told: RuntimeError: password=***"]


def test_a_deprecation_is_told_once_for_each_day_and_again_in_the_last_week(owner):
    owner.deprecation = Deprecation(date(2026, 12, 31), "policy_landing.claims_v8")
    days = [datetime(2026, 8, 4, tzinfo=UTC), datetime(2026, 12, 23, tzinfo=UTC), datetime(2026, 12, 24, tzinfo=UTC)]
    for number, day in enumerate([*days, datetime(2026, 12, 25, tzinfo=UTC)], 1):
        owner.run(number, None, at=day)
    assert owner.told_of == [1, 3]
    text = owner.told[0]["text"]
    assert text.startswith("policy_landing.claims v7 is deprecated: readable until 2026-12-31, a failure after it. ")
    assert "Move to policy_landing.claims_v8 before then." in text

    owner.deprecation = Deprecation(date(2027, 3, 31))
    owner.run(5, None, at=datetime(2026, 12, 25, tzinfo=UTC))
    assert owner.told_of == [1, 3, 5]


@pytest.mark.parametrize(
    ("message", "told"),
    [
        (
            """[CAST_INVALID_INPUT] The value 'DE893704004405' of the type "STRING" cannot be cast to "BIGINT".""",
            """[CAST_INVALID_INPUT] The value … of the type "STRING" cannot be cast to "BIGINT".""",
        ),
        (
            """[CAST_OVERFLOW] The value 99999999999L of the type "BIGINT" cannot be cast to "INT".""",
            """[CAST_OVERFLOW] The value … of the type "BIGINT" cannot be cast to "INT".""",
        ),
        ("Text '4 August' could not be parsed at index 0", "Text … could not be parsed at index 0"),
        ("[NUMERIC_VALUE_OUT_OF_RANGE] 123456.78 cannot be represented as Decimal(5, 2).",) * 2,
        ("ValueError: could not convert string to float: 'secret'", "ValueError: could not convert string to float: …"),
        ("""NumberFormatException: For input string: "4711\"""", "NumberFormatException: For input string: …"),
        (
            "ValueError: invalid literal for int() with base 10: 'x'",
            "ValueError: invalid literal for int() with base 10: …",
        ),
    ],
)
def test_a_notice_shows_no_value_that_an_engine_quotes(message, told, owner):
    told = told.replace("123456.78", "…")
    assert without_values(message) == told
    owner.run(1, StepFailed(f"step score (sql/score.sql:3): {message}"))
    assert f"step score (sql/score.sql:3): {told}\n" in owner.told[0]["text"]


def test_names_stay_in_a_notice():
    said = "sql/score.sql:3: column `amount` of 'policy_raw.claims' is not there; did you mean 'amounts'?"
    assert without_values(said) == said
