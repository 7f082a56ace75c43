"""What a suite found: the outbound half of data quality."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["AssertionResult", "ValidationResult"]


@dataclass(frozen=True)
class AssertionResult:
    """One expectation, judged.

    `expected` and `actual` are text, as OpenLineage's facet wants them. `evaluated_rows` counts the rows
    that the judgement really rests on (NULLs that the expectation skips are not among them), None for
    expectations about the table's shape. `samples` are the primary keys of at most twenty rows that violate
    it, JSON values only, where the keys are known; no other value of the data is kept.
    """

    assertion: str
    column: str | None
    success: bool
    expected: str | None = None
    actual: str | None = None
    evaluated_rows: int | None = None
    detail: str | None = None
    samples: tuple[Mapping[str, object], ...] = ()

    def __str__(self) -> str:
        subject = f"{self.assertion}({self.column})" if self.column else self.assertion
        if self.detail is not None:
            return f"{subject}: {self.detail}"
        return f"{subject}: expected {self.expected}, actual {self.actual}"


@dataclass(frozen=True)
class ValidationResult:
    """A suite's verdict on one batch."""

    suite: str
    assertions: tuple[AssertionResult, ...]

    @property
    def success(self) -> bool:
        return all(assertion.success for assertion in self.assertions)

    @property
    def failed(self) -> tuple[AssertionResult, ...]:
        return tuple(assertion for assertion in self.assertions if not assertion.success)

    @property
    def summary(self) -> str:
        return f"{len(self.assertions) - len(self.failed)} passed, {len(self.failed)} failed"

    @property
    def failing_summary(self) -> str:
        """The failing expectations by name, for errors, the trace and the events."""
        return "; ".join(str(assertion) for assertion in self.failed)
