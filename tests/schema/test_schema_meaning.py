"""What columns mean: kept with the table, and compared between versions."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline_runtime.schema.meaning import DeclaredColumn, columns_problem, dump_columns, load_columns, meaning_changes

AMOUNT = DeclaredColumn("amount", "decimal(18,2)", False, "What is owed.", "EUR", "Taxes included.", "internal")

_text = st.none() | st.text(min_size=1, max_size=8)
_column = st.builds(
    DeclaredColumn,
    st.sampled_from(["a", "b", "c", "A"]),
    st.sampled_from(["string", "bigint", "decimal(18,2)"]),
    st.booleans(),
    _text,
    _text,
    _text,
    _text,
)
_columns = st.lists(_column, max_size=3, unique_by=lambda column: column.name.casefold()).map(tuple)


@given(_columns)
def test_what_is_kept_with_the_table_is_what_was_declared(columns):
    assert load_columns(dump_columns(columns)) == columns


@given(_columns)
def test_the_same_declaration_is_the_same_text_and_changes_nothing(columns):
    assert dump_columns(columns) == dump_columns(load_columns(dump_columns(columns)))
    assert meaning_changes(columns, columns) == ()


@given(_columns, _columns)
def test_the_way_back_tells_the_same_changes_the_other_way_round(before, after):
    forth = {
        (change.column.lower(), change.aspect, change.before, change.after) for change in meaning_changes(before, after)
    }
    back = {
        (change.column.lower(), change.aspect, change.after, change.before) for change in meaning_changes(after, before)
    }
    assert forth == back


@pytest.mark.parametrize(
    ("aspect", "now", "said"),
    [
        ("unit", "cents", '~ amount: unit "EUR" -> "cents"'),
        ("definition", "Without taxes.", '~ amount: definition "Taxes included." -> "Without taxes."'),
        ("classification", None, '~ amount: classification "internal" -> (not declared)'),
    ],
)
def test_another_unit_definition_or_classification_is_a_change(aspect, now, said):
    after = DeclaredColumn(**{**vars(AMOUNT), aspect: now, "name": "AMOUNT"})
    assert [str(change).lower() for change in meaning_changes([AMOUNT], [after])] == [said.lower()]


def test_wording_shape_and_columns_of_one_side_are_not_changes_of_meaning():
    after = DeclaredColumn(
        **{**vars(AMOUNT), "description": "The sum owed.", "type": "string", "definition": "Taxes\n included."}
    )
    assert meaning_changes([AMOUNT], [after, DeclaredColumn("new", "string", unit="m")]) == ()
    assert meaning_changes([AMOUNT], []) == ()


def test_what_a_later_release_keeps_beside_it_is_left_alone():
    text = json.dumps([{"name": "a", "type": "INTEGER", "nullable": True, "sensitivity": "x"}])
    assert load_columns(text) == (DeclaredColumn("a", "int"),)


@pytest.mark.parametrize(
    "text", ["", "{", "7", "[7]", '[{"name": "a"}]', '[{"name": "a", "type": "nope"}]', '{"a": 1}']
)
def test_what_is_no_declaration_is_a_value_error(text):
    with pytest.raises(ValueError, match=r"."):
        load_columns(text)


def test_a_declaration_is_bounded_in_bytes_not_in_characters():
    assert columns_problem([DeclaredColumn("a", "string", definition="x" * 99_000)]) is None
    assert "bytes as JSON" in (columns_problem([DeclaredColumn("a", "string", definition="ß" * 60_000)]) or "")
