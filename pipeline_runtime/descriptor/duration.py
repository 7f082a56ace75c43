"""ISO 8601 durations as contracts use them: a promise of hours or days, never of months."""

from __future__ import annotations

import re
from datetime import timedelta

__all__ = ["DURATION_PATTERN", "freshness_sla", "parse_duration"]

#: The same in the dialect of JSON Schema, for editors; that zero is refused they do not know.
DURATION_PATTERN = r"^P(?:\d+W|(?=\d|T\d)(?:\d+D)?(?:T(?=\d)(?:\d+H)?(?:\d+M)?(?:\d+S)?)?)$"

_DURATION = re.compile(
    r"P(?:(?P<weeks>\d+)W|(?:(?P<days>\d+)D)?(?:T(?=\d)(?:(?P<hours>\d+)H)?(?:(?P<minutes>\d+)M)?(?:(?P<seconds>\d+)S)?)?)",
    re.ASCII,
)


def parse_duration(text: str) -> timedelta:
    """The length that an ISO 8601 duration of weeks, or of days, hours, minutes and seconds, names.

    Raises ValueError for anything else; for months and years too, whose length depends on the calendar.
    """
    match = _DURATION.fullmatch(text)
    if match is None or not any(match.groupdict().values()):
        raise ValueError(
            f"{text!r} is not an ISO 8601 duration of weeks, days, hours, minutes or seconds; "
            "write for example PT4H or P1D (months and years have no fixed length)"
        )
    try:
        return timedelta(**{unit: int(count) for unit, count in match.groupdict().items() if count})
    except (OverflowError, ValueError):
        # Python counts to a thousand million days, and refuses to read a number of thousands of digits.
        raise ValueError(f"{text[:40]!r} is too long to mean anything; write for example PT4H or P1D") from None


def freshness_sla(text: str) -> str:
    """The author's own spelling of a positive duration; raises ValueError where it is none."""
    if parse_duration(text) <= timedelta(0):
        raise ValueError(f"{text!r} is no time at all; a freshness SLA is longer than zero")
    return text
