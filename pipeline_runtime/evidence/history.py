"""The assertion history of one dataset, and the rule that a grant may hang on.

A batch is one run whose suite was asked. It failed where any assertion failed, whatever was done about it: the run
was blocked, the batch went to quarantine, or it was published with a warning. A release repeats the verdict of the
run whose batch it publishes, so it is no batch of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum

from pipeline_runtime.evidence.event_reading import RunEvent, facet

__all__ = [
    "ALLOWED_FAILURES",
    "WEEK",
    "Assertion",
    "Batch",
    "ExpectationHistory",
    "History",
    "Outcome",
    "batch_of",
    "history_of",
]

#: The rolling window. Half open: a batch exactly this old has left it, so a daily batch is in it seven times.
WEEK = timedelta(days=7)

#: With one failing batch more in a window the rule is broken: failing three times.
ALLOWED_FAILURES = 2

_QUARANTINE = "__quarantine"


class Outcome(str, Enum):
    """What a suite's verdict meant for the batch."""

    PASSED = "passed"
    WARNED = "warned"
    BLOCKED = "blocked"
    QUARANTINED = "quarantined"


@dataclass(frozen=True)
class Assertion:
    """One expectation, judged on one batch; `expected` and `actual` are text."""

    expectation: str
    column: str | None
    success: bool
    expected: str | None
    actual: str | None


@dataclass(frozen=True)
class Batch:
    """One run's verdict; `job` is the job whose output was judged.

    `dataset` is (namespace, name) of the product, also where the batch is in its quarantine.
    """

    run_id: str
    job: str
    time: datetime
    dataset: tuple[str, str]
    outcome: Outcome
    assertions: tuple[Assertion, ...]

    @property
    def failed(self) -> tuple[Assertion, ...]:
        return tuple(assertion for assertion in self.assertions if not assertion.success)


@dataclass(frozen=True)
class ExpectationHistory:
    """One expectation over the window: how many batches it judged, how many failed it, and when last."""

    expectation: str
    column: str | None
    batches: int
    failures: int
    last_failure: datetime | None


@dataclass(frozen=True)
class History:
    """The window from `since` (exclusive) to `until`: its batches in order of time, expectations by name.

    `last` is the latest batch up to `until`, also where it lies before the window.
    """

    since: datetime
    until: datetime
    last: Batch | None
    batches: tuple[Batch, ...]
    expectations: tuple[ExpectationHistory, ...]

    @property
    def failing(self) -> tuple[Batch, ...]:
        return tuple(batch for batch in self.batches if batch.failed)

    @property
    def rule_broken(self) -> bool:
        """Whether the dataset's batches failed three times in the rolling week."""
        return len(self.failing) > ALLOWED_FAILURES

    def count(self, outcome: Outcome) -> int:
        return sum(batch.outcome is outcome for batch in self.batches)


def batch_of(event: RunEvent) -> tuple[Batch, ...]:
    """What an event says about batches: one for each input with assertions; none for a release's repetition."""
    if facet(event.run_facets, "cordata_release"):
        return ()
    job = event.job.removesuffix(".validate")
    found = []
    for dataset in event.inputs:
        said = facet(dataset.facets, "dataQualityAssertions").get("assertions")
        if not isinstance(said, list):
            continue
        items = [item for item in said if isinstance(item, dict) and isinstance(item.get("assertion"), str)]
        if not items:
            continue  # Nothing was asked, so nothing passed.
        assertions = tuple(
            Assertion(
                expectation=item["assertion"],
                column=_text(item.get("column")),
                # What does not say that it held has not been shown to hold.
                success=item.get("success") is True,
                expected=_text(item.get("expected")),
                actual=_text(item.get("actual")),
            )
            for item in items
        )
        in_quarantine = dataset.name.endswith(_QUARANTINE)
        name = dataset.name.removesuffix(_QUARANTINE)
        warns = any(item.get("severity") == "warn" for item in items)
        outcome = _outcome(assertions, in_quarantine=in_quarantine, warns=warns)
        found.append(Batch(event.run_id, job, event.time, (dataset.namespace, name), outcome, assertions))
    return tuple(found)


def history_of(batches: Iterable[Batch], until: datetime) -> History:
    """The rolling week that ends at `until`, from one dataset's batches in any order; later ones are left out."""
    by_run: dict[str, Batch] = {}
    for batch in batches:
        if batch.time <= until:
            known = by_run.get(batch.run_id)
            by_run[batch.run_id] = batch if known is None else min(known, batch, key=_order)
    ordered = sorted(by_run.values(), key=_order)
    window = tuple(batch for batch in ordered if batch.time > until - WEEK)
    return History(until - WEEK, until, ordered[-1] if ordered else None, window, _expectations(window))


def _order(batch: Batch) -> tuple[datetime, str, str, int]:
    # Of one run's repeated events the first counts; at one instant the one that failed.
    return batch.time, batch.run_id, batch.job, -len(batch.failed)


def _outcome(assertions: Sequence[Assertion], *, in_quarantine: bool, warns: bool) -> Outcome:
    if in_quarantine:
        return Outcome.QUARANTINED
    if all(assertion.success for assertion in assertions):
        return Outcome.PASSED
    return Outcome.WARNED if warns else Outcome.BLOCKED


def _expectations(batches: Sequence[Batch]) -> tuple[ExpectationHistory, ...]:
    judged: dict[tuple[str, str], list[tuple[datetime, bool]]] = {}
    for batch in batches:
        # A suite may ask one expectation of one column twice, with other bounds; a batch fails it once.
        once: dict[tuple[str, str], bool] = {}
        for assertion in batch.assertions:
            key = (assertion.expectation, assertion.column or "")
            once[key] = once.get(key, True) and assertion.success
        for key, success in once.items():
            judged.setdefault(key, []).append((batch.time, success))
    return tuple(
        ExpectationHistory(
            expectation=expectation,
            column=column or None,
            batches=len(results),
            failures=sum(not success for _, success in results),
            last_failure=max((time for time, success in results if not success), default=None),
        )
        for (expectation, column), results in sorted(judged.items())
    )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
