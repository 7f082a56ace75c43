"""The promise of every reader: a frame that has the pinned columns, in their order, types and spelling."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any

from pipeline_runtime.errors import SchemaMismatch
from pipeline_runtime.schema.columns import Column, Schema
from pipeline_runtime.schema.types import fits, from_spark, to_spark

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructField

__all__ = ["enforce", "schema_of"]

_CLOCKS = {"timestamp", "timestamp_ntz"}


def enforce(frame: DataFrame, pinned: Schema, table: str) -> DataFrame:
    """The pinned columns of `frame` under their pinned names, in pinned order; other columns are left out.

    Columns are found by name without regard to case. A type differs from the pinned one only by a widening
    that keeps every value exactly, and is cast; nullability is not looked at, because engines call every
    column of a file nullable (the pin's gate has compared it in the catalog). No Spark job: this is one
    projection, which leaves column pruning and filter pushdown as they were.

    Raises SchemaMismatch, naming `table` and every column at fault, for anything else.
    """
    found = {column.name: _find(frame, column) for column in pinned}
    problems = [problem for column in pinned if (problem := _problem(column, found[column.name], frame)) is not None]
    if problems:
        raise SchemaMismatch("\n".join(f"{table}: {problem}" for problem in problems))
    return frame.select([_as_pinned(column, found[column.name][0]) for column in pinned])


def schema_of(frame: DataFrame) -> Schema:
    """A frame's columns in canonical types. Raises SchemaMismatch for a type that no table can hold."""
    columns = []
    for field in frame.schema.fields:
        try:
            columns.append(Column(field.name, from_spark(field.dataType.jsonValue()), field.nullable))
        except ValueError as error:
            raise SchemaMismatch(f"column {field.name}: {error}; cast it to one of these") from None
    return Schema(tuple(columns))


def _find(frame: DataFrame, column: Column) -> list[StructField]:
    return [field for field in frame.schema.fields if field.name.casefold() == column.name.casefold()]


def _problem(column: Column, found: list[StructField], frame: DataFrame) -> str | None:
    if not found:
        near = difflib.get_close_matches(column.name, frame.columns, n=1)
        closest = f" (closest: {near[0]})" if near else ""
        return f"column {column.name} is pinned and was not there when the table was read{closest}"
    if len(found) > 1:
        names = ", ".join(field.name for field in found)
        return f"column {column.name} is there {len(found)} times ({names}); names must differ in more than case"
    try:
        held = from_spark(found[0].dataType.jsonValue())
    except ValueError as error:
        return f"column {column.name} is pinned as {column.type}; {error}"
    return None if fits(held, column.type) else _misfit(column, held)


def _misfit(column: Column, held: str) -> str:
    fact = f"column {column.name} is {held} and pinned as {column.type}"
    if {held, column.type} == _CLOCKS:
        return (
            f"{fact}: one is a wall clock and the other an instant, and reading one as the other shifts it by the "
            f"session's time zone. Pin {held} and convert in a step that names the zone (to_utc_timestamp)."
        )
    return f"{fact}, which does not hold every value exactly. Pin {held} and convert in a step."


def _as_pinned(column: Column, field: StructField) -> SparkColumn:
    from pyspark.sql import functions

    held = functions.col("`" + field.name.replace("`", "``") + "`")
    if field.name == column.name and _ddl(field.dataType) == to_spark(column.type):
        return held
    if _ddl(field.dataType) != to_spark(column.type):
        held = held.cast(to_spark(column.type))
    return held.alias(column.name)


def _ddl(type_: Any) -> str:
    return to_spark(from_spark(type_.jsonValue()))
