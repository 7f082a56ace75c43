"""Values out of a suite file: what they are called, whether they fit, and how they are kept from changing."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from difflib import get_close_matches
from types import MappingProxyType
from typing import TypeGuard

from pipeline_runtime.quality.expectation_types import Kwarg

__all__ = ["closest", "frozen", "is_number", "iso_moment", "kwarg_problem", "plain", "shown"]

_NUMBER_LIKE = re.compile(r"[-+]?[0-9][0-9_,. ]*(?:[eE][-+]?[0-9]+)?")

_TYPE_WORDS = {
    "string": "text",
    "number": "a number",
    "integer": "a whole number",
    "boolean": "true or false",
    "object": "a mapping",
    "date": "a date such as 2024-01-31",
    "array": "a list",
    "array of string": "a list of texts",
    "array of number": "a list of numbers",
    "array of array": "a list of lists",
}


def is_number(value: object) -> TypeGuard[int | float]:
    """True for an int or float that is a number; YAML's true and false are not."""
    return isinstance(value, int | float) and not isinstance(value, bool) and not math.isnan(value)


def iso_moment(text: str) -> date | datetime | None:
    """The date or time that ISO 8601 text stands for; None for any other text, digits alone among them."""
    if _NUMBER_LIKE.fullmatch(text):
        return None
    for parse in (date.fromisoformat, datetime.fromisoformat):
        try:
            return parse(text)
        except ValueError:
            continue
    return None


def shown(value: object) -> str:
    """A value as a message names it: short, with its kind where that is the point."""
    if value is None:
        return "empty"
    if isinstance(value, bool):
        return f"{str(value).lower()} (a truth value)"
    if isinstance(value, str):
        return f"'{value[:60]}' (text)"
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, Sequence):
        return "a list"
    return str(value)


def closest(name: str, allowed: Sequence[str] | Mapping[str, object]) -> str:
    """` Did you mean …?` for a near miss; empty text otherwise."""
    near = get_close_matches(name, list(allowed), n=1, cutoff=0.6)
    return f" Did you mean {near[0]}?" if near else ""


def kwarg_problem(kwarg: Kwarg, value: object) -> str | None:
    """Why the value does not fit; worded to follow the argument's name."""
    if not any(_has_type(name, value) for name in kwarg.types):
        words = " or ".join(dict.fromkeys(_TYPE_WORDS[name] for name in kwarg.types))
        hint = ""
        if isinstance(value, str) and _NUMBER_LIKE.fullmatch(value) and {"number", "integer"} & set(kwarg.types):
            hint = "; a number stands without quotes"
        return f"is {shown(value)}; {words} is expected{hint}"
    if kwarg.choices and value not in kwarg.choices:
        return f"is {shown(value)}; allowed: {', '.join(kwarg.choices)}.{closest(str(value), kwarg.choices)}"
    low, high = kwarg.minimum, kwarg.maximum
    if is_number(value) and not _within(value, low, high):
        limits = f"from {low:g} to {high:g}" if low is not None and high is not None else f"at least {low or 0:g}"
        return f"is {value}; {limits} is expected"
    return None


def _within(value: float, low: float | None, high: float | None) -> bool:
    return (low is None or value >= low) and (high is None or value <= high)


def _has_type(name: str, value: object) -> bool:
    match name:
        case "string":
            return isinstance(value, str) and value != ""
        case "number":
            return is_number(value)
        case "integer":
            return isinstance(value, int) and not isinstance(value, bool)
        case "boolean":
            return isinstance(value, bool)
        case "object":
            return isinstance(value, Mapping)
        case "date":
            return isinstance(value, str) and iso_moment(value) is not None
    held = name.removeprefix("array").removeprefix(" of ")
    return isinstance(value, Sequence) and not isinstance(value, str) and all(_is_held(held, item) for item in value)


def _is_held(name: str, item: object) -> bool:
    return name == "" or (_has_type(name, item) if name != "array" else _has_type("array", item))


def frozen(value: object) -> object:
    """The same value, unchangeable: mappings read-only, lists as tuples, dates as their ISO text."""
    if isinstance(value, Mapping):
        return MappingProxyType({key: frozen(item) for key, item in value.items()})
    if isinstance(value, list | tuple):
        return tuple(frozen(item) for item in value)
    return value.isoformat() if isinstance(value, date) else value


def plain(value: object) -> object:
    """A frozen value as the dicts and lists that other libraries expect."""
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, tuple) else value
