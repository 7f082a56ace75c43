"""Running a suite on a batch: the verdict that decides whether anything is published."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING

from pipeline_runtime.errors import Problem, SuiteError
from pipeline_runtime.quality.checks import regexes_of
from pipeline_runtime.quality.fit import Misfit, fitted
from pipeline_runtime.quality.gx import start_import
from pipeline_runtime.quality.judging import Answer, Judge, Question
from pipeline_runtime.quality.kinds import COMPARES_VALUES, NOT_NULL
from pipeline_runtime.quality.result import AssertionResult, ValidationResult
from pipeline_runtime.quality.suite import ExpectationSpec, Suite
from pipeline_runtime.quality.wording import actual_text, expected_text

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["check_regexes", "java_refuses", "start_import", "validate"]


def validate(frame: DataFrame, suite: Suite, *, primary_keys: Sequence[str] = ()) -> ValidationResult:
    """The suite's verdict on the frame, one assertion an expectation, in the suite's order.

    Each of `primary_keys` must not be NULL, which adds an assertion where the suite has none of its own; and
    the rows that violate an expectation are named by these columns, twenty at most. No other values of rows
    are sampled.

    An expectation that cannot be judged on these columns has failed, and so has one that found no rows to
    look at. Raises SuiteError where Java does not compile a regex of the suite; what breaks in the engine is
    raised as it is, being no verdict. The frame is read several times: cache it, or read it from where it was
    written.
    """
    check_regexes(frame.sparkSession, suite)
    types = dict(frame.dtypes)
    specs = (*suite.expectations, *_implied(suite, primary_keys))
    asked = [_question(spec, types) for spec in specs]
    questions = [question for question in asked if isinstance(question, Question)]
    judge = Judge(frame)
    answers = iter(judge.answers(questions))
    keys = [name for name in types if name.casefold() in {key.casefold() for key in primary_keys}]
    results = []
    for spec, question in zip(specs, asked, strict=True):
        if isinstance(question, Misfit):
            results.append(_unjudged(spec, str(question)))
            continue
        answer = _in_utc(question, next(answers), types)
        samples = judge.sample(question, keys) if keys and answer.violations and not answer.success else []
        results.append(_assertion(spec, answer, samples))
    return ValidationResult(suite.name, tuple(results))


def check_regexes(spark: SparkSession, suite: Suite) -> None:
    """Let Java compile every regex of the suite, before any of them meets the data. Raises SuiteError."""
    jvm = spark.sparkContext._jvm
    assert jvm is not None  # noqa: S101
    problems = []
    for spec in suite.expectations:
        for _, regex in regexes_of(spec.kwargs):
            if reason := java_refuses(jvm, regex):
                problems.append(
                    Problem(suite.file, spec.line, f"{spec.type}: Java refuses the regex {regex}: {reason}")
                )
    if problems:
        raise SuiteError(problems)


def java_refuses(jvm: object, regex: str) -> str | None:
    from pyspark.errors import IllegalArgumentException

    try:
        jvm.java.util.regex.Pattern.compile(regex)  # type: ignore[attr-defined]
    except IllegalArgumentException as error:
        return str(error).splitlines()[0]
    return None


def _implied(suite: Suite, primary_keys: Sequence[str]) -> list[ExpectationSpec]:
    """That keys are not NULL, where the suite does not say so itself: uniqueness skips NULLs."""
    said = {
        spec.columns[0].casefold()
        for spec in suite.expectations
        if spec.type == NOT_NULL and set(spec.kwargs) == {"column"}
    }
    return [ExpectationSpec(NOT_NULL, {"column": key}, 0) for key in primary_keys if key.casefold() not in said]


def _question(spec: ExpectationSpec, types: Mapping[str, str]) -> Question | Misfit:
    try:
        return Question(spec.type, fitted(spec, types))
    except Misfit as misfit:
        return misfit


def _in_utc(question: Question, answer: Answer, types: Mapping[str, str]) -> Answer:
    """The answer with a measured timestamp in UTC; PySpark gives it in the process's own zone."""
    observed = answer.facts.get("observed_value")
    if question.type not in COMPARES_VALUES or types[str(question.kwargs["column"])] != "timestamp":
        return answer
    local = datetime.fromisoformat(observed) if isinstance(observed, str) else observed
    if not isinstance(local, datetime):
        return answer
    moment = local.astimezone(UTC).replace(tzinfo=None).isoformat()
    return replace(answer, facts={**answer.facts, "observed_value": f"{moment}Z"})


def _unjudged(spec: ExpectationSpec, reason: str) -> AssertionResult:
    return AssertionResult(
        assertion=spec.type,
        column=", ".join(spec.columns) or None,
        success=False,
        expected=expected_text(spec.type, spec.kwargs),
        detail=f"cannot be judged: {reason}",
    )


def _assertion(spec: ExpectationSpec, answer: Answer, samples: Sequence[Mapping[str, object]]) -> AssertionResult:
    if answer.error is not None:
        return _unjudged(spec, answer.error)
    expected = expected_text(spec.type, spec.kwargs)
    return AssertionResult(
        assertion=spec.type,
        column=", ".join(spec.columns) or None,
        success=answer.success and answer.evaluated != 0,
        expected=expected,
        actual=actual_text(spec.type, answer, expected),
        evaluated_rows=answer.evaluated,
        samples=tuple({name: _storable(value) for name, value in row.items()} for row in samples),
    )


def _storable(value: object) -> object:
    """A key's value as JSON can hold it."""
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return f"{value:f}"
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)
