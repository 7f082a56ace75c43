"""Whether an expectation fits the columns it is about, before Spark casts the misfit into a silent pass.

Spark compares a text with a number by casting, the cast gives NULL, and Great Expectations counts a NULL
comparison as fine. So types are compared here first, and moments are put into the form that holds whatever
the process's own time zone is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, date, datetime, time

from pipeline_runtime.quality.conditions import as_mapping
from pipeline_runtime.quality.kinds import COMPARES_VALUES, KL_DIVERGENCE, NEEDS_NUMBERS, NEEDS_TEXT, USES_VALUE_SET
from pipeline_runtime.quality.suite import ExpectationSpec
from pipeline_runtime.quality.values import closest, is_number, iso_moment, plain, shown

__all__ = ["Misfit", "fitted"]

_NUMBERS = re.compile(r"tinyint|smallint|int|bigint|float|double|decimal\(.*\)")
_MOMENTS = ("timestamp", "timestamp_ntz")
_PAIRS = ("column_A", "column_B")


class Misfit(Exception):
    """The expectation cannot be judged on these columns; the text says why."""


def fitted(spec: ExpectationSpec, types: Mapping[str, str]) -> dict[str, object]:
    """The expectation's arguments as Great Expectations needs them for a frame with these columns.

    `types` maps the frame's column names to Spark's short type names (`decimal(10,2)`). Raises Misfit.
    """
    kwargs = {key: plain(value) for key, value in spec.kwargs.items()}
    if kwargs.pop("condition_parser", None) or "row_condition" in kwargs:
        kwargs["row_condition"] = plain(as_mapping(spec.kwargs.get("row_condition")))
    named = _named_columns(spec, types)
    kwargs |= {key: named.get(str(kwargs[key]), kwargs[key]) for key in ("column", *_PAIRS) if key in kwargs}
    if isinstance(kwargs.get("column_list"), list) and spec.columns:
        kwargs["column_list"] = [named[name] for name in spec.columns]
    judged = [named[name] for name in spec.columns if name in named]
    _check_families(spec, [(name, types[name]) for name in judged])
    if spec.type in COMPARES_VALUES:
        kwargs |= _bounds(spec, types[str(kwargs["column"])])
    if spec.type in USES_VALUE_SET:
        kwargs["value_set"] = _value_set(spec, types[str(kwargs["column"])])
    if set(_PAIRS) <= kwargs.keys():
        kwargs |= _pair(spec, types[str(kwargs["column_A"])], types[str(kwargs["column_B"])])
    return kwargs


def _named_columns(spec: ExpectationSpec, types: Mapping[str, str]) -> dict[str, str]:
    """Suite spelling to frame spelling, without regard to case; what may be missing is left out."""
    known = {name.casefold(): name for name in types}
    named = {name: known[name.casefold()] for name in spec.read_columns if name.casefold() in known}
    if spec.type != "expect_column_to_exist":
        for name in spec.read_columns:
            if name not in named:
                raise Misfit(f"there is no column {name}; there are {', '.join(types)}.{closest(name, types)}")
    return named


def _family(spark_type: str) -> str:
    if _NUMBERS.fullmatch(spark_type):
        return "number"
    return "moment" if spark_type in _MOMENTS else spark_type


def _check_families(spec: ExpectationSpec, columns: list[tuple[str, str]]) -> None:
    partition = spec.kwargs.get("partition_object")
    continuous = spec.type == KL_DIVERGENCE and isinstance(partition, Mapping) and "bins" in partition
    for name, spark_type in columns:
        if (continuous or spec.type in NEEDS_NUMBERS) and _family(spark_type) != "number":
            raise Misfit(f"column {name} is {spark_type}; a numeric column is needed")
        if spec.type in NEEDS_TEXT and spark_type != "string":
            raise Misfit(f"column {name} is {spark_type}; a column of text is needed")


def _bounds(spec: ExpectationSpec, spark_type: str) -> dict[str, object]:
    of_values = spec.type == "expect_column_values_to_be_between"
    bounds = {key: spec.kwargs[key] for key in ("min_value", "max_value") if spec.kwargs.get(key) is not None}
    return {key: _bound(spec, key, bound, spark_type, of_values) for key, bound in bounds.items()}


def _bound(spec: ExpectationSpec, key: str, bound: object, spark_type: str, of_values: bool) -> object:
    family, column = _family(spark_type), spec.columns[0]
    if family == "number" and is_number(bound):
        return bound
    moment = iso_moment(bound) if isinstance(bound, str) else None
    if moment is None or family not in ("date", "moment"):
        raise Misfit(f"column {column} is {spark_type} and {key} is {shown(bound)}; the two do not compare")
    if family == "date":
        return _day(column, key, moment)
    instant = _instant(moment)
    if of_values:
        return instant.isoformat()
    # The extreme is computed by Spark and compared in Python, where PySpark shows a timestamp in the
    # process's own zone and a timestamp_ntz as it stands.
    local = instant if spark_type == "timestamp_ntz" else instant.astimezone()
    return local.replace(tzinfo=None).isoformat()


def _day(column: str, key: str, moment: date | datetime) -> str:
    if not isinstance(moment, datetime):
        return moment.isoformat()
    if moment.time() != time():
        raise Misfit(f"column {column} is date and {key} has a time of day, {moment.isoformat()}; give a date")
    return moment.date().isoformat()


def _instant(moment: date | datetime) -> datetime:
    """A bound without a zone means UTC, as everything here does."""
    if not isinstance(moment, datetime):
        return datetime.combine(moment, time(), UTC)
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def _value_set(spec: ExpectationSpec, spark_type: str) -> object:
    values = spec.kwargs["value_set"]
    assert isinstance(values, tuple)  # noqa: S101
    if _family(spark_type) not in ("number", "string", "boolean", "date"):
        raise Misfit(f"column {spec.columns[0]} is {spark_type}, which cannot be compared with a set of values")
    for value in values:
        if not _belongs(value, _family(spark_type)):
            raise Misfit(f"column {spec.columns[0]} is {spark_type} and value_set holds {shown(value)}")
    return plain(values)


def _belongs(value: object, family: str) -> bool:
    match family:
        case "number":
            return is_number(value)
        case "boolean":
            return isinstance(value, bool)
        case "date":
            return isinstance(value, str) and type(iso_moment(value)) is date
    return isinstance(value, str)


def _pair(spec: ExpectationSpec, left: str, right: str) -> dict[str, object]:
    if _family(left) != _family(right) and spec.type != "expect_column_pair_values_to_be_in_set":
        names = spec.columns
        raise Misfit(f"column {names[0]} is {left} and column {names[1]} is {right}; the two do not compare")
    if spec.type == "expect_column_pair_values_a_to_be_greater_than_b" and "ignore_row_if" not in spec.kwargs:
        # A NULL on one side compares to NULL, which would count as a row that was evaluated and passed.
        return {"ignore_row_if": "either_value_is_missing"}
    return {}
