"""What an unquoted YAML value means, and which ones mean different things to different readers.

YAML 1.1 (what PyYAML reads) and YAML 1.2 disagree about `NO`, `12:30`, `0123` and others. A file that two
programs read differently is refused with the remedy, which is always a pair of quotes. Everything else
keeps YAML 1.1's forms, so `850_000` is an integer; and `1e3` is a number, as it looks.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import date, datetime

import yaml

__all__ = ["Reading", "quoted", "read_plain"]

#: Python itself refuses to read a decimal number of more than a few thousand digits.
MAX_DIGITS = 100

_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_BOOLS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_LOOSE_BOOLS = {"yes": "true", "on": "true", "no": "false", "off": "false"}
_SPECIAL = frozenset({"=", "<<"})

_DECIMAL = re.compile(r"[-+]?(?:0|[1-9][0-9_]*)")
_RADIX = re.compile(r"[-+]?0(?:x[0-9a-fA-F][0-9a-fA-F_]*|b[01][01_]*)")
_FLOAT = re.compile(r"[-+]?(?:(?:[0-9][0-9_]*)?\.[0-9][0-9_]*|[0-9][0-9_]*\.?)(?:[eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_LEADING_ZERO = re.compile(r"[-+]?0(?:[0-9_]+|o[0-7]+)")
_SEXAGESIMAL = re.compile(r"[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?")
_DATE_LIKE = yaml.constructor.SafeConstructor.timestamp_regexp


@dataclass(frozen=True)
class Reading:
    """The value of an unquoted scalar: None, bool, int, float, date, datetime or str.

    `doubt` says why it is not accepted as it stands; `value` then is the author's text.
    """

    value: object
    doubt: str | None = None


def quoted(text: str) -> str:
    """The text as the author would write it between double quotes."""
    return json.dumps(text, ensure_ascii=False)


def read_plain(text: str) -> Reading:
    """How an unquoted scalar is read. Never raises."""
    if text in _NULLS:
        return Reading(None)
    if text in _BOOLS:
        return Reading(_BOOLS[text])
    if (doubt := _doubt(text)) is not None:
        return Reading(text, f"{doubt}; quote it: write {quoted(text)}")
    if _DECIMAL.fullmatch(text) or _RADIX.fullmatch(text):
        return _integer(text)
    if _FLOAT.fullmatch(text):
        return Reading(float(text.replace("_", "")))
    if _NOT_FINITE.fullmatch(text):
        return Reading(float(text.replace(".", "").lower()))
    if _DATE_LIKE.match(text):
        return _moment(text)
    return Reading(text)


def _doubt(text: str) -> str | None:
    if meaning := _LOOSE_BOOLS.get(text.lower()):
        # `nO` is text to every reader; `no`, `No` and `NO` are not.
        return f"unquoted {text} is {meaning} to some YAML readers" if text in _spellings(text) else None
    if text in _SPECIAL:
        return f"unquoted {text} has a meaning of its own in YAML"
    if _SEXAGESIMAL.fullmatch(text):
        return f"unquoted {text} is a number in base 60 to some YAML readers"
    if _LEADING_ZERO.fullmatch(text):
        return f"unquoted {text} is an octal number to some YAML readers"
    return None


def _spellings(text: str) -> set[str]:
    return {text.lower(), text.upper(), text.capitalize()}


def _integer(text: str) -> Reading:
    digits = text.replace("_", "")
    if len(digits) > MAX_DIGITS:
        return Reading(text, f"a number of {len(digits)} digits is too long; quote it if text is meant")
    return Reading(int(digits, 0))


def _moment(text: str) -> Reading:
    """Dates and times by PyYAML's own rule; the pattern lets 30 February through, the calendar does not."""
    node = yaml.ScalarNode("tag:yaml.org,2002:timestamp", text)
    try:
        moment = yaml.constructor.SafeConstructor().construct_yaml_timestamp(node)
    except (ValueError, OverflowError):
        doubt = f"unquoted {text} has the form of a date, and there is no such date"
        return Reading(text, f"{doubt}; correct it, or quote it where text is meant: {quoted(text)}")
    assert isinstance(moment, date | datetime)  # noqa: S101
    return Reading(moment)
