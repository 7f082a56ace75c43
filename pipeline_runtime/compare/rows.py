"""What differs between the rows of two frames, as multisets: neither their order nor their files matter."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pipeline_runtime.compare.findings import Finding, shown
from pipeline_runtime.engine.catalogs import quoted
from pipeline_runtime.errors import UsageError

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType

__all__ = ["compare_rows"]

_NET = "__first_less_second"


def compare_rows(first: DataFrame, second: DataFrame, keys: Sequence[str], examples: int) -> list[Finding]:
    """How many rows only one side has, and `examples` of them; with `keys`, which cells of a row changed.

    Columns that only one side has, or has with another type, are left out: the schemas' findings name them. Cells
    are compared as Spark groups them: NULL equals NULL, NaN equals NaN, 0.0 equals -0.0. Raises UsageError where a
    key is no column of both sides.
    """
    columns = _shared(first, second)
    keys = [_known(key, columns) for key in keys]
    if not columns:
        return []
    odd = _unpaired(first, second, columns).persist()
    try:
        return list(_findings(odd, columns, keys, examples))
    finally:
        odd.unpersist()


def _findings(odd: DataFrame, columns: Sequence[str], keys: Sequence[str], examples: int) -> Iterator[Finding]:
    from pyspark.sql import functions as F  # noqa: N812

    net = F.col(_NET)
    counted = odd.select(
        F.sum(F.when(net > 0, net)).alias("first"), F.sum(F.when(net < 0, -net)).alias("second")
    ).collect()[0]
    if not counted["first"] and not counted["second"]:
        return
    yield Finding("rows", f"{counted['first'] or 0:,} only in the first, {counted['second'] or 0:,} only in the second")
    if examples == 0:
        return
    by = [F.col(quoted(name)) for name in (keys or columns)]
    chosen = odd.select(*by).distinct().orderBy(*by).limit(examples)
    same = [odd[quoted(name)].eqNullSafe(chosen[quoted(name)]) for name in (keys or columns)]
    # A few examples: the join with them is a broadcast, and its result is small unless keys repeat.
    found = odd.join(F.broadcast(chosen), same, "left_semi").orderBy(*by, net.desc()).limit(4 * examples).collect()
    yield from _described([row.asDict() for row in found], columns, keys)


def _described(found: Sequence[dict[str, Any]], columns: Sequence[str], keys: Sequence[str]) -> Iterator[Finding]:
    by_key: dict[str, list[dict[str, Any]]] = {}
    for row in found:
        by_key.setdefault(", ".join(f"{key}={shown(row[key])}" for key in keys), []).append(row)
    for key, rows in by_key.items():
        if keys and sorted(row[_NET] for row in rows) == [-1, 1]:
            before, after = rows
            changes = [
                f"{name} {shown(before[name])} → {shown(after[name])}"
                for name in columns
                if repr(before[name]) != repr(after[name])
            ]
            yield Finding("row", f"{key}: {'; '.join(changes)}")
            continue
        for row in rows:
            side, times = ("first", row[_NET]) if row[_NET] > 0 else ("second", -row[_NET])
            cells = ", ".join(f"{name}={shown(row[name])}" for name in columns)
            yield Finding("row", f"only in the {side}{f', {times} times' if times > 1 else ''}: {cells}")


def _unpaired(first: DataFrame, second: DataFrame, columns: Sequence[str]) -> DataFrame:
    """The different rows, with how many more of each the first side has (negative: the second)."""
    from pyspark.sql import functions as F  # noqa: N812

    def side(frame: DataFrame, sign: int) -> DataFrame:
        types = {field.name: field.dataType for field in frame.schema}
        held = {name.casefold(): name for name in types}
        cells = [
            _groupable(F.col(quoted(held[name.casefold()])), types[held[name.casefold()]]).alias(name)
            for name in columns
        ]
        return frame.select(*cells, F.lit(sign).cast("bigint").alias(_NET))

    both = side(first, 1).unionAll(side(second, -1))
    net = both.groupBy(*(F.col(quoted(name)) for name in columns)).agg(F.sum(_NET).alias(_NET))
    return net.where(F.col(_NET) != 0)


def _groupable(value: Column, type_: DataType) -> Column:
    """The value, maps in it as sorted lists of their entries: Spark groups by anything but a map."""
    from pyspark.sql import functions as F  # noqa: N812
    from pyspark.sql.types import ArrayType, MapType, StructType

    if isinstance(type_, MapType):
        entries = F.transform(
            F.map_entries(value),
            lambda each: F.struct(
                _groupable(each["key"], type_.keyType).alias("key"),
                _groupable(each["value"], type_.valueType).alias("value"),
            ),
        )
        return F.array_sort(entries)
    if isinstance(type_, ArrayType):
        return F.transform(value, lambda each: _groupable(each, type_.elementType)) if _has_map(type_) else value
    if isinstance(type_, StructType) and _has_map(type_):
        fields = [_groupable(value[field.name], field.dataType).alias(field.name) for field in type_]
        return F.when(value.isNotNull(), F.struct(*fields))
    return value


def _has_map(type_: DataType) -> bool:
    return '"map"' in type_.json()


def _shared(first: DataFrame, second: DataFrame) -> list[str]:
    others = {field.name.casefold(): field.dataType.simpleString() for field in second.schema}
    return [field.name for field in first.schema if others.get(field.name.casefold()) == field.dataType.simpleString()]


def _known(key: str, columns: Sequence[str]) -> str:
    for name in columns:
        if name.casefold() == key.casefold():
            return name
    raise UsageError(f"key {key} is no column that both have with one type; those are {', '.join(columns)}")
