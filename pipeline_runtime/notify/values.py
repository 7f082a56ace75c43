"""Takes what a row held out of an engine's message. Pure.

Spark, Java and Python quote the value that they could not work with. A run's trace and its FAIL event stay where the
data is; a notice goes into mailboxes.
"""

from __future__ import annotations

import re

__all__ = ["without_values"]

_HIDDEN = "…"
#: Repetitions are bounded: a message may hold a whole query plan.
_QUOTED = r"""(?:'(?:[^'\\]|\\.){0,4000}'|"(?:[^"\\]|\\.){0,4000}")"""
_NUMBER = r"-?[0-9][0-9.]{0,80}(?:[eE][+-]?[0-9]{1,4})?[LSYDF]{0,2}"

#: Each keeps what its first and last group hold and loses the value between them.
_PATTERNS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        # Spark: CAST_INVALID_INPUT, CAST_OVERFLOW, CANNOT_PARSE_TIMESTAMP, CANNOT_PARSE_DECIMAL, INVALID_…_INPUT
        rf"(\b(?:value|text|input|string|literal)\s{{1,3}})(?:{_QUOTED}|{_NUMBER})()",
        # Spark: NUMERIC_VALUE_OUT_OF_RANGE; Java: "For input string: …"; Python: int(), float(), strptime
        rf"(\b(?:input string|with base 10|string to float|time data):?\s{{0,3}})(?:{_QUOTED}|{_NUMBER})()",
        rf"()(?:{_QUOTED}|{_NUMBER})(\s(?:cannot be represented|could not be parsed|is out of range|does not match))",
        # Spark: DUPLICATED_MAP_KEY, MAP_KEY_DOES_NOT_EXIST
        rf"(\bmap key\s{{1,3}}|\bkey\s{{1,3}})(?:{_QUOTED}|{_NUMBER})(\s(?:was found|does not exist))",
    )
)


def without_values(text: str) -> str:
    """The message with `…` for the values that it quotes; names of columns, tables, files and types stay."""
    for pattern in _PATTERNS:
        text = pattern.sub(rf"\1{_HIDDEN}\2", text)
    return text
