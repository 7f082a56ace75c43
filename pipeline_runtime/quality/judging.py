"""Asking Great Expectations: many expectations about one frame, in as few passes over it as it can be brought to.

Its expectations and metrics are used, its checkpoints and validators are not: those take samples of values on
every run (a job each), ask for the same counts under several names, and report an expectation that could not
be evaluated in the same way whether the suite is wrong or the engine is down.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from pipeline_runtime.quality.gx import Gx, load_gx
from pipeline_runtime.quality.kinds import COUNTS_NULLS, SHAPE

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructType

__all__ = ["MAX_SAMPLES", "Answer", "Judge", "Question", "Violating"]

#: Rows that a failing expectation may name.
MAX_SAMPLES = 20

_NULLS = "column_values.nonnull.unexpected_count"
_ROWS = "table.row_count"
#: What decides which rows a metric looks at.
_DOMAIN = ("batch_id", "row_condition", "condition_parser")


@dataclass(frozen=True)
class Question:
    """One expectation, with arguments that fit the frame."""

    type: str
    kwargs: Mapping[str, object]


@dataclass(frozen=True)
class Answer:
    """What Great Expectations found.

    `violations` is the number of rows that do not meet a row-level expectation, None for others. `evaluated`
    is the number of rows looked at, None where rows are not the point. `facts` is Great Expectations' own
    account of the rest: `observed_value` where one value was measured.
    """

    success: bool
    violations: int | None = None
    evaluated: int | None = None
    error: str | None = None
    facts: Mapping[str, Any] = dataclasses.field(default_factory=dict)


@dataclass(frozen=True)
class Violating:
    """Rows that violate an expectation: `violates` holds for them, and so does each of `within`.

    `within` says which rows the expectation looks at; `violates` may be a window over those.
    """

    violates: Column
    within: tuple[Column, ...]


class _Filters:
    """Stands in for a frame where Great Expectations filters one, and keeps the filters."""

    def __init__(self, schema: StructType) -> None:
        self.schema = schema
        self.conditions: list[Column] = []

    def filter(self, condition: Column | str) -> _Filters:
        from pyspark.sql import functions as F  # noqa: N812

        self.conditions.append(F.expr(condition) if isinstance(condition, str) else condition)
        return self


class _Stopped(BaseException):
    """Carries an error that is no verdict past Great Expectations, which takes every Exception for one."""

    def __init__(self, cause: Exception) -> None:
        super().__init__(str(cause))
        self.cause = cause


@dataclass(frozen=True)
class _Prepared:
    question: Question
    expectation: Any
    runtime: Mapping[str, Any]
    metrics: Mapping[str, Any]

    @property
    def map_metric(self) -> str | None:
        """The name of the row-level condition, None for aggregates and for what is about the table's shape."""
        return None if self.question.type in SHAPE else getattr(self.expectation, "map_metric", None)


class Judge:
    """Answers questions about one frame.

    Whatever is no verdict on the suite or the data (the engine, the network, an interrupt) is raised as it is.
    """

    def __init__(self, frame: DataFrame) -> None:
        self._frame = frame
        self._gx = load_gx()
        self._engine = _engine_class()(spark=frame.sparkSession, persist=False)
        self._engine.load_batch_data("batch", frame)
        self._calculator = self._gx.MetricsCalculator(execution_engine=self._engine, show_progress_bars=False)

    def answers(self, questions: Sequence[Question]) -> list[Answer]:
        """One answer a question, in order."""
        prepared = [self._prepare(question) for question in questions]
        sound = [item for item in prepared if isinstance(item, _Prepared)]
        try:
            metrics = self._metrics(sound)
        except _Unanswerable:
            # One that cannot be computed takes the others with it; each alone then, to see which.
            return [item if isinstance(item, Answer) else self._alone(item) for item in prepared]
        return [item if isinstance(item, Answer) else self._answer(item, metrics) for item in prepared]

    def sample(self, question: Question, columns: Sequence[str]) -> list[dict[str, object]]:
        """These columns of at most 20 of the rows that violate a row-level expectation."""
        prepared = self._prepare(question)
        if isinstance(prepared, Answer) or prepared.map_metric is None:
            return []
        violates, domain = self._condition(prepared)
        rows = self._engine.get_domain_records(domain).withColumn("__violates", violates)
        found = rows.filter("__violates").select(*(f"`{name}`" for name in columns)).limit(MAX_SAMPLES).collect()
        return [row.asDict() for row in found]

    def violating(self, question: Question) -> Violating | None:
        """Which rows violate a row-level expectation; None for one that is not about rows, or cannot be judged."""
        prepared = self._prepare(question)
        if isinstance(prepared, Answer) or prepared.map_metric is None:
            return None
        try:
            violates, domain = self._condition(prepared)
        except _Unanswerable:
            return None
        filters = _Filters(self._frame.schema)
        recorder = _engine_class()(spark=self._frame.sparkSession, persist=False)
        recorder.load_batch_data("batch", self._gx.SparkDFBatchData(recorder, filters))
        recorder.get_domain_records(domain)
        return Violating(violates, tuple(filters.conditions))

    def _condition(self, prepared: _Prepared) -> tuple[Column, dict[str, Any]]:
        """True for the rows of its domain that violate the expectation, and the domain."""
        counted = prepared.metrics[f"{prepared.map_metric}.unexpected_count"]
        condition = self._gx.MetricConfiguration(
            f"{prepared.map_metric}.condition", counted.metric_domain_kwargs, counted.metric_value_kwargs
        )
        violates, domain, accessor = self._compute([condition])[condition.id]
        return violates, {**domain, **accessor}

    def _prepare(self, question: Question) -> _Prepared | Answer:
        try:
            expectation = self._gx.get_expectation_impl(question.type)(**question.kwargs)
            by_row = question.type not in SHAPE and getattr(expectation, "map_metric", None)
            # Row-level expectations sample values for every format but this one; their counts are read below.
            report = {"result_format": "BOOLEAN_ONLY" if by_row else "BASIC", "partial_unexpected_count": 0}
            runtime = {"result_format": report}
            needed = expectation.get_validation_dependencies(self._engine, dict(runtime)).metric_configurations
        except Exception as error:
            if not _is_verdict(error):
                raise
            return Answer(False, error=_reason(error))
        return _Prepared(question, expectation, runtime, {**self._counts(question.type, expectation), **needed})

    def _counts(self, type_: str, expectation: Any) -> dict[str, Any]:
        """The metrics that say how many rows a column's expectation looks at."""
        kwargs = expectation.configuration.kwargs
        if type_ in SHAPE or "column" not in kwargs:
            return {}
        domain = {key: kwargs.get(key) for key in _DOMAIN}
        nulls = self._gx.MetricConfiguration(_NULLS, {"column": kwargs["column"], **domain})
        return {_ROWS: self._gx.MetricConfiguration(_ROWS, domain), _NULLS: nulls}

    def _metrics(self, prepared: Iterable[_Prepared]) -> Mapping[Any, Any]:
        return self._compute([metric for item in prepared for metric in item.metrics.values()])

    def _compute(self, metrics: list[Any]) -> Mapping[Any, Any]:
        """The values of the metrics by their ids. Raises _Unanswerable; engine errors as they are."""
        try:
            values, _ = self._calculator.compute_metrics(metrics, runtime_configuration={"catch_exceptions": False})
        except _Stopped as stopped:
            raise stopped.cause from None
        except self._gx.MetricResolutionError as error:
            cause = error.__cause__ or error
            if isinstance(cause, Exception) and not _is_verdict(cause):
                raise cause from None
            raise _Unanswerable(_reason(cause)) from None
        return values  # type: ignore[no-any-return]

    def _alone(self, prepared: _Prepared) -> Answer:
        try:
            return self._answer(prepared, self._metrics([prepared]))
        except _Unanswerable as error:
            return self._nothing_there(prepared) or Answer(False, error=str(error))

    def _nothing_there(self, prepared: _Prepared) -> Answer | None:
        """The answer where there is no row to look at, which is more to the point than what that led to."""
        counts = self._counts(prepared.question.type, prepared.expectation)
        values = self._compute(list(counts.values()))
        found = {name: values[metric.id] for name, metric in counts.items()}
        return Answer(False, evaluated=0) if _evaluated(prepared, found) == 0 else None

    def _answer(self, prepared: _Prepared, values: Mapping[Any, Any]) -> Answer:
        found = {name: values[metric.id] for name, metric in prepared.metrics.items()}
        if _evaluated(prepared, found) == 0:
            return Answer(False, evaluated=0)
        try:
            result = prepared.expectation.metrics_validate(values, dict(prepared.runtime), self._engine)
        except Exception as error:
            if not _is_verdict(error):
                raise
            return Answer(False, error=_reason(error))
        return Answer(
            success=bool(result.success),
            violations=_count(found.get(f"{prepared.map_metric}.unexpected_count")) if prepared.map_metric else None,
            evaluated=_evaluated(prepared, found),
            facts=result.result or {},
        )


class _Unanswerable(Exception):
    """Great Expectations or Spark's analyser refused; the text says why."""


def _evaluated(prepared: _Prepared, found: Mapping[str, Any]) -> int | None:
    filtered = found.get(f"{prepared.map_metric}.filtered_row_count")
    if filtered is not None:
        return _count(filtered)
    if prepared.question.type in SHAPE or _ROWS not in found:
        return None
    return _count(found[_ROWS]) - (0 if prepared.question.type in COUNTS_NULLS else _count(found.get(_NULLS)))


def _count(value: Any) -> int:
    # A sum over no rows is NULL.
    return int(value or 0)


def _is_verdict(error: BaseException) -> bool:
    """True where the error says that the suite does not fit the data, not that something broke."""
    from py4j.protocol import Py4JError
    from pyspark.errors import (
        AnalysisException,
        IllegalArgumentException,
        PySparkException,
        PySparkTypeError,
        PySparkValueError,
    )

    from pipeline_runtime.errors import PipelineError

    if isinstance(error, AnalysisException | IllegalArgumentException | PySparkTypeError | PySparkValueError):
        return True
    return not isinstance(error, PySparkException | Py4JError | PipelineError | OSError | MemoryError)


def _reason(error: BaseException) -> str:
    """An error in one line: its class and what it says, without Spark's plans."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = "; ".join(lines) if any("validation error" in line for line in lines[:1]) else "".join(lines[:1])
    return f"{type(error).__name__}: {text[:300]}"


@cache
def _engine_class() -> Any:
    gx: Gx = load_gx()

    class OnePassEngine(gx.SparkDFExecutionEngine):  # type: ignore[misc, name-defined]
        """Computes in one pass what can be: Great Expectations takes one for each layer of its graph."""

        def resolve_metrics(self, metrics_to_resolve: Iterable[Any], *args: Any, **kwargs: Any) -> Any:
            # Aggregates wait until nothing else is left to do, so that those of later layers join them.
            asked = list(metrics_to_resolve)
            others = [metric for metric in asked if gx.get_metric_provider(metric.metric_name, self)[1] is not None]
            return super().resolve_metrics(others or asked, *args, **kwargs)

        def resolve_metric_bundle(self, metric_fn_bundle: Iterable[Any]) -> Any:
            bundle = [
                dataclasses.replace(
                    metric,
                    compute_domain_kwargs={
                        key: value for key, value in (metric.compute_domain_kwargs or {}).items() if value is not None
                    },
                )
                for metric in metric_fn_bundle
            ]
            try:
                return super().resolve_metric_bundle(bundle)
            except Exception as error:
                if _is_verdict(error):
                    raise
                raise _Stopped(error) from error

    return OnePassEngine
