"""What was expected and what was found, as the short texts that OpenLineage's assertions facet carries."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import Any

from pipeline_runtime.quality.judging import Answer
from pipeline_runtime.quality.kinds import KL_DIVERGENCE, NOT_NULL, UNIQUE
from pipeline_runtime.quality.values import is_number, plain

__all__ = ["actual_text", "expected_text", "number_text", "percent_text", "violations_text"]

#: Characters. A facet is read by people, and an event has a size limit.
MAX_TEXT = 200

_FIXED = {
    NOT_NULL: "no nulls",
    UNIQUE: "unique values",
    "expect_column_values_to_be_null": "only nulls",
    "expect_column_pair_values_to_be_equal": "equal values",
    "expect_column_to_exist": "the column",
    "expect_compound_columns_to_be_unique": "unique combinations",
    "expect_multicolumn_values_to_be_equal": "equal values",
    "expect_select_column_values_to_be_unique_within_record": "different values in each row",
}

_SINGLE = ("threshold", "value", "sum_total", "regex", "strftime_format", "type_")
_LISTS = {
    "value_set": "one of",
    "value_pairs_set": "one of",
    "type_list": "one of",
    "regex_list": "matches for",
    "column_list": "columns",
    "column_set": "columns",
}
_NOT_CRITERIA = ("column", "column_A", "column_B", "mostly", "row_condition", "condition_parser", "ignore_row_if")


def expected_text(type_: str, kwargs: Mapping[str, object]) -> str:
    """The criterion: a single threshold as the bare number, bounds in words."""
    text = _FIXED.get(type_) or _bounds_text(type_, kwargs) or _criterion(type_, kwargs)
    mostly = kwargs.get("mostly")
    if is_number(mostly) and mostly < 1:
        text += f" in at least {number_text(float(mostly) * 100)} % of rows"
    if (condition := kwargs.get("row_condition")) is not None:
        text += f" where {condition if isinstance(condition, str) else _compact(condition)}"
    return _capped(text)


def _bounds_text(type_: str, kwargs: Mapping[str, object]) -> str | None:
    low, high = kwargs.get("min_value"), kwargs.get("max_value")
    if type_ == KL_DIVERGENCE or (low is None and high is None):
        return None
    above, below = ("more than", "less than")
    strict_low, strict_high = kwargs.get("strict_min") is True, kwargs.get("strict_max") is True
    if low is not None and high is not None and not (strict_low or strict_high):
        return f"between {_value_text(low)} and {_value_text(high)}"
    parts = []
    if low is not None:
        parts.append(f"{above if strict_low else 'at least'} {_value_text(low)}")
    if high is not None:
        parts.append(f"{below if strict_high else 'at most'} {_value_text(high)}")
    return " and ".join(parts)


def _criterion(type_: str, kwargs: Mapping[str, object]) -> str:
    for key in _SINGLE:
        if key in kwargs:
            negated = "no match for " if "_not_match_" in type_ else ""
            return negated + _value_text(kwargs[key])
    for key, words in _LISTS.items():
        if key in kwargs:
            negated = "none of" if "_not_" in type_ else words
            return f"{negated} {_value_text(kwargs[key])}"
    if type_ == "expect_column_pair_values_a_to_be_greater_than_b":
        return "at least the second" if kwargs.get("or_equal") is True else "more than the second"
    rest = {key: value for key, value in kwargs.items() if key not in _NOT_CRITERIA}
    return ", ".join(f"{key} {_value_text(value)}" for key, value in rest.items()) or "met"


def actual_text(type_: str, answer: Answer, expected: str) -> str:
    """What was measured, in the words that go with the criterion."""
    if answer.evaluated == 0:
        return "no rows evaluated"
    if answer.violations is not None and answer.evaluated is not None:
        return violations_text(answer.violations, answer.evaluated)
    observed = answer.facts.get("observed_value")
    if observed is not None and observed == observed:  # NaN is not equal to itself
        return _measured_text(observed, expected)
    if type_ == KL_DIVERGENCE:
        return f"infinite: {percent_text(_unexpected_share(answer.facts))} of values where the baseline has no weight"
    if type_ == "expect_column_to_exist":
        return "the column" if answer.success else "no such column"
    if "unexpected_count" in answer.facts or "missing_count" in answer.facts:
        return _set_text(answer.facts)
    return "met" if answer.success else "not measurable"


def violations_text(violations: int, rows: int) -> str:
    """`3 of 1000 rows violate it (0.30 %)`. `rows` is not zero."""
    return f"{violations} of {rows} rows violate it ({percent_text(violations / rows)})"


def percent_text(share: float) -> str:
    """A share of one in percent, two decimals; what is nearly none or nearly all is not shown as such."""
    percent = 100 * share
    shown = "< 0.01" if 0 < percent < 0.01 else "> 99.99" if 99.99 < percent < 100 else f"{percent:.2f}"
    return f"{shown} %"


def _unexpected_share(facts: Mapping[str, Any]) -> float:
    details = facts.get("details") or {}
    observed, expected = (_all_weights(details.get(f"{which}_partition") or {}) for which in ("observed", "expected"))
    return math.fsum(weight for weight, allowed in zip(observed, expected, strict=False) if not allowed)


def _all_weights(partition: Mapping[str, Any]) -> list[float]:
    return [*partition.get("weights", ()), *partition.get("tail_weights", ())]


def _set_text(facts: Mapping[str, Any]) -> str:
    parts = [
        f"{facts[key]} {words}"
        for key, words in (("unexpected_count", "values outside the set"), ("missing_count", "values of it missing"))
        if facts.get(key) is not None
    ]
    return ", ".join(parts)


def _measured_text(observed: object, expected: str) -> str:
    """A measured value, rounded as far as it can still be told from the criterion."""
    if isinstance(observed, float) and math.isfinite(observed):
        rounded = number_text(observed)
        return rounded if rounded not in expected.split() else repr(float(observed))
    if isinstance(observed, Mapping) and {"quantiles", "values"} <= observed.keys():
        pairs = zip(observed["quantiles"], observed["values"], strict=True)
        return _capped(", ".join(f"{_value_text(at)}: {_value_text(value)}" for at, value in pairs))
    return _capped(_value_text(observed))


def number_text(value: float) -> str:
    """Four significant digits, and never less than the whole part."""
    if not math.isfinite(value) or value == 0 or abs(value) < 1e-4:
        return f"{value:.4g}"
    decimals = max(3 - math.floor(math.log10(abs(value))), 0)
    text = f"{value:.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _value_text(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, float) and math.isfinite(value) and "e" not in repr(value):
        return repr(value)
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Mapping):
        return _compact(value)
    if isinstance(value, Sequence):
        return ", ".join(_value_text(item) for item in value)
    return json.dumps(value, default=str)


def _compact(value: object) -> str:
    return json.dumps(plain(value), separators=(", ", ": "), default=str)


def _capped(text: str) -> str:
    return text if len(text) <= MAX_TEXT else f"{text[: MAX_TEXT - 1]}…"
