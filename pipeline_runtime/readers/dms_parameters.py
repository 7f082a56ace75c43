"""What a landing table's Parameters say of its change log (design decision D11), read before an engine starts."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from pipeline_runtime.catalog.answers import closest
from pipeline_runtime.catalog.parameters import (
    CDC_BEFORE_PREFIX,
    CDC_SEQUENCE,
    CDC_STRICT,
    CDC_TIMESTAMP,
    MEANINGS,
    PREFIX,
    PRIMARY_KEYS,
)
from pipeline_runtime.catalog.table import CatalogTable
from pipeline_runtime.errors import CatalogError
from pipeline_runtime.readers.cdc_columns import is_image
from pipeline_runtime.schema.columns import Column, Schema

__all__ = ["OP", "DmsLanding", "check_dms"]

#: The column in which AWS DMS says what a change did; DMS lets nobody rename it.
OP = "Op"

_OURS = (PRIMARY_KEYS, CDC_SEQUENCE, CDC_TIMESTAMP, CDC_BEFORE_PREFIX, CDC_STRICT)


@dataclass(frozen=True)
class DmsLanding:
    """How to read one landing table: the columns that identify a row, and those that only tell of the change.

    `keys` are in the catalog's spelling. `dated_by` are the table's partition columns, which say when a change
    arrived and are as technical as the others. `strict` fails a log that updates a row which never came.
    """

    keys: tuple[str, ...]
    sequence: str | None = None
    timestamp: str | None = None
    before_prefix: str | None = None
    strict: bool = False
    dated_by: tuple[str, ...] = ()

    def is_technical(self, name: str, columns: tuple[str, ...]) -> bool:
        """Whether a column tells of the change and not of the row; `columns` are those of the table."""
        named = (OP, self.sequence, self.timestamp, *self.dated_by)
        if name.casefold() in {column.casefold() for column in named if column}:
            return True
        return self.before_prefix is not None and is_image(name, self.before_prefix, columns)

    def business(self, pinned: Schema) -> tuple[Column, ...]:
        """The columns of the rows themselves: all that anything behind the reader ever sees."""
        return tuple(column for column in pinned if not self.is_technical(column.name, pinned.names))


def check_dms(table: CatalogTable) -> DmsLanding:
    """What the table's Parameters say. Reads nothing.

    Raises CatalogError, naming the Parameter and the remedy, where the primary keys are not set, name no column
    of the table or one that tells of the change, where a Parameter is empty or misspelt, and for Iceberg tables.
    """
    fqn = table.identity.fqn
    if table.is_iceberg:
        raise CatalogError(f"{fqn} is an Iceberg table; AWS DMS lands parquet files. Read it with kind glue_table.")
    _check_spelling(table)
    landing = DmsLanding(
        keys=_keys(table),
        sequence=_value(table, CDC_SEQUENCE),
        timestamp=_value(table, CDC_TIMESTAMP),
        before_prefix=_value(table, CDC_BEFORE_PREFIX),
        strict=_flag(table, CDC_STRICT),
        dated_by=table.partition_columns,
    )
    for key in landing.keys:
        if landing.is_technical(key, table.schema.names):
            raise CatalogError(
                f"{fqn}: {PRIMARY_KEYS} names {key}, which tells of the change or of its file, not of the row. "
                "Name the columns of the source table's primary key."
            )
    return landing


def _keys(table: CatalogTable) -> tuple[str, ...]:
    fqn = table.identity.fqn
    names = [name.strip() for name in (_value(table, PRIMARY_KEYS) or "").split(",") if name.strip()]
    if not names:
        raise CatalogError(
            f"{fqn} has no Parameter {PRIMARY_KEYS}, and a change log is collapsed to one row per primary key. Set "
            f"it to the source table's key columns, comma-separated, e.g. {PRIMARY_KEYS}=claim_id."
        )
    if len({name.casefold() for name in names}) < len(names):
        raise CatalogError(f"{fqn}: {PRIMARY_KEYS} names a column twice: {', '.join(names)}")
    return tuple(_spelt(table, name) for name in names)


def _spelt(table: CatalogTable, name: str) -> str:
    column = table.schema.find(name)
    if column is None:
        raise CatalogError(
            f"{table.identity.fqn}: {PRIMARY_KEYS} names {name}, which is no column of the table; it has "
            f"{', '.join(table.schema.names)}.{closest(name, table.schema.names)}"
        )
    if "map<" in column.type:
        raise CatalogError(
            f"{table.identity.fqn}: {PRIMARY_KEYS} names {name}, a {column.type}; a map identifies no row"
        )
    return column.name


def _value(table: CatalogTable, parameter: str) -> str | None:
    value = table.parameters.get(parameter)
    if value is not None and not value.strip():
        raise CatalogError(f"{table.identity.fqn}: Parameter {parameter} is empty. Set it, or remove it.")
    return None if value is None else value.strip()


def _flag(table: CatalogTable, parameter: str) -> bool:
    value = _value(table, parameter) or "false"
    if value.lower() not in ("true", "false"):
        raise CatalogError(f"{table.identity.fqn}: Parameter {parameter} is {value}; it is true or false")
    return value.lower() == "true"


def _check_spelling(table: CatalogTable) -> None:
    """A misspelt Parameter would change the order of a log, or what counts as a key, and nobody would hear of it."""
    ours = {parameter.removeprefix(PREFIX): parameter for parameter in _OURS}
    for parameter in table.parameters:
        if not parameter.startswith(PREFIX) or parameter in MEANINGS:
            continue
        if near := difflib.get_close_matches(parameter.removeprefix(PREFIX), ours, n=1, cutoff=0.8):
            raise CatalogError(
                f"{table.identity.fqn}: Parameter {parameter} means nothing. Did you mean {ours[near[0]]}?"
            )
