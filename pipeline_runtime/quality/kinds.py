"""What the types of expectation have in common, as far as the executor judges them itself."""

from __future__ import annotations

__all__ = [
    "COMPARES_VALUES",
    "COUNTS_NULLS",
    "KL_DIVERGENCE",
    "NEEDS_NUMBERS",
    "NEEDS_TEXT",
    "NOT_NULL",
    "SHAPE",
    "UNIQUE",
    "USES_VALUE_SET",
]

KL_DIVERGENCE = "expect_column_kl_divergence_to_be_less_than"
NOT_NULL = "expect_column_values_to_not_be_null"
UNIQUE = "expect_column_values_to_be_unique"

#: The bounds are values of the column's own type; everywhere else they are plain numbers.
COMPARES_VALUES = frozenset(
    {
        "expect_column_max_to_be_between",
        "expect_column_min_to_be_between",
        "expect_column_values_to_be_between",
    }
)

USES_VALUE_SET = frozenset(
    {
        "expect_column_distinct_values_to_be_in_set",
        "expect_column_distinct_values_to_contain_set",
        "expect_column_distinct_values_to_equal_set",
        "expect_column_most_common_value_to_be_in_set",
        "expect_column_values_to_be_in_set",
        "expect_column_values_to_not_be_in_set",
    }
)

#: Text would be cast to NULL, and NULL passes.
NEEDS_NUMBERS = frozenset(
    {
        "expect_column_mean_to_be_between",
        "expect_column_median_to_be_between",
        "expect_column_quantile_values_to_be_between",
        "expect_column_stdev_to_be_between",
        "expect_column_sum_to_be_between",
        "expect_column_value_z_scores_to_be_less_than",
        "expect_column_values_to_not_be_outliers",
        "expect_multicolumn_sum_to_equal",
    }
)

#: Its Python function fails the whole batch on anything else.
NEEDS_TEXT = frozenset({"expect_column_values_to_match_strftime_format"})

#: A NULL is itself what these look at; all others skip it.
COUNTS_NULLS = frozenset(
    {
        "expect_column_proportion_of_non_null_values_to_be_between",
        "expect_column_values_to_be_null",
        NOT_NULL,
    }
)

#: About the table, not about its rows: meaningful also where there are none.
SHAPE = frozenset(
    {
        "expect_column_to_exist",
        "expect_column_type_to_be",
        "expect_column_values_to_be_in_type_list",
        "expect_column_values_to_be_of_type",
        "expect_table_column_count_to_be_between",
        "expect_table_column_count_to_equal",
        "expect_table_columns_to_match_ordered_list",
        "expect_table_columns_to_match_set",
        "expect_table_row_count_to_be_between",
        "expect_table_row_count_to_equal",
    }
)
