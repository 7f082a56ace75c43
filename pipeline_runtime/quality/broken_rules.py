"""Which expectations each row broke: what a person who reviews a quarantined batch wants to filter by."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from operator import and_
from typing import TYPE_CHECKING

from pipeline_runtime.engine.catalogs import quoted
from pipeline_runtime.quality.fit import Misfit, fitted
from pipeline_runtime.quality.judging import Judge, Question, Violating
from pipeline_runtime.quality.kinds import NOT_NULL
from pipeline_runtime.quality.result import AssertionResult, ValidationResult
from pipeline_runtime.quality.suite import ExpectationSpec, Suite

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

__all__ = ["BROKEN_RULES", "with_broken_rules"]

#: The column's name; an `array<string>`, empty for a row that broke none.
BROKEN_RULES = "broken_rules"

_ROW = "__row"
_RULE = "__rule_"


def with_broken_rules(frame: DataFrame, suite: Suite, result: ValidationResult) -> DataFrame:
    """The frame with one column more, `broken_rules`: the failed expectations that the row itself does not meet.

    Each as `<expectation>(<columns>)`, once, in the suite's order. Only expectations about rows can be broken by
    one; the others (a row count, a mean, a distribution) are the batch's. `result` is the suite's on this frame.
    Great Expectations' own conditions are used, so that as many rows are marked as it counted.

    Raises ValueError where the frame has a column of that name.
    """
    from pyspark.sql import functions as F  # noqa: N812

    if BROKEN_RULES in (name.casefold() for name in frame.columns):
        raise ValueError(f"there is a column {BROKEN_RULES} already")
    judge, types = Judge(frame), dict(frame.dtypes)
    rules: list[tuple[str, Violating, tuple[str, ...]]] = []
    for spec, assertion in _failed(suite, result):
        try:
            question = Question(spec.type, fitted(spec, types))
        except Misfit:
            continue
        if (violating := judge.violating(question)) is not None:
            # A window sees the rows it is about and no others; the rest is hidden from it.
            hidden = _own_names(spec, types) if "row_condition" in spec.kwargs else ()
            rules.append((_name(assertion), violating, hidden))
    marked = frame.select(F.struct("*").alias(_ROW), "*")
    for number, (_, violating, hidden) in enumerate(rules):
        marked = _marked(marked, f"{_RULE}{number}", violating, hidden)
    broken = [F.when(F.col(f"{_RULE}{number}"), F.lit(name)) for number, (name, _, _) in enumerate(rules)]
    found = F.array_distinct(F.array_compact(F.array(*broken))) if broken else F.array()
    return marked.select(f"{_ROW}.*", found.cast("array<string>").alias(BROKEN_RULES))


def _failed(suite: Suite, result: ValidationResult) -> Iterator[tuple[ExpectationSpec, AssertionResult]]:
    """The failed expectations with their results. After the suite's own come those that keys imply: not NULL."""
    specs = len(suite.expectations)
    own = zip(suite.expectations, result.assertions[:specs], strict=True)
    implied = ((ExpectationSpec(NOT_NULL, {"column": each.column}, 0), each) for each in result.assertions[specs:])
    return ((spec, assertion) for spec, assertion in (*own, *implied) if not assertion.success)


def _own_names(spec: ExpectationSpec, types: dict[str, str]) -> tuple[str, ...]:
    judged = {name.casefold() for name in spec.columns}
    return tuple(name for name in types if name.casefold() in judged)


def _name(assertion: AssertionResult) -> str:
    return f"{assertion.assertion}({assertion.column})" if assertion.column else assertion.assertion


def _marked(rows: DataFrame, rule: str, violating: Violating, hidden: tuple[str, ...]) -> DataFrame:
    """The rows with a column `rule`, true for those that violate; columns have their own values again afterwards."""
    from pyspark.sql import functions as F  # noqa: N812

    within = f"{rule}_within"
    true: Column = F.lit(True)
    rows = rows.withColumn(within, F.coalesce(reduce(and_, violating.within, true), F.lit(False)))
    rows = rows.withColumns({name: F.when(F.col(within), F.col(quoted(name))) for name in hidden})
    rows = rows.withColumn(rule, F.col(within) & violating.violates).drop(within)
    return rows.withColumns({name: F.col(_ROW).getField(name) for name in hidden})
