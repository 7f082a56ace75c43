"""Until when a version of a table stays readable, as the table's own Parameter says it. Pure.

`cordata.deprecated_after` holds one entry a deprecated version, `7=2026-12-31`, several separated by commas. An entry
counts for pins on that version and on earlier ones: those name schemas that are older still. A date alone counts for
every version. The day named is the last one on which consumers may read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

from pipeline_runtime.catalog.parameters import DEPRECATED_AFTER, SUCCESSOR
from pipeline_runtime.errors import CatalogError

__all__ = ["Deprecation", "deprecation_of", "deprecation_text", "with_deprecation"]

_ENTRY = re.compile(r"\s*(?:v?(\d+)\s*=\s*)?(\d{4}-\d{2}-\d{2})\s*")


@dataclass(frozen=True)
class Deprecation:
    """The last day on which a pinned version may be read, and the table to go to, None where none is named."""

    after: date
    successor: str | None = None


def deprecation_of(parameters: Mapping[str, str], pin: int, table: str) -> Deprecation | None:
    """What the table's Parameters say about that pin; `table` names it in messages.

    Raises CatalogError where the Parameter holds anything else.
    """
    dates = [after for version, after in _entries(parameters, table).items() if version is None or pin <= version]
    return Deprecation(min(dates), parameters.get(SUCCESSOR)) if dates else None


def with_deprecation(parameters: Mapping[str, str], version: int, after: date | None, table: str) -> str | None:
    """The Parameter's text with that version's date set, or with None taken away; None where no entry is left."""
    entries = _entries(parameters, table) | {version: after}
    kept = {key: day for key, day in entries.items() if day is not None}
    ordered = sorted(kept.items(), key=lambda entry: (entry[0] is None, entry[0] or 0))
    return ",".join(f"{key}={day}" if key is not None else str(day) for key, day in ordered) or None


def deprecation_text(table: str, pin: int, found: Deprecation, *, over: bool) -> str:
    """The deprecation as a trace, a check and an error say it."""
    move = f"Move to {found.successor}" if found.successor else "Ask its owner what follows it, and move the pin"
    if over:
        return f"{table} v{pin} was readable until {found.after}, and that day is over. {move}."
    return f"{table} v{pin} is deprecated: readable until {found.after}, a failure after it. {move} before then."


def _entries(parameters: Mapping[str, str], table: str) -> dict[int | None, date]:
    text = parameters.get(DEPRECATED_AFTER)
    entries: dict[int | None, date] = {}
    for part in text.split(",") if text else ():
        found = _ENTRY.fullmatch(part)
        try:
            day = date.fromisoformat(found[2]) if found else None
        except ValueError:
            day = None
        if found is None or day is None:
            raise CatalogError(
                f"{table}: the table Parameter {DEPRECATED_AFTER} is {text!r}; it holds entries such as 7=2026-12-31, "
                "separated by commas. Set it with `python -m pipeline_runtime deprecate`."
            )
        entries[int(found[1]) if found[1] else None] = day
    return entries
