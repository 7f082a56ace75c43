"""Every type that a suite may use, on the engine: it runs, it can fail, and no rows are no pass."""

from __future__ import annotations

import pytest

from pipeline_runtime.quality.expectation_types import type_table
from pipeline_runtime.quality.kinds import SHAPE

pytestmark = [
    pytest.mark.spark,
    # PySpark 3.5 asks for pandas' version with distutils.
    pytest.mark.filterwarnings("ignore:distutils Version classes are deprecated:DeprecationWarning"),
]

BETWEEN = "expect_column_values_to_be_between"
KL = "expect_column_kl_divergence_to_be_less_than"
NOT_NULL = "expect_column_values_to_not_be_null"
REGEX = "expect_column_values_to_match_regex"
ROW_COUNT = "expect_table_row_count_to_be_between"
UNIQUE = "expect_column_values_to_be_unique"


EVERY_TYPE = {
    "expect_column_distinct_values_to_be_in_set": {"column": "s", "value_set": ["a"]},
    "expect_column_distinct_values_to_contain_set": {"column": "s", "value_set": ["a", "z"]},
    "expect_column_distinct_values_to_equal_set": {"column": "s", "value_set": ["a", "z"]},
    KL: {"column": "s", "partition_object": {"values": ["a", "b"], "weights": [0.9, 0.1]}, "threshold": 0},
    "expect_column_max_to_be_between": {"column": "n", "max_value": 1},
    "expect_column_mean_to_be_between": {"column": "n", "min_value": 9},
    "expect_column_median_to_be_between": {"column": "n", "min_value": 9},
    "expect_column_min_to_be_between": {"column": "n", "min_value": 9},
    "expect_column_most_common_value_to_be_in_set": {"column": "s", "value_set": ["z"]},
    "expect_column_pair_values_a_to_be_greater_than_b": {"column_A": "n", "column_B": "m"},
    "expect_column_pair_values_to_be_equal": {"column_A": "n", "column_B": "m"},
    "expect_column_pair_values_to_be_in_set": {"column_A": "s", "column_B": "n", "value_pairs_set": [["a", 9]]},
    "expect_column_proportion_of_non_null_values_to_be_between": {"column": "n", "max_value": 0.5},
    "expect_column_proportion_of_unique_values_to_be_between": {"column": "s", "min_value": 0.9},
    "expect_column_quantile_values_to_be_between": {
        "column": "n",
        "quantile_ranges": {"quantiles": [0.5], "value_ranges": [[9, 10]]},
    },
    "expect_column_stdev_to_be_between": {"column": "n", "min_value": 9},
    "expect_column_sum_to_be_between": {"column": "n", "min_value": 99},
    "expect_column_to_exist": {"column": "zz"},
    "expect_column_type_to_be": {"column": "n", "type_": "StringType"},
    "expect_column_unique_value_count_to_be_between": {"column": "s", "min_value": 9},
    "expect_column_value_lengths_to_be_between": {"column": "s", "min_value": 9},
    "expect_column_value_lengths_to_equal": {"column": "s", "value": 9},
    "expect_column_value_z_scores_to_be_less_than": {"column": "n", "threshold": 0.1, "double_sided": True},
    BETWEEN: {"column": "n", "min_value": 9},
    "expect_column_values_to_be_in_set": {"column": "s", "value_set": ["a"]},
    "expect_column_values_to_be_in_type_list": {"column": "n", "type_list": ["StringType"]},
    "expect_column_values_to_be_null": {"column": "n"},
    "expect_column_values_to_be_of_type": {"column": "n", "type_": "StringType"},
    UNIQUE: {"column": "s"},
    REGEX: {"column": "s", "regex": "^a$"},
    "expect_column_values_to_match_regex_list": {"column": "s", "regex_list": ["^a$", "^z$"]},
    "expect_column_values_to_match_strftime_format": {"column": "s", "strftime_format": "%Y"},
    "expect_column_values_to_not_be_in_set": {"column": "s", "value_set": ["a"]},
    NOT_NULL: {"column": "gap"},
    "expect_column_values_to_not_be_outliers": {"column": "n", "multiplier": 0.1},
    "expect_column_values_to_not_match_regex": {"column": "s", "regex": "^a$"},
    "expect_column_values_to_not_match_regex_list": {"column": "s", "regex_list": ["^a$"]},
    "expect_compound_columns_to_be_unique": {"column_list": ["s", "one"]},
    "expect_multicolumn_sum_to_equal": {"column_list": ["n", "m"], "sum_total": 0},
    "expect_multicolumn_values_to_be_equal": {"column_list": ["n", "m"]},
    "expect_select_column_values_to_be_unique_within_record": {"column_list": ["one", "one_too"]},
    "expect_table_column_count_to_be_between": {"min_value": 99},
    "expect_table_column_count_to_equal": {"value": 99},
    "expect_table_columns_to_match_ordered_list": {"column_list": ["n"]},
    "expect_table_columns_to_match_set": {"column_set": ["n"]},
    ROW_COUNT: {"min_value": 99},
    "expect_table_row_count_to_equal": {"value": 99},
}


def test_every_type_that_a_suite_may_use_runs_on_this_engine_and_can_fail(judge):
    assert EVERY_TYPE.keys() == type_table().types.keys()
    rows = """
        SELECT * FROM VALUES ('a', 1, 2, 1), ('a', 2, 3, NULL), ('b', 3, 9, 3), ('b', 9, 10, 4) AS t(s, n, m, gap)
        LATERAL VIEW explode(array(1)) AS one LATERAL VIEW explode(array(1)) AS one_too
    """
    results = judge(rows, *EVERY_TYPE.items())
    assert [each.assertion for each in results if each.success] == []
    assert [(each.assertion, each.detail) for each in results if each.detail is not None] == []
    assert [each.assertion for each in results if not (each.expected and each.actual)] == []
    assert max(len(each.expected) + len(each.actual) for each in results) <= 400


def test_no_type_passes_where_there_are_no_rows(judge):
    by_row = {name: kwargs for name, kwargs in EVERY_TYPE.items() if name not in SHAPE}
    rows = "SELECT 's' AS s, 1 AS n, 2 AS m, 3 AS gap, 1 AS one, 1 AS one_too FROM range(0)"
    results = judge(rows, *by_row.items())
    assert {(each.success, each.actual, each.detail) for each in results} == {(False, "no rows evaluated", None)}
