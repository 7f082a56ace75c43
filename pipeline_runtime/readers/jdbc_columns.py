"""How a PostgreSQL column reaches Spark in its pinned type: an expression in the query, exact or loud. Pure.

Spark's own mapping is not used where it loses something without saying so (seen on 3.5.6): a numeric without
precision is rounded to 18 decimals, an array of arrays of text becomes object addresses, a timestamp without time
zone moves when it falls into the daylight-saving gap of the JVM's zone, `preferTimestampNTZ` turns timestamptz into
a wall clock as well, and a pushed-down comparison of text follows the database's collation.

A column pinned as string is PostgreSQL's own text of the value, whatever its type. char(n) loses its padding, as
always when PostgreSQL turns it into text.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass

from pipeline_runtime.errors import SchemaMismatch
from pipeline_runtime.schema.columns import Column, Schema
from pipeline_runtime.schema.type_tree import Node, parse

__all__ = ["Landing", "SourceColumn", "land", "quoted", "text_literal"]

#: PostgreSQL's types that Spark reads as they are, each with the type that it becomes.
_PLAIN = {
    "bool": "boolean",
    "int2": "smallint",
    "int4": "int",
    "int8": "bigint",
    "float4": "float",
    "float8": "double",
    "bytea": "binary",
    "date": "date",
    "timestamptz": "timestamp",
}
#: Those of them whose arrays are read as they are.
_PLAIN_ELEMENTS = frozenset({"bool", "int2", "int4", "int8", "float4", "float8"})
_CAN_BE_INFINITE = frozenset({"date", "timestamptz", "timestamp"})
_TEXT = frozenset({"string", "varchar", "char"})
_AS_TEXT = "Make it a string in the catalog and pin that"


@dataclass(frozen=True)
class SourceColumn:
    """A column as PostgreSQL's catalog has it.

    `type` is the type's internal name (`int4`, `numeric`), `declared` what people write (`numeric(10,2)`),
    `element` the internal name of an array's elements. `modifier` is the type's: precision and scale, -1 for none.
    """

    name: str
    type: str
    declared: str
    modifier: int = -1
    element: str | None = None

    @property
    def precision(self) -> tuple[int, int] | None:
        """Precision and scale of a numeric, or of an array's numerics; None where none are declared."""
        if self.modifier < 4:
            return None
        packed = self.modifier - 4
        # Eleven bits with a sign, since PostgreSQL 15.
        return packed >> 16 & 0xFFFF, (packed & 0x7FF ^ 0x400) - 0x400


@dataclass(frozen=True)
class Landing:
    """A column's way to Spark.

    `expression` is SQL that computes it under the pinned `name`; `guard` a condition for WHERE that holds, or fails
    the query with its reason (there, because an index on the column stays of use to a filter); `spark` what Spark
    makes of the column, written `{}`; None for the column as it comes.
    """

    name: str
    expression: str
    guard: str | None = None
    spark: str | None = None


def quoted(name: str) -> str:
    """An identifier of PostgreSQL's."""
    return '"' + name.replace('"', '""') + '"'


def text_literal(text: str) -> str:
    """A text of PostgreSQL's; `standard_conforming_strings` is on wherever it has not been turned off since 9.1."""
    return "'" + text.replace("'", "''") + "'"


def land(pinned: Schema, found: Sequence[SourceColumn], table: str) -> list[Landing]:
    """The landings of the pinned columns, in their order. Raises SchemaMismatch with every column at fault."""
    landings: list[Landing] = []
    problems: list[str] = []
    for column in pinned:
        try:
            source = _find(column, found)
            landings.append(_landing(column, source, table))
        except ValueError as problem:
            problems.append(f"{table}: column {column.name} {problem}")
    if problems:
        raise SchemaMismatch("\n".join(problems))
    return landings


def _find(column: Column, found: Sequence[SourceColumn]) -> SourceColumn:
    """By its name, else by the name without regard to case: Glue keeps names in lower case only."""
    alike = [source for source in found if source.name.casefold() == column.name.casefold()]
    exact = [source for source in alike if source.name == column.name]
    if not alike:
        near = difflib.get_close_matches(column.name, [source.name for source in found], n=1)
        closest = f" (closest: {near[0]})" if near else ""
        raise ValueError(f"is pinned and is not in the database's table{closest}")
    if len(alike) > 1 and not exact:
        names = ", ".join(source.name for source in alike)
        raise ValueError(f"is there {len(alike)} times ({names}); read a view that renames all but one")
    return (exact or alike)[0]


def _landing(column: Column, source: SourceColumn, table: str) -> Landing:
    """Types that are read as they are go on to `enforce`, which says what does not fit the pin."""
    pinned, name = parse(column.type), quoted(source.name)
    subject = f"{table}: column {column.name}"
    if pinned.kind in _TEXT:
        return Landing(column.name, _text(name))
    if source.type == "timestamp":
        return _wall_clock(column, pinned, source, subject)
    if source.type in _PLAIN:
        return Landing(column.name, name, _finite(source, subject) if source.type in _CAN_BE_INFINITE else None)
    if source.type == "numeric":
        return Landing(column.name, _numeric(pinned, source, subject))
    if source.element is not None:
        return Landing(column.name, _array(pinned, source, subject))
    raise ValueError(f"is {source.declared} in the database, for which Spark has no type. {_AS_TEXT}")


def _text(name: str) -> str:
    """The value as text that compares byte by byte, as Spark's do, and not by the database's collation.

    It takes its collation, "C", from the arguments that name an encoding. COLLATE would say so, but is not in the
    grammar of the lineage listener, which then knows of no source and fills the log with the query.
    """
    return f"convert_from(convert_to({name}::text, 'UTF8'), 'UTF8')"


def _finite(source: SourceColumn, subject: str) -> str:
    name = quoted(source.name)
    reason = f"{subject} holds infinity, which Spark's types cannot. {_AS_TEXT}"
    return f"({name} IS NULL OR isfinite({name}) OR {_failing(name, reason, 'boolean')})"


def _wall_clock(column: Column, pinned: Node, source: SourceColumn, subject: str) -> Landing:
    """As microseconds since 1970, which no time zone on the way can move."""
    if pinned.kind != "timestamp_ntz":
        raise ValueError(
            f"is {source.declared} in the database, a wall clock, and pinned as {column.type}; crawlers call both of "
            "PostgreSQL's kinds timestamp. Make it timestamp_ntz in the catalog, pin that, and convert in a step that "
            "names the zone (to_utc_timestamp)"
        )
    micros = f"(extract(epoch FROM {quoted(source.name)}) * 1000000)::bigint"
    return Landing(column.name, micros, _finite(source, subject), "CAST(timestamp_micros({}) AS TIMESTAMP_NTZ)")


def _numeric(pinned: Node, source: SourceColumn, subject: str) -> str:
    """The column itself where Spark can hold what is declared, else the pinned decimal, checked value by value."""
    name = quoted(source.name)
    if _held_by_spark(source.precision):
        return name
    if pinned.kind != "decimal":
        raise ValueError(
            f"is {source.declared} in the database, of any precision; make it decimal(p,s), or a string, in the "
            "catalog and pin that"
        )
    precision, scale = pinned.args
    decimal = f"numeric({precision},{scale})"
    reason = f"{subject} holds a value that decimal({precision},{scale}), its pinned type, cannot hold exactly"
    # Neither NaN nor the infinities are less than anything.
    fits = f"{name} IS NULL OR ({name} = trunc({name}, {scale}) AND abs({name}) < 1e{precision - scale})"
    return f"(CASE WHEN {fits} THEN {name} ELSE {_failing(name, reason, 'numeric')} END)::{decimal}"


def _array(pinned: Node, source: SourceColumn, subject: str) -> str:
    """A column of arrays of one dimension; PostgreSQL's type does not say of how many they are."""
    name = quoted(source.name)
    if pinned.kind != "array":
        raise ValueError(
            f"is {source.declared} in the database. Make it array<…>, or a string, in the catalog and pin that"
        )
    if pinned.children[0].node.kind in _TEXT:
        type_ = "text[]"
    elif source.element in _PLAIN_ELEMENTS:
        type_ = f"{source.element}[]"
    elif source.element == "numeric" and (declared := source.precision) and _held_by_spark(declared):
        type_ = f"numeric({declared[0]},{declared[1]})[]"
    else:
        raise ValueError(
            f"is {source.declared} in the database, whose elements cannot be read as they are. Make it array<string>, "
            "or a string, in the catalog and pin that"
        )
    reason = f"{subject} holds an array of arrays. {_AS_TEXT}"
    failing = _failing(name, reason, type_)
    return f"(CASE WHEN array_ndims({name}) > 1 THEN {failing} ELSE {name}::{type_} END)::{type_}"


def _held_by_spark(precision: tuple[int, int] | None) -> bool:
    return precision is not None and 0 <= precision[1] <= precision[0] <= 38


def _failing(name: str, reason: str, type_: str) -> str:
    """An expression of that type that fails with `reason` when a row comes to it.

    A cast of a text that is no value of the type: SQL has no other way to raise an error. The empty part keeps the
    planner from computing it before there is a row.
    """
    return f"({text_literal(reason)} || left({name}::text, 0))::{type_}"
