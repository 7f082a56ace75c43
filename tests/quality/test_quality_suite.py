"""Loading a suite: what it becomes, and that every mistake is told with its file and line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pipeline_runtime.errors import SuiteError
from pipeline_runtime.quality.suite import check_columns, load_suite

SUITE = """\
suite_name: transactions_scored
expectations:
  - type: expect_column_values_to_not_be_null
    kwargs: {column: tx_id}
  - type: expect_column_values_to_match_regex
    kwargs: {column: iban, regex: '^[A-Z]{2}[0-9]{2}[A-Z0-9]{1,30}$'}
  - type: expect_column_kl_divergence_to_be_less_than
    kwargs: {column: fraud_score, partition_object: baseline_fraud_score, threshold: 0.15}
  - type: expect_table_row_count_to_be_between
    kwargs: {min_value: 850_000, max_value: 1_400_000}
"""
UNIFORM = "bins: [0, 0.5, 1]\nweights: [0.5, 0.5]\n"


def one(name, kwargs):
    return f"suite_name: scores\nexpectations:\n  - type: {name}\n    kwargs: {kwargs}\n"


def test_a_suite_keeps_its_order_lines_and_numbers(domain):
    baseline = domain.baseline("baseline_fraud_score", UNIFORM)
    suite = domain.load(SUITE)
    assert suite.name == "transactions_scored"
    assert suite.baseline_files == (baseline,)
    assert [(spec.type, spec.line) for spec in suite.expectations] == [
        ("expect_column_values_to_not_be_null", 3),
        ("expect_column_values_to_match_regex", 5),
        ("expect_column_kl_divergence_to_be_less_than", 7),
        ("expect_table_row_count_to_be_between", 9),
    ]
    bounds = suite.expectations[3].kwargs
    assert bounds == {"min_value": 850_000, "max_value": 1_400_000}
    assert all(type(bound) is int for bound in bounds.values())


def test_a_named_baseline_is_put_in_its_place(domain):
    domain.baseline("baseline_fraud_score", UNIFORM)
    kwargs = domain.load(SUITE).expectations[2].kwargs
    assert kwargs["partition_object"] == {"bins": (0, 0.5, 1), "weights": (0.5, 0.5)}


def test_a_loaded_suite_cannot_be_changed(domain):
    domain.baseline("baseline_fraud_score", UNIFORM)
    suite = domain.load(SUITE)
    with pytest.raises(TypeError):
        suite.expectations[2].kwargs["partition_object"]["bins"] = ()
    with pytest.raises(AttributeError):
        suite.name = "another"


def test_checking_a_suite_imports_neither_great_expectations_nor_spark(domain):
    domain.baseline("baseline_fraud_score", UNIFORM)
    domain.load(SUITE)
    script = (
        "import sys; from pathlib import Path; from pipeline_runtime.quality.suite import load_suite\n"
        "import pipeline_runtime.quality.runner\n"
        "load_suite(Path('expectations/scores.yml'), Path('.'))\n"
        "print(sorted({'great_expectations', 'pyspark', 'pandas', 'numpy', 'boto3'} & set(sys.modules)))"
    )
    root = str(Path(__file__).parents[2])
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=domain.root, capture_output=True, text=True, env={"PYTHONPATH": root}
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_all_problems_are_reported_at_once_each_with_its_line(domain):
    problems = domain.problems(
        """\
suite_name: scores
expectations:
  - type: expect_column_values_to_be_uniqe
    kwargs: {column: tx_id}
  - type: expect_table_row_count_to_be_between
    kwargs:
      min_value: 20
      max_value: 10
  - type: expect_column_values_to_not_be_null
    kwargs: {colum: tx_id}
"""
    )
    assert problems == [
        (
            "expectations/scores.yml:3: expect_column_values_to_be_uniqe is not an expectation type. "
            "Did you mean expect_column_values_to_be_unique?"
        ),
        "expectations/scores.yml:7: expect_table_row_count_to_be_between: min_value 20 is above max_value 10",
        (
            "expectations/scores.yml:10: expect_column_values_to_not_be_null: colum is not an argument of it; "
            "allowed: column, condition_parser, mostly, row_condition. Did you mean column?"
        ),
        "expectations/scores.yml:10: expect_column_values_to_not_be_null: column is missing",
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("suite_name: s\nexpectations: []\n", ":2: the suite is empty, so every batch would pass"),
        ("suite_name: s\n", ":1: expectations is missing; a list is expected"),
        ("suite_name: s\nexpectations: {a: 1}\n", ":2: expectations is a mapping; a list is expected"),
        ("suite_name: s\nexpectations: [expect]\n", ":2: an expectation is 'expect' (text); a mapping"),
        ("expectations: [{type: expect_column_to_exist, kwargs: {column: a}}]\n", ":1: suite_name is missing"),
        (one("expect_column_to_exist", "[a]"), ":4: kwargs is a list; a mapping is expected"),
        ("suite_name: s\nexpectations: [{kwargs: {column: a}}]\n", ":2: type is missing"),
        (
            one("expect_column_to_exist", "{column: a}") + "    meta: {}\n",
            ":5: meta is not known here; allowed: type, kwargs",
        ),
        (one("expect_column_to_exist", "{column: a}") + "owner: me\n", ":5: owner is not known here"),
        ("suite_name: s\nsuite_name: t\nexpectations: []\n", ":2: the key suite_name is given twice"),
        ("suite_name: [\n", "is not valid YAML"),
        ("- a\n", "holds a list at the top"),
    ],
)
def test_a_file_of_another_shape_is_refused(domain, text, problem):
    assert problem in "\n".join(domain.problems(text))


def test_a_missing_suite_is_named(tmp_path):
    with pytest.raises(SuiteError, match=r"expectations/none.yml: does not exist"):
        load_suite(tmp_path / "expectations/none.yml", tmp_path, "expectations/none.yml")


def test_a_suite_that_is_not_utf8_is_refused(domain):
    path = domain.root / "expectations" / "scores.yml"
    path.write_bytes(b"suite_name: caf\xe9\n")
    with pytest.raises(SuiteError, match="is not UTF-8"):
        load_suite(path, domain.root)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("expect_column_values_to_match_like_pattern", "SQL databases only, not on Spark"),
        ("unexpected_rows_expectation", "runs SQL of its own"),
    ],
)
def test_an_expectation_that_this_engine_cannot_or_must_not_run_is_refused(complaint, name, reason):
    assert f":3: {name} cannot be used: " in complaint(name, "{}")
    assert reason in complaint(name, "{}")


@pytest.mark.parametrize(
    ("name", "kwargs", "problem"),
    [
        ("expect_column_to_exist", "{column: 7}", "column is 7; text is expected"),
        (
            "expect_table_row_count_to_equal",
            "{value: '10'}",
            "is '10' (text); a whole number is expected; a number stands",
        ),
        (
            "expect_table_row_count_to_equal",
            "{value: true}",
            "value is true (a truth value); a whole number is expected",
        ),
        ("expect_table_row_count_to_equal", "{value: 1.5}", "value is 1.5; a whole number is expected"),
        ("expect_table_row_count_to_be_between", "{}", "neither min_value nor max_value is given"),
        (
            "expect_table_row_count_to_be_between",
            "{min_value: 2024-01-01}",
            "min_value is '2024-01-01' (text); a number",
        ),
        ("expect_column_values_to_be_between", "{column: a}", "neither min_value nor max_value is given"),
        (
            "expect_column_values_to_be_between",
            "{column: a, min_value: 2, max_value: 1}",
            "min_value 2 is above max_value 1",
        ),
        ("expect_column_values_to_be_between", "{column: a, min_value: 2024-02-01, max_value: 2024-01-01}", "is above"),
        (
            "expect_column_values_to_be_between",
            "{column: a, min_value: 1, max_value: 2024-01-01}",
            "one kind is expected",
        ),
        (
            "expect_column_values_to_be_between",
            "{column: a, min_value: 1, max_value: 1, strict_max: true}",
            "nothing passes",
        ),
        ("expect_column_values_to_be_between", "{column: a, min_value: low}", "a number or a date such as 2024-01-31"),
        ("expect_column_values_to_be_between", "{column: a, min_value: .nan}", "a number or a date such as"),
        (
            "expect_column_values_to_be_between",
            "{column: a, min_value: 1, strict_min: 1}",
            "strict_min is 1; true or false",
        ),
        ("expect_column_values_to_not_be_null", "{column: a, mostly: 95}", "mostly is 95; from 0 to 1 is expected"),
        ("expect_column_values_to_not_be_null", "{column: a, mostly: 0}", "mostly is 0, so everything passes"),
        (
            "expect_column_values_to_not_be_null",
            "{column: a, result_format: BASIC}",
            "result_format is not an argument",
        ),
        ("expect_column_values_to_match_regex", "{column: a}", "regex is missing"),
        ("expect_column_values_to_match_regex", "{column: a, regex: '[A-Z'}", "the regex [A-Z cannot be used"),
        ("expect_column_values_to_match_regex_list", "{column: a, regex_list: []}", "regex_list is empty"),
        ("expect_column_values_to_match_regex_list", "{column: a, regex_list: [a, '(?P<n>b)']}", "Java names a group"),
        ("expect_column_values_to_be_in_set", "{column: a, value_set: []}", "value_set is empty"),
        ("expect_column_values_to_be_in_set", "{column: a, value_set: [EUR, null]}", "value_set holds an empty value"),
        ("expect_column_values_to_be_in_set", "{column: a, value_set: [EUR, 1]}", "value_set mixes"),
        (
            "expect_column_values_to_be_in_set",
            "{column: a, value_set: EUR}",
            "value_set is 'EUR' (text); a list of values",
        ),
        (
            "expect_column_value_z_scores_to_be_less_than",
            "{column: a, threshold: -1, double_sided: true}",
            "cannot be negative",
        ),
        ("expect_column_values_to_be_of_type", "{column: a, type_: Stringtype}", "Did you mean StringType?"),
        ("expect_compound_columns_to_be_unique", "{column_list: [a, a]}", "column_list names a column twice"),
        (
            "expect_compound_columns_to_be_unique",
            "{column_list: [a, b], ignore_row_if: none}",
            "allowed: all_values_are_missing",
        ),
        ("expect_table_columns_to_match_set", "{}", "column_set is missing"),
        ("expect_table_columns_to_match_set", "{column_set: [a, 1]}", "something other than column names"),
        (
            "expect_column_quantile_values_to_be_between",
            "{column: a, quantile_ranges: {quantiles: [0.5], value_ranges: [[2, 1]]}}",
            "a value range is [lowest, highest], rising",
        ),
        (
            "expect_column_quantile_values_to_be_between",
            "{column: a, quantile_ranges: {quantiles: [0.5, 0.9], value_ranges: [[1, 2]]}}",
            "as many value_ranges",
        ),
        ("expect_column_kl_divergence_to_be_less_than", "{column: a, threshold: 0.1}", "partition_object is missing"),
    ],
)
def test_wrong_arguments_are_told_in_words(complaint, name, kwargs, problem):
    told = complaint(name, kwargs)
    assert told.startswith(f"expectations/scores.yml:4: {name}: ")
    assert problem in told


@pytest.mark.parametrize(
    ("condition", "problem"),
    [
        ("row_condition: 'a > 1', condition_parser: spark", "its conditions can run code"),
        ("row_condition: 'a > 1', condition_parser: great_expectations", 'write it as col("amount") > 0'),
        ("row_condition: 'col(\"a\") > reflect(1)'", 'write it as col("amount") > 0'),
        ("row_condition: {type: pass_through, pass_through_filter: 'true'}", "allowed: comparison, nullity, and, or"),
        ("row_condition: {type: comparison, column: {name: a}, operator: '~', parameter: 1}", "an operator, one of =="),
        ("row_condition: {type: comparison, column: {name: a}, operator: IN, parameter: 1}", "a constant is expected"),
        ("row_condition: {type: and, conditions: []}", "needs a list of conditions"),
        ("row_condition: {type: nullity, column: {name: a}}", "is_null: true or false"),
    ],
)
def test_a_condition_compares_columns_with_constants_and_nothing_else(complaint, condition, problem):
    assert problem in complaint("expect_column_values_to_not_be_null", f"{{column: a, {condition}}}")


@pytest.mark.parametrize(
    "condition",
    [
        "row_condition: 'col(\"amount\") >= 10', condition_parser: great_expectations",
        'row_condition: \'col("amount") == "a"\'',
        "row_condition: 'col(\"amount\").notnull()'",
        "row_condition: {type: comparison, column: {name: amount}, operator: IN, parameter: [1, 2]}",
        "row_condition: {type: or, conditions: [{type: nullity, column: {name: amount}, is_null: true}]}",
    ],
)
def test_the_columns_of_a_condition_are_known(domain, condition):
    suite = domain.load(one("expect_column_values_to_not_be_null", f"{{column: a, {condition}}}"))
    assert suite.expectations[0].read_columns == ("a", "amount")


def test_columns_that_the_output_lacks_are_told_with_the_closest(domain):
    suite = domain.suite(
        ("expect_column_values_to_not_be_null", {"column": "TX_ID"}),
        ("expect_column_values_to_not_be_null", {"column": "ibn"}),
        ("expect_compound_columns_to_be_unique", {"column_list": ["tx_id", "day"]}),
        ("expect_column_to_exist", {"column": "not_yet"}),
        ("expect_table_columns_to_match_set", {"column_set": ["whatever"]}),
    )
    assert [problem.message for problem in check_columns(suite, ["tx_id", "iban"])] == [
        "expect_column_values_to_not_be_null: the output has no column ibn; it has iban, tx_id. Did you mean iban?",
        "expect_compound_columns_to_be_unique: the output has no column day; it has iban, tx_id.",
    ]
