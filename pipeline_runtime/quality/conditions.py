"""`row_condition`: which rows an expectation is about.

Great Expectations hands a condition of its `spark` parser to Spark as it is, and Spark's expressions can run
code. So a suite writes conditions in Great Expectations' own forms, which compare columns with constants: as
text, `col("amount") > 0`, or as a mapping.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from pipeline_runtime.quality.values import is_number, shown

__all__ = ["as_mapping", "condition_columns", "condition_problems"]

_NOT_NULL = re.compile(r'\s*col\("([^"]+)"\)\.notnull\(\)\s*', re.IGNORECASE)
_COMPARISON = re.compile(r'\s*col\("([^"]+)"\)\s*(==|!=|<=|>=|<|>)\s*(.+?)\s*')
_INTEGER = re.compile(r"[+-]?\d+")
_DECIMAL = re.compile(r"[+-]?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?")
_QUOTED = re.compile(r"""(?:date\()?(?:"([^"]*)"|'([^']*)')\)?""")

_OPERATORS = ("==", "!=", "<", "<=", ">", ">=", "IN", "NOT_IN")
_PARSERS = ("great_expectations", "great_expectations__experimental__")
_REMEDY = 'write it as col("amount") > 0, or filter in a step'


def condition_problems(kwargs: Mapping[str, object]) -> list[str]:
    """Everything wrong with an expectation's `row_condition` and `condition_parser`."""
    parser, condition = kwargs.get("condition_parser"), kwargs.get("row_condition")
    if parser is not None and parser not in _PARSERS:
        return [f"condition_parser {parser} is not allowed, its conditions can run code; {_REMEDY}"]
    if isinstance(condition, str):
        return [] if as_mapping(condition) else [f"row_condition is {shown(condition)}; {_REMEDY}"]
    return list(_problems(condition)) if isinstance(condition, Mapping) else []


def as_mapping(condition: object) -> Mapping[str, object] | None:
    """A condition in its mapping form; None for text that is no condition. Great Expectations is giving up text."""
    if not isinstance(condition, str):
        return condition if isinstance(condition, Mapping) else None
    if found := _NOT_NULL.fullmatch(condition):
        return {"type": "nullity", "column": {"name": found[1]}, "is_null": False}
    found = _COMPARISON.fullmatch(condition)
    parameter = _constant(found[3]) if found else None
    if found is None or parameter is None:
        return None
    return {"type": "comparison", "column": {"name": found[1]}, "operator": found[2], "parameter": parameter}


def _constant(text: str) -> int | float | str | None:
    if _INTEGER.fullmatch(text):
        return int(text)
    if _DECIMAL.fullmatch(text):
        return float(text)
    found = _QUOTED.fullmatch(text)
    return (found[1] or found[2] or "") if found else None


def _problems(condition: object) -> Iterator[str]:
    if not isinstance(condition, Mapping):
        yield f"a condition is {shown(condition)}; a mapping is expected"
        return
    match condition.get("type"):
        case "and" | "or":
            parts = condition.get("conditions")
            if not isinstance(parts, Sequence) or isinstance(parts, str) or not parts:
                yield "row_condition of type and, or needs a list of conditions"
                return
            for part in parts:
                yield from _problems(part)
        case "comparison":
            if not (_column(condition) and condition.get("operator") in _OPERATORS):
                yield f"a comparison needs column: {{name: …}} and an operator, one of {', '.join(_OPERATORS)}"
            elif not _comparable(condition.get("parameter"), condition["operator"] in ("IN", "NOT_IN")):
                yield f"a comparison's parameter is {shown(condition.get('parameter'))}; a constant is expected"
        case "nullity":
            if not (_column(condition) and isinstance(condition.get("is_null"), bool)):
                yield "a nullity condition needs column: {name: …} and is_null: true or false"
        case other:
            yield f"row_condition has type {shown(other)}; allowed: comparison, nullity, and, or"


def _comparable(parameter: object, several: bool) -> bool:
    if several:
        return isinstance(parameter, tuple) and bool(parameter) and all(_comparable(item, False) for item in parameter)
    return isinstance(parameter, str | bool) or is_number(parameter)


def _column(condition: Mapping[str, object]) -> str | None:
    column = condition.get("column")
    name = column.get("name") if isinstance(column, Mapping) else None
    return name if isinstance(name, str) else None


def condition_columns(condition: object) -> tuple[str, ...]:
    """The columns a well-formed condition reads."""
    mapping = as_mapping(condition) or {}
    parts = mapping.get("conditions")
    if isinstance(parts, Sequence):
        return tuple(name for part in parts for name in condition_columns(part))
    return tuple(filter(None, [_column(mapping)]))
