"""What can be wrong with one expectation of a suite, judged from the suite alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pipeline_runtime.descriptor.yaml_source import YamlPath
from pipeline_runtime.quality.conditions import condition_problems
from pipeline_runtime.quality.expectation_types import ExpectationType
from pipeline_runtime.quality.kinds import COMPARES_VALUES, KL_DIVERGENCE, USES_VALUE_SET
from pipeline_runtime.quality.regexes import regex_problem
from pipeline_runtime.quality.values import closest, is_number, kwarg_problem, shown

__all__ = ["Found", "kwarg_problems", "regexes_of"]

#: Where inside the expectation's kwargs, and what.
Found = tuple[YamlPath, str]
Kwargs = Mapping[str, object]

#: Great Expectations lets these be left out, and then finds nothing to judge.
_CRITERIA = {
    KL_DIVERGENCE: ("partition_object", "threshold"),
    "expect_column_values_to_be_in_type_list": ("type_list",),
    "expect_column_values_to_match_regex": ("regex",),
    "expect_table_columns_to_match_ordered_list": ("column_list",),
    "expect_table_columns_to_match_set": ("column_set",),
}

_SPARK_TYPES = (
    "ArrayType",
    "BinaryType",
    "BooleanType",
    "ByteType",
    "DateType",
    "DecimalType",
    "DoubleType",
    "FloatType",
    "IntegerType",
    "LongType",
    "MapType",
    "ShortType",
    "StringType",
    "StructType",
    "TimestampNTZType",
    "TimestampType",
)

_LISTS = ("column_list", "column_set", "regex_list", "type_list", "value_pairs_set")


def kwarg_problems(expectation: ExpectationType, kwargs: Kwargs) -> list[Found]:
    """Everything wrong with the arguments. A baseline is not looked into; see `baselines`."""
    found = list(_signature(expectation, kwargs))
    wrong = {path[0] for path, _ in found if path}
    sound = {key: value for key, value in kwargs.items() if key not in wrong}
    found += [
        *_no_bounds(expectation, kwargs),
        *_bounds(expectation, sound),
        *_order(sound),
        *_thresholds(sound),
        *_quantiles(sound),
    ]
    found += [*_lists(sound), *_value_set(expectation, sound), *_spark_types(sound)]
    found += [*_regexes(sound), *_conditions(sound)]
    return found


def _signature(expectation: ExpectationType, kwargs: Kwargs) -> Iterator[Found]:
    for name in dict.fromkeys((*expectation.required, *_CRITERIA.get(expectation.name, ()))):
        if name not in kwargs:
            yield (), f"{name} is missing"
    for name, value in kwargs.items():
        kwarg = expectation.kwargs.get(name)
        if kwarg is None:
            allowed = ", ".join(expectation.kwargs)
            yield (name,), f"{name} is not an argument of it; allowed: {allowed}.{closest(name, expectation.kwargs)}"
        elif name == "partition_object" or name == "value_set":
            continue
        elif problem := kwarg_problem(kwarg, value):
            yield (name,), f"{name} {problem}"


def _no_bounds(expectation: ExpectationType, kwargs: Kwargs) -> Iterator[Found]:
    if expectation.name == KL_DIVERGENCE or not {"min_value", "max_value"} <= expectation.kwargs.keys():
        return
    if kwargs.get("min_value") is None and kwargs.get("max_value") is None:
        yield (), "neither min_value nor max_value is given, so everything passes"


def _bounds(expectation: ExpectationType, kwargs: Kwargs) -> Iterator[Found]:
    low, high = kwargs.get("min_value"), kwargs.get("max_value")
    if expectation.name not in COMPARES_VALUES:
        for name, bound in (("min_value", low), ("max_value", high)):
            if isinstance(bound, str):
                yield (name,), f"{name} is {shown(bound)}; a number is expected"
        return
    if low is not None and high is not None and isinstance(low, str) != isinstance(high, str):
        yield ("max_value",), f"min_value is {shown(low)}, max_value is {shown(high)}; one kind is expected"


def _order(kwargs: Kwargs) -> Iterator[Found]:
    low, high = kwargs.get("min_value"), kwargs.get("max_value")
    if low is None or high is None or isinstance(low, str) != isinstance(high, str):
        return
    strict = kwargs.get("strict_min") is True or kwargs.get("strict_max") is True
    if _is_above(low, high):
        yield ("min_value",), f"min_value {low} is above max_value {high}"
    elif low == high and strict:
        yield ("min_value",), f"min_value and max_value are both {low} and the bounds are strict; nothing passes"


def _is_above(low: object, high: object) -> bool:
    if isinstance(low, str) and isinstance(high, str):
        return low > high
    return is_number(low) and is_number(high) and low > high


def _thresholds(kwargs: Kwargs) -> Iterator[Found]:
    threshold = kwargs.get("threshold")
    if is_number(threshold) and threshold < 0:
        yield ("threshold",), f"threshold is {threshold}; it cannot be negative"
    if kwargs.get("mostly") == 0:
        yield ("mostly",), "mostly is 0, so everything passes"
    if kwargs.get("bucketize_data") is False:
        yield ("bucketize_data",), "bucketize_data is false; a baseline of bins needs it, one of values ignores it"


def _regexes(kwargs: Kwargs) -> Iterator[Found]:
    for path, regex in regexes_of(kwargs):
        if problem := regex_problem(regex):
            yield path, f"the regex {regex} cannot be used: {problem}"


def regexes_of(kwargs: Kwargs) -> Iterator[tuple[YamlPath, str]]:
    """Every regular expression among the arguments, with its place."""
    regex, several = kwargs.get("regex"), kwargs.get("regex_list")
    if isinstance(regex, str):
        yield ("regex",), regex
    if isinstance(several, tuple):
        yield from ((("regex_list", place), item) for place, item in enumerate(several) if isinstance(item, str))


def _lists(kwargs: Kwargs) -> Iterator[Found]:
    for name in _LISTS:
        items = kwargs.get(name)
        if not isinstance(items, tuple):
            continue
        if not items:
            yield (name,), f"{name} is empty"
        elif name.startswith("column") and not all(isinstance(item, str) for item in items):
            yield (name,), f"{name} holds something other than column names"
        elif name.startswith("column") and len(set(items)) != len(items):
            yield (name,), f"{name} names a column twice"


def _value_set(expectation: ExpectationType, kwargs: Kwargs) -> Iterator[Found]:
    if expectation.name not in USES_VALUE_SET or "value_set" not in kwargs:
        return
    values = kwargs["value_set"]
    if not isinstance(values, tuple) or not values:
        yield ("value_set",), f"value_set is {'empty' if values == () else shown(values)}; a list of values is expected"
        return
    for place, value in enumerate(values):
        if value is None:
            # Spark's IN answers NULL for every other value then, and NULL passes.
            yield ("value_set", place), "value_set holds an empty value; leave it out, NULLs are skipped anyway"
        elif not (isinstance(value, str | bool) or is_number(value)):
            yield ("value_set", place), f"value_set holds {shown(value)}; texts, numbers or truth values are expected"
    if len({_kind(value) for value in values if value is not None}) > 1:
        yield ("value_set",), "value_set mixes texts, numbers or truth values; a column has one type"


def _kind(value: object) -> str:
    return "truth" if isinstance(value, bool) else "number" if is_number(value) else "text"


def _spark_types(kwargs: Kwargs) -> Iterator[Found]:
    named = kwargs.get("type_list", ())
    names = [*(named if isinstance(named, Sequence) else ()), *filter(None, [kwargs.get("type_")])]
    for name in names:
        if isinstance(name, str) and name not in _SPARK_TYPES:
            path = ("type_",) if "type_" in kwargs else ("type_list",)
            yield path, f"{name} is no Spark type; allowed: {', '.join(_SPARK_TYPES)}.{closest(name, _SPARK_TYPES)}"


def _quantiles(kwargs: Kwargs) -> Iterator[Found]:
    ranges = kwargs.get("quantile_ranges")
    if not isinstance(ranges, Mapping):
        return
    quantiles, bounds = ranges.get("quantiles"), ranges.get("value_ranges")
    if not (isinstance(quantiles, tuple) and isinstance(bounds, tuple) and 0 < len(quantiles) == len(bounds)):
        yield ("quantile_ranges",), "quantile_ranges needs quantiles and as many value_ranges"
        return
    for place, quantile in enumerate(quantiles):
        if not (is_number(quantile) and 0 <= quantile <= 1):
            yield ("quantile_ranges", "quantiles", place), f"{shown(quantile)} is no quantile; from 0 to 1 is expected"
    for place, pair in enumerate(bounds):
        if not _is_range(pair):
            where: YamlPath = ("quantile_ranges", "value_ranges", place)
            yield where, "a value range is [lowest, highest], rising, at least one of them given"


def _is_range(pair: object) -> bool:
    if not isinstance(pair, tuple) or len(pair) != 2:
        return False
    given = [bound for bound in pair if bound is not None]
    return bool(given) and all(is_number(bound) for bound in given) and given == sorted(given)


def _conditions(kwargs: Kwargs) -> Iterator[Found]:
    for problem in condition_problems(kwargs):
        yield ("row_condition" if "row_condition" in kwargs else "condition_parser",), problem
