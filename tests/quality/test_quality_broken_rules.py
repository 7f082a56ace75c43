"""Each quarantined row says which of the suite's rules it broke."""

from __future__ import annotations

from typing import Any

import pytest

from pipeline_runtime.quality.broken_rules import with_broken_rules
from pipeline_runtime.quality.runner import validate

pytestmark = pytest.mark.spark

NULL, UNIQUE = "expect_column_values_to_not_be_null", "expect_column_values_to_be_unique"
BETWEEN, IN_SET = "expect_column_values_to_be_between", "expect_column_values_to_be_in_set"
REGEX, LENGTHS = "expect_column_values_to_match_regex", "expect_column_value_lengths_to_be_between"
COMPOUND, GREATER = "expect_compound_columns_to_be_unique", "expect_column_pair_values_a_to_be_greater_than_b"

#: id, Kind, amount, fee
ROWS = [
    (1, "a", 10, 1),
    (2, "a", 10, 1),
    (2, "b", 500, 600),
    (3, None, None, 1),
    (None, "zz", -1, None),
    (1, "a", 5, 2),
]


@pytest.fixture
def broken(spark: Any, domain: Any) -> Any:
    """For each row by its number, the rules it broke; and what the suite counted."""

    def ask(*expectations: tuple[str, dict[str, Any]], keys: tuple[str, ...] = ()) -> list[list[str]]:
        rows = [(n, *row) for n, row in enumerate(ROWS)]
        frame = spark.createDataFrame(rows, "n int, id int, Kind string, amount int, `fee` int")
        suite = domain.suite(*expectations)
        marked = with_broken_rules(frame, suite, validate(frame, suite, primary_keys=keys))
        assert marked.columns == [*frame.columns, "broken_rules"]
        found = marked.orderBy("n").collect()
        assert [tuple(row)[:-1] for row in found] == rows
        return [row.broken_rules for row in found]

    return ask


def test_a_row_names_every_failed_rule_that_it_breaks_in_the_suites_order(broken):
    found = broken(
        (NULL, {"column": "kind"}),
        (UNIQUE, {"column": "id"}),
        (BETWEEN, {"column": "amount", "min_value": 0, "max_value": 100}),
        (IN_SET, {"column": "kind", "value_set": ["a", "b"]}),
        (REGEX, {"column": "kind", "regex": "^.$"}),
        (LENGTHS, {"column": "kind", "max_value": 1}),
        (GREATER, {"column_A": "amount", "column_B": "fee"}),
        (COMPOUND, {"column_list": ["amount", "fee"]}),
    )
    assert found == [
        [f"{UNIQUE}(id)", f"{COMPOUND}(amount, fee)"],
        [f"{UNIQUE}(id)", f"{COMPOUND}(amount, fee)"],
        [f"{UNIQUE}(id)", f"{BETWEEN}(amount)", f"{GREATER}(amount, fee)"],
        [f"{NULL}(kind)"],
        [f"{BETWEEN}(amount)", f"{IN_SET}(kind)", f"{REGEX}(kind)", f"{LENGTHS}(kind)"],
        [f"{UNIQUE}(id)"],
    ]


def test_what_passed_and_what_is_about_the_batch_is_in_no_row(broken):
    found = broken(
        (BETWEEN, {"column": "amount", "min_value": 0, "mostly": 0.5}),
        ("expect_table_row_count_to_be_between", {"min_value": 100}),
        ("expect_column_mean_to_be_between", {"column": "amount", "max_value": 1}),
        (BETWEEN, {"column": "amount", "max_value": 100, "mostly": 0.9}),
    )
    assert found == [[], [], [f"{BETWEEN}(amount)"], [], [], []]


def test_a_condition_on_rows_limits_a_rule_to_them(broken):
    found = broken(
        (NULL, {"column": "amount", "row_condition": 'col("id") > 2'}),
        (UNIQUE, {"column": "id", "row_condition": 'col("amount") > 9'}),
    )
    assert found == [[], [f"{UNIQUE}(id)"], [f"{UNIQUE}(id)"], [f"{NULL}(amount)"], [], []]


def test_the_rule_that_a_key_implies_is_among_them(broken):
    assert broken((UNIQUE, {"column": "n"}), keys=("id",)) == [[], [], [], [], [f"{NULL}(id)"], []]


def test_an_expectation_that_cannot_be_judged_marks_nothing(broken):
    assert broken((BETWEEN, {"column": "kind", "max_value": 3})) == [[], [], [], [], [], []]
