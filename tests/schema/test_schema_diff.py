"""What differs between a pin and the catalog, in the words of the project's own messages."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline_runtime.schema.columns import Column, Schema
from pipeline_runtime.schema.diff import Added, Removed, diff

columns = st.builds(
    Column,
    name=st.sampled_from(["id", "Amount", "iban", "country", "SCORED_AT"]),
    type=st.sampled_from(["int", "bigint", "decimal(10,2)", "string", "struct<a:int>"]),
    nullable=st.sampled_from([True, False, None]),
    field_id=st.none() | st.integers(1, 9),
)
schemas = st.lists(columns, max_size=5, unique_by=lambda column: column.name).map(lambda cs: Schema(tuple(cs)))


def schema(*columns: Column) -> Schema:
    return Schema(columns)


ID = Column("id", "bigint", nullable=False)


@pytest.mark.parametrize(
    ("before", "after", "line"),
    [
        (
            schema(ID),
            schema(ID, Column("merchant_category_code", "string", nullable=True)),
            "+ merchant_category_code (string, nullable)",
        ),
        (schema(ID, Column("merchant_id", "string", nullable=False)), schema(ID), "- merchant_id (string, not null)"),
        (schema(Column("dt", "string")), schema(), "- dt (string)"),
        (schema(Column("n", "int")), schema(Column("n", "bigint")), "~ n: int -> bigint (widening)"),
        (schema(Column("n", "bigint")), schema(Column("n", "int")), "~ n: bigint -> int"),
        (schema(Column("r", "float")), schema(Column("r", "double")), "~ r: float -> double (widening)"),
        (
            schema(Column("amount", "decimal(10,2)")),
            schema(Column("amount", "decimal(18,2)")),
            "~ amount: decimal(10,2) -> decimal(18,2) (widening)",
        ),
        (
            schema(Column("amount", "decimal(10,2)")),
            schema(Column("amount", "decimal(18,4)")),
            "~ amount: decimal(10,2) -> decimal(18,4)",
        ),
        (schema(Column("d", "date")), schema(Column("d", "timestamp")), "~ d: date -> timestamp"),
        (
            schema(Column("iban", "string", nullable=False)),
            schema(Column("iban", "string", nullable=True)),
            "~ iban: not null -> nullable",
        ),
        (
            schema(Column("iban", "string", nullable=True)),
            schema(Column("iban", "string", nullable=False)),
            "~ iban: nullable -> not null",
        ),
        (
            schema(Column("owner", "struct<iban:string not null>")),
            schema(Column("owner", "struct<iban:string>")),
            "~ owner: struct<iban:string not null> -> struct<iban:string>",
        ),
        (
            schema(Column("x", "int", field_id=3)),
            schema(Column("x", "int", field_id=9)),
            "~ x: dropped and added again (field id 3 -> 9)",
        ),
    ],
)
def test_each_kind_of_change_is_one_line(before: Schema, after: Schema, line: str) -> None:
    assert str(diff(before, after)) == line


def test_several_changes_are_reported_additions_first_and_then_by_name() -> None:
    before = schema(ID, Column("merchant_id", "string", False), Column("b", "int"), Column("a", "int"))
    after = schema(ID, Column("merchant_ref", "string", False), Column("a", "bigint"), Column("b", "date"))
    assert [str(change) for change in diff(before, after)] == [
        "+ merchant_ref (string, not null)",
        "- merchant_id (string, not null)",
        "~ a: int -> bigint (widening)",
        "~ b: int -> date",
    ]


def test_a_rename_is_a_removal_and_an_addition() -> None:
    changes = diff(schema(Column("old", "int", field_id=1)), schema(Column("new", "int", field_id=1))).changes
    assert [type(change) for change in changes] == [Added, Removed]


def test_one_column_can_change_in_more_than_one_way() -> None:
    before = schema(Column("x", "int", nullable=False, field_id=1))
    after = schema(Column("x", "string", nullable=True, field_id=2))
    assert len(diff(before, after).changes) == 3


def test_names_that_differ_in_case_only_are_one_column() -> None:
    assert not diff(schema(Column("Amount", "int")), schema(Column("amount", "int")))


def test_what_one_side_does_not_say_differs_from_nothing() -> None:
    stated = schema(Column("x", "int", nullable=False, field_id=4))
    silent = schema(Column("x", "int"))
    assert not diff(stated, silent)
    assert not diff(silent, stated)


@given(schemas)
def test_a_schema_does_not_differ_from_itself(one: Schema) -> None:
    assert not diff(one, one)


@given(schemas, schemas)
def test_what_is_added_one_way_is_removed_the_other_way(one: Schema, other: Schema) -> None:
    forth, back = diff(one, other), diff(other, one)
    assert {c.column for c in forth if isinstance(c, Added)} == {c.column for c in back if isinstance(c, Removed)}
    assert len(forth.changes) == len(back.changes)


@given(schemas, schemas, st.randoms())
def test_the_order_of_columns_changes_nothing(one: Schema, other: Schema, random: object) -> None:
    shuffled = list(other)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert diff(one, Schema(tuple(shuffled))) == diff(one, other)


@given(schemas)
def test_every_column_that_is_missing_is_named(one: Schema) -> None:
    assert [change.name for change in diff(one, Schema(()))] == sorted(one.names, key=str.casefold)


@given(columns)
def test_another_nullability_is_always_a_difference_where_both_sides_state_it(column: Column) -> None:
    stated = replace(column, nullable=True)
    assert diff(schema(stated), schema(replace(stated, nullable=False)))
