"""The ranges of a parallel read: each value in exactly one, however the bounds lie."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from postgres import Postgres

from pipeline_runtime.catalog.table import CatalogTable, TableIdentity
from pipeline_runtime.readers.jdbc_columns import SourceColumn
from pipeline_runtime.readers.jdbc_ranges import Split, bounds_query, conditions, cuts, declared_split
from pipeline_runtime.schema.columns import Column, Schema

_BIG = st.integers(-(10**40), 10**40)


@given(one=_BIG, other=_BIG, ranges=st.integers(1, 200))
def test_cuts_rise_and_lie_between_the_bounds(one: int, other: int, ranges: int) -> None:
    least, greatest = sorted((one, other))
    at = cuts(least, greatest, ranges)
    assert at == sorted(set(at))
    assert all(least < cut <= greatest for cut in at)
    assert len(at) == min(ranges, greatest - least + 1) - 1


@given(
    bounds=st.tuples(st.integers(-50, 50), st.integers(0, 60)),
    ranges=st.integers(1, 12),
    values=st.lists(st.one_of(st.none(), st.integers(-200, 200)), max_size=30),
)
def test_every_value_is_in_exactly_one_range(bounds: tuple[int, int], ranges: int, values: list[int | None]) -> None:
    least, span = bounds
    asked = conditions(SourceColumn("k", "int4", "integer"), "k", cuts(least, least + span, ranges))
    for value in values:
        assert sum(_holds(condition, value) for condition in asked) == 1


def _holds(condition: str, value: int | None) -> bool:
    """SQL's three-valued logic for the three shapes that a condition has."""
    if condition == "TRUE":
        return True
    if value is None:
        return condition.endswith(" OR k IS NULL")
    expression = condition.replace(" OR k IS NULL", "").replace("AND", "and")
    return bool(eval(expression, {"k": value}))


@pytest.mark.parametrize(
    ("declared", "type_", "values", "bounds"),
    [
        ("bigint", "int8", "(-9223372036854775808), (9223372036854775807), (NULL)", (-(2**63), 2**63 - 1)),
        ("numeric", "numeric", "(-1.5), (10.5), ('NaN'), ('Infinity'), ('-Infinity'), (NULL)", (-2, 10)),
        ("date", "date", "('1969-12-31'), ('1970-01-11'), ('infinity'), ('-infinity'), (NULL)", (-1, 10)),
        ("timestamp", "timestamp", "('1969-12-31 23:59:58.5'), ('1970-01-01 00:01:00'), ('infinity')", (-2, 60)),
        ("timestamptz", "timestamptz", "('1970-01-01 01:00:00+01'), ('1970-01-01 00:00:30+00'), (NULL)", (0, 30)),
        ("date", "date", "(NULL), ('infinity')", None),
    ],
)
def test_each_row_of_a_real_table_is_in_exactly_one_range(
    postgres: Postgres, declared: str, type_: str, values: str, bounds: tuple[int, int] | None
) -> None:
    column = SourceColumn("k", type_, declared)
    fill = f"CREATE TEMP TABLE t (k {declared}); INSERT INTO t VALUES {values};"
    answer = postgres.sql(fill + bounds_query(column, "t"))
    assert answer == ("|" if bounds is None else f"{bounds[0]}|{bounds[1]}")
    at = cuts(*bounds, 4) if bounds is not None else []
    held = " + ".join(f"coalesce(({condition})::int, 0)" for condition in conditions(column, '"k"', at))
    assert postgres.sql(fill + f"SELECT DISTINCT {held} FROM t") == "1"


def _table(**parameters: str) -> CatalogTable:
    return CatalogTable(
        identity=TableIdentity("eu-central-1", "111122223333", "raw", "payments"),
        version=3,
        schema=Schema((Column("ref", "string"), Column("id", "bigint"), Column("day", "date"))),
        location="ledger.public.payments",
        is_iceberg=False,
        parameters={f"cordata.{key}": value for key, value in parameters.items()},
    )


@pytest.mark.parametrize(
    ("parameters", "split"),
    [
        ({}, Split(None, 8)),
        ({"primary_keys": "id"}, Split("id", 8)),
        ({"primary_keys": "ref, ID"}, Split("id", 8)),
        ({"primary_keys": "ref"}, Split(None, 8)),
        ({"primary_keys": "id", "jdbc_partition_column": "Day"}, Split("day", 8)),
        ({"primary_keys": "id", "jdbc_partitions": "1"}, Split("id", 1)),
    ],
)
def test_a_table_is_split_by_the_column_it_names_else_by_its_key(parameters: Any, split: Split) -> None:
    assert declared_split(_table(**parameters)) == split
