"""Which rows each of the parallel queries of a JDBC read takes: every row exactly one. Pure.

Ranges are half-open and the outer two have no end, so a value outside the bounds is in one of them; NULL goes
with the first. Bounds decide how even the ranges are, never which rows are read.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from pipeline_runtime.catalog.parameters import JDBC_PARTITION_COLUMN, JDBC_PARTITIONS, PRIMARY_KEYS
from pipeline_runtime.catalog.table import CatalogTable
from pipeline_runtime.errors import CatalogError
from pipeline_runtime.readers.jdbc_columns import SourceColumn, quoted, text_literal
from pipeline_runtime.schema.type_tree import parse

__all__ = ["DEFAULT_RANGES", "Split", "bounds_query", "can_split", "conditions", "cuts", "declared_split"]

#: Connections that one read opens at a time. Enough to saturate a small database; it must serve others too.
DEFAULT_RANGES: Final = 8
_MOST_RANGES: Final = 200

_SPLITTABLE = frozenset({"tinyint", "smallint", "int", "bigint", "decimal", "date", "timestamp", "timestamp_ntz"})
_SPLITTABLE_WORDS = "an integer, decimal, date or timestamp"
_EPOCH = {
    "date": "DATE '1970-01-01'",
    "timestamp": "TIMESTAMP '1970-01-01 00:00:00'",
    "timestamptz": "TIMESTAMPTZ '1970-01-01 00:00:00+00'",
}
_INTEGERS = frozenset({"int2", "int4", "int8"})


@dataclass(frozen=True)
class Split:
    """How a table is to be read: by ranges of `column` (None: no column fits), in at most `ranges` queries."""

    column: str | None
    ranges: int


def declared_split(table: CatalogTable) -> Split:
    """What the table's Parameters say: the column named there, else the first primary key that has ranges.

    Raises CatalogError for a column that the table does not have or that has no ranges, or a number that is none.
    """
    return Split(_declared_column(table) or _key_column(table), _declared_ranges(table))


def can_split(column: SourceColumn) -> bool:
    """Whether the database's column, whatever the catalog calls it, has ranges."""
    return column.type in _INTEGERS or column.type in _EPOCH or column.type == "numeric"


def bounds_query(column: SourceColumn, relation: str) -> str:
    """The query for the least and the greatest value as whole numbers: days for dates, seconds for timestamps.

    Both are NULL where no row has a finite value. An index on the column answers it.
    """
    name = quoted(column.name)
    least, greatest = f"MIN({name})", f"MAX({name})"
    if column.type == "date":
        epoch = _EPOCH["date"]
        return f"SELECT {least} - {epoch}, {greatest} - {epoch} FROM {relation} WHERE isfinite({name})"
    if column.type in _EPOCH:
        seconds = "floor(extract(epoch FROM {}))::bigint"
        selected = f"{seconds.format(least)}, {seconds.format(greatest)}"
        return f"SELECT {selected} FROM {relation} WHERE isfinite({name})"
    if column.type == "numeric":
        # NaN and the infinities are numerics too.
        return f"SELECT floor({least}), floor({greatest}) FROM {relation} WHERE abs({name}) < 1e38"
    return f"SELECT {least}, {greatest} FROM {relation}"


def cuts(least: int, greatest: int, ranges: int) -> list[int]:
    """Where one range ends and the next begins: strictly rising, each above `least` and at most `greatest`."""
    ranges = max(1, min(ranges, greatest - least + 1))
    return [least + (greatest - least + 1) * at // ranges for at in range(1, ranges)]


def conditions(column: SourceColumn, name: str, at: list[int]) -> list[str]:
    """The ranges between `at` as SQL conditions on `name`; a single one that is always true where there is no cut."""
    if not at:
        return ["TRUE"]
    values = [_literal(column, cut) for cut in at]
    inner = [f"{name} >= {low} AND {name} < {high}" for low, high in pairwise(values)]
    return [f"{name} < {values[0]} OR {name} IS NULL", *inner, f"{name} >= {values[-1]}"]


def _literal(column: SourceColumn, value: int) -> str:
    if column.type == "date":
        return f"({_EPOCH['date']} + ({value}))"
    if column.type in _EPOCH:
        return f"({_EPOCH[column.type]} + INTERVAL {text_literal(f'{value} seconds')})"
    return f"({value})"


def _declared_column(table: CatalogTable) -> str | None:
    fqn, name = table.identity.fqn, table.parameters.get(JDBC_PARTITION_COLUMN, "").strip()
    if not name:
        return None
    column = table.schema.find(name)
    if column is None:
        near = difflib.get_close_matches(name.lower(), table.schema.names, n=1)
        hint = f" Did you mean {near[0]}?" if near else ""
        raise CatalogError(f"{fqn}: {JDBC_PARTITION_COLUMN} is {name}, which is no column of the table.{hint}")
    if parse(column.type).kind not in _SPLITTABLE:
        raise CatalogError(
            f"{fqn}: {JDBC_PARTITION_COLUMN} is {name}, a {column.type}; ranges need {_SPLITTABLE_WORDS} column"
        )
    return column.name


def _key_column(table: CatalogTable) -> str | None:
    """The first primary key that has ranges. A key that has none is no mistake: the read is one query then."""
    keys = [key.strip() for key in table.parameters.get(PRIMARY_KEYS, "").split(",")]
    found = [column for key in keys if key and (column := table.schema.find(key)) is not None]
    return next((column.name for column in found if parse(column.type).kind in _SPLITTABLE), None)


def _declared_ranges(table: CatalogTable) -> int:
    text = table.parameters.get(JDBC_PARTITIONS, "").strip()
    if not text:
        return DEFAULT_RANGES
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= _MOST_RANGES):
        raise CatalogError(
            f"{table.identity.fqn}: {JDBC_PARTITIONS} is {text}; it must be a whole number from 1 to {_MOST_RANGES}"
        )
    return int(text)
