"""Python values as JSON values: what an event may hold, spelled the way OpenLineage's readers expect."""

from __future__ import annotations

import math
from collections.abc import Mapping, Set
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from typing import Any
from uuid import UUID

__all__ = ["instant_of", "json_value", "utc_text"]


def utc_text(moment: datetime, *, milliseconds: bool = True) -> str:
    """ISO 8601 in UTC with a `Z`. Raises ValueError for a time without a zone: it would mean another instant."""
    if moment.tzinfo is None:
        raise ValueError(f"{moment.isoformat()} has no time zone; events carry UTC")
    text = moment.astimezone(UTC).isoformat(timespec="milliseconds" if milliseconds else "auto")
    return text.replace("+00:00", "Z")


def instant_of(value: object) -> datetime | None:
    """The instant that ISO 8601 text with `Z` or an offset names, in its own zone; None for anything else."""
    try:
        time = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None
    return None if time is None or time.tzinfo is None else time


def json_value(value: Any) -> Any:
    """The value in JSON's own types, through lists and maps; None stays where it is.

    Decimals and UUIDs become text, times ISO 8601 (with `Z`), lengths of time ISO 8601 durations.
    Raises TypeError for what has no such form, rather than putting a placeholder into an event.
    """
    if isinstance(value, Enum):
        return json_value(value.value)
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        if math.isfinite(value):
            return value
        raise TypeError(f"{value} has no form in JSON")
    if isinstance(value, Decimal | UUID | PurePath):
        return value.as_posix() if isinstance(value, PurePath) else str(value)
    if isinstance(value, datetime):
        return utc_text(value, milliseconds=False)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, timedelta):
        return _duration(value)
    if isinstance(value, Mapping):
        return {_key(key): json_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [json_value(item) for item in value]
    if isinstance(value, Set):
        return sorted(json_value(item) for item in value)
    raise TypeError(f"a value of type {type(value).__name__} has no form in an event")


def _key(key: Any) -> str:
    if isinstance(key, str):
        return key
    raise TypeError(f"{key!r} cannot be a name in an event; names are text")


def _duration(length: timedelta) -> str:
    sign, length = ("-", -length) if length < timedelta(0) else ("", length)
    minutes, seconds = divmod(length.seconds, 60)
    hours, minutes = divmod(minutes, 60)
    fraction = f"{seconds}.{length.microseconds:06d}".rstrip("0") if length.microseconds else str(seconds)
    clock = "".join(f"{count}{unit}" for count, unit in ((hours, "H"), (minutes, "M")) if count)
    clock += f"{fraction}S" if fraction != "0" else ""
    days = f"{length.days}D" if length.days else ""
    return f"{sign}P{days}T{clock}" if clock else f"{sign}P{days or 'T0S'}"
