"""Whether the columns that the steps produce fit the target: asked before anything is written."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING

from pipeline_runtime.errors import OutputRefused
from pipeline_runtime.schema.columns import Column, Schema
from pipeline_runtime.schema.types import fits, from_spark

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

    from pipeline_runtime.writers.plan import TargetPlan

__all__ = ["check_output", "new_columns", "output_schema", "spark_schema"]

#: Types whose values cannot name a partition.
_UNPARTITIONABLE = ("array", "map", "struct", "binary")
_CLOCKS = {"timestamp", "timestamp_ntz"}


def spark_schema(frame: StructType) -> Schema:
    """The columns of a Spark schema in canonical types. Raises ValueError for a type no table can hold."""
    return Schema(tuple(Column(field.name, from_spark(field.dataType.jsonValue()), field.nullable) for field in frame))


def output_schema(frame: StructType, plan: TargetPlan) -> Schema:
    """The columns of the steps' output.

    Raises OutputRefused, with every problem at once, for a column that is there twice (case does not
    count), a column whose type no table can hold, and a partition column that is missing or cannot
    partition.
    """
    problems = [*_twice(frame.names), *_untyped(frame)]
    held = {name.casefold() for name in frame.names}
    for name in plan.partition_by:
        if name.casefold() not in held:
            near = _closest(name, frame.names)
            problems.append(f"partition column {name} is missing{near}; the output has {', '.join(frame.names)}")
    if not problems:
        schema = spark_schema(frame)
        problems += [
            f"partition column {column.name} is {column.type}, which cannot partition a table"
            for column in schema
            if column.name.casefold() in _folded(plan.partition_by) and column.type.startswith(_UNPARTITIONABLE)
        ]
    if problems:
        raise OutputRefused(
            f"{plan.identity.fqn}: {'; '.join(problems)}. Nothing was written. Correct the last step's SELECT."
        )
    return schema


def new_columns(output: Schema, table: Schema, plan: TargetPlan) -> tuple[Column, ...]:
    """The output's columns that the table lacks and the contract declares: a run adds them."""
    return tuple(
        column for column in output if table.find(column.name) is None and column.name.casefold() in plan.declared
    )


def check_output(output: Schema, table: Schema, plan: TargetPlan) -> None:
    """Raises OutputRefused, with every difference, unless the output has exactly the table's columns.

    A column that the contract declares may be new. Order and case do not count. A type may be narrower than the
    table's, never wider or another kind: a `timestamp_ntz` is not a `timestamp`, since its instant would depend on
    the session's time zone.
    """
    problems = [*_added(output, table, plan.declared), *_missing(output, table), *_retyped(output, table)]
    if problems:
        raise OutputRefused(
            f"{plan.identity.fqn}: the output does not fit the table's columns. Diff: {'; '.join(problems)}. "
            "Nothing was written. Correct the last step's SELECT, or change the table's columns first."
        )


def _twice(names: list[str]) -> Iterator[str]:
    folded = [name.casefold() for name in names]
    for name in sorted({name for name in folded if folded.count(name) > 1}):
        yield f"column {name} is in the output {folded.count(name)} times"


def _untyped(frame: StructType) -> Iterator[str]:
    for field in frame:
        try:
            from_spark(field.dataType.jsonValue())
        except ValueError as error:
            if "void" in field.dataType.simpleString():
                yield f"column {field.name} is a NULL without a type: say which, CAST(NULL AS string) for example"
            else:
                yield f"column {field.name}: {error}"


def _added(output: Schema, table: Schema, declared: Collection[str]) -> Iterator[str]:
    missing = [column.name for column in table if output.find(column.name) is None]
    for column in output:
        if table.find(column.name) is None and column.name.casefold() not in declared:
            yield f"+ {column.name} ({column.type}), not in the table{_closest(column.name, missing)}"


def _missing(output: Schema, table: Schema) -> Iterator[str]:
    for column in table:
        if output.find(column.name) is None:
            yield f"- {column.name} ({column.type}), not in the output"


def _retyped(output: Schema, table: Schema) -> Iterator[str]:
    for column in output:
        held = table.find(column.name)
        if held is not None and not fits(column.type, held.type):
            yield f"~ {held.name}: {column.type} does not fit {held.type} without loss{_clock_hint(column, held)}"


def _clock_hint(column: Column, held: Column) -> str:
    if {column.type, held.type} != _CLOCKS:
        return ""
    return " (a wall clock is no instant until a zone is named: to_utc_timestamp or from_utc_timestamp)"


def _closest(name: str, names: Iterable[str]) -> str:
    near = difflib.get_close_matches(name.casefold(), _folded(names), n=1)
    return f" (did you mean {near[0]}?)" if near else ""


def _folded(names: Iterable[str]) -> list[str]:
    return [name.casefold() for name in names]
