"""Running a suite on real frames: verdicts, what they say, and what may not pass silently."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path

import pytest

from pipeline_runtime.errors import RunInterrupted, SuiteError
from pipeline_runtime.quality.runner import validate
from pipeline_runtime.quality.suite import ExpectationSpec, Suite

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
HALVES = {"bins": [0, 0.5, 1], "weights": [0.5, 0.5]}


def facts(assertion):
    return assertion.success, assertion.expected, assertion.actual, assertion.evaluated_rows


def test_the_result_names_each_expectation_in_the_suites_order(spark, domain):
    frame = spark.sql(
        "SELECT * FROM VALUES ('t1', 'DE12AB', 0.2D), ('t2', 'FR34CD', 0.7D) AS t(tx_id, iban, fraud_score)"
    )
    suite = domain.suite(
        (NOT_NULL, {"column": "tx_id"}),
        (UNIQUE, {"column": "tx_id"}),
        (REGEX, {"column": "iban", "regex": "^[A-Z]{2}[0-9]{2}[A-Z0-9]{1,30}$"}),
        (KL, {"column": "fraud_score", "partition_object": HALVES, "threshold": 0.15}),
        (ROW_COUNT, {"min_value": 1, "max_value": 1_400_000}),
    )
    result = validate(frame, suite)
    assert (result.suite, result.success, result.summary) == ("scores", True, "5 passed, 0 failed")
    assert [(each.assertion, each.column, *facts(each)) for each in result.assertions] == [
        (NOT_NULL, "tx_id", True, "no nulls", "0 of 2 rows violate it (0.00 %)", 2),
        (UNIQUE, "tx_id", True, "unique values", "0 of 2 rows violate it (0.00 %)", 2),
        (REGEX, "iban", True, "^[A-Z]{2}[0-9]{2}[A-Z0-9]{1,30}$", "0 of 2 rows violate it (0.00 %)", 2),
        (KL, "fraud_score", True, "0.15", "0", 2),
        (ROW_COUNT, None, True, "between 1 and 1400000", "2", None),
    ]


def test_drifted_scores_fail_with_the_threshold_and_the_measured_divergence(judge):
    scores = "SELECT IF(id < 8, 0.1D, 0.9D) AS fraud_score FROM range(10)"
    (drift,) = judge(scores, (KL, {"column": "fraud_score", "partition_object": HALVES, "threshold": 0.15}))
    assert facts(drift) == (False, "0.15", "0.1927", 10)
    assert str(drift) == f"{KL}(fraud_score): expected 0.15, actual 0.1927"


def test_scores_where_the_baseline_has_none_diverge_without_limit(judge):
    scores = "SELECT IF(id < 8, 0.1D, 1.5D) AS fraud_score FROM range(10)"
    (drift,) = judge(scores, (KL, {"column": "fraud_score", "partition_object": HALVES, "threshold": 0.15}))
    assert facts(drift) == (False, "0.15", "infinite: 20.00 % of values where the baseline has no weight", 10)


def test_a_divergence_just_above_the_threshold_is_not_rounded_down_to_it(judge):
    scores = "SELECT IF(id < 8, 0.1D, 0.9D) AS fraud_score FROM range(10)"
    (drift,) = judge(scores, (KL, {"column": "fraud_score", "partition_object": HALVES, "threshold": 0.1927}))
    assert not drift.success
    assert drift.actual.startswith("0.19274")


def test_failures_say_how_many_of_the_rows_that_were_looked_at(judge):
    ibans = "SELECT IF(id = 0, NULL, IF(id < 4, 'bad', 'DE12')) AS iban FROM range(11)"
    strict, lenient = judge(
        ibans,
        (REGEX, {"column": "iban", "regex": "^[A-Z]{2}"}),
        (REGEX, {"column": "iban", "regex": "^[A-Z]{2}", "mostly": 0.7}),
    )
    assert facts(strict) == (False, "^[A-Z]{2}", "3 of 10 rows violate it (30.00 %)", 10)
    assert facts(lenient) == (True, "^[A-Z]{2} in at least 70 % of rows", "3 of 10 rows violate it (30.00 %)", 10)


def test_a_single_bad_row_among_many_is_not_shown_as_zero_percent(judge):
    (bounded,) = judge("SELECT id FROM range(50000)", (BETWEEN, {"column": "id", "min_value": 1}))
    assert facts(bounded) == (False, "at least 1", "1 of 50000 rows violate it (< 0.01 %)", 50000)


@pytest.mark.parametrize(
    ("condition", "actual"),
    [
        (
            {"row_condition": 'col("kind") == "card"', "condition_parser": "great_expectations"},
            "1 of 2 rows violate it (50.00 %)",
        ),
        ({"row_condition": 'col("kind").notnull()'}, "2 of 3 rows violate it (66.67 %)"),
        ({"row_condition": 'col("amount") > -2.5'}, "1 of 3 rows violate it (33.33 %)"),
        (
            {
                "row_condition": {
                    "type": "and",
                    "conditions": [
                        {
                            "type": "comparison",
                            "column": {"name": "kind"},
                            "operator": "IN",
                            "parameter": ["card", "a'b"],
                        },
                        {"type": "nullity", "column": {"name": "amount"}, "is_null": False},
                    ],
                }
            },
            "1 of 2 rows violate it (50.00 %)",
        ),
    ],
)
def test_a_condition_chooses_the_rows(judge, condition, actual):
    rows = "SELECT * FROM VALUES ('card', 1), ('card', -1), ('cash', -5), (NULL, 3) AS t(kind, amount)"
    (bounded,) = judge(rows, (BETWEEN, {"column": "amount", "min_value": 0, **condition}))
    assert not bounded.success
    assert bounded.expected.startswith("at least 0 where ")
    assert bounded.actual == actual


def test_column_names_match_whatever_their_case(judge):
    (unique,) = judge("SELECT id AS Tx_Id FROM range(3)", (UNIQUE, {"column": "TX_ID"}))
    assert (unique.column, unique.success) == ("TX_ID", True)


# -- types ------------------------------------------------------------------------------------------------------


def test_reported_gx_1_a_numeric_bound_on_a_string_column_fails(judge):
    (bounded,) = judge(
        "SELECT * FROM VALUES ('A100'), ('A200'), (NULL) AS t(v)",
        (BETWEEN, {"column": "v", "min_value": 0, "max_value": 9}),
    )
    assert not bounded.success
    assert bounded.detail == "cannot be judged: column v is string and min_value is 0; the two do not compare"


@pytest.mark.parametrize("column", ["day", "moment", "local_moment"])
def test_reported_gx_1_a_date_bound_takes_the_type_of_the_column(judge, column):
    days = """
        SELECT DATE'2023-12-31' AS day, TIMESTAMP'2023-12-31 23:59:59' AS moment,
               TIMESTAMP_NTZ'2023-12-31 23:59:59' AS local_moment
        UNION ALL
        SELECT DATE'2024-01-01', TIMESTAMP'2024-01-01 00:00:00', TIMESTAMP_NTZ'2024-01-01 00:00:00'
    """
    bound = {"column": column, "min_value": "2024-01-01"}
    values, lowest, highest = judge(
        days,
        (BETWEEN, bound),
        ("expect_column_min_to_be_between", bound),
        ("expect_column_max_to_be_between", bound),
    )
    assert facts(values) == (False, "at least 2024-01-01", "1 of 2 rows violate it (50.00 %)", 2)
    assert not lowest.success
    assert lowest.actual.startswith("2023-12-31")
    assert highest.success
    assert highest.actual.startswith("2024-01-01")


def test_moments_are_compared_in_utc_wherever_the_process_runs(judge, monkeypatch):
    monkeypatch.setenv("TZ", "Europe/Madrid")
    time.tzset()
    try:
        bound = {"column": "moment", "min_value": "2024-03-31T02:30:00", "max_value": "2024-03-31T02:30:00"}
        values, lowest = judge(
            "SELECT TIMESTAMP'2024-03-31 02:30:00' AS moment",
            (BETWEEN, bound),
            ("expect_column_min_to_be_between", bound),
        )
    finally:
        monkeypatch.undo()
        time.tzset()
    assert values.success
    assert (lowest.success, lowest.actual) == (True, "2024-03-31T02:30:00Z")


@pytest.mark.parametrize(
    ("name", "kwargs", "detail"),
    [
        (BETWEEN, {"column": "text", "min_value": "2024-01-01"}, "column text is string and min_value is '2024-01-01'"),
        (BETWEEN, {"column": "flag", "min_value": 0}, "column flag is boolean and min_value is 0"),
        (BETWEEN, {"column": "day", "max_value": 5}, "column day is date and max_value is 5"),
        (BETWEEN, {"column": "day", "max_value": "2024-01-01T10:00:00"}, "has a time of day"),
        ("expect_column_mean_to_be_between", {"column": "text", "min_value": 0}, "a numeric column is needed"),
        (KL, {"column": "text", "partition_object": HALVES, "threshold": 0.1}, "a numeric column is needed"),
        (
            "expect_column_values_to_match_strftime_format",
            {"column": "day", "strftime_format": "%Y"},
            "of text is needed",
        ),
        ("expect_column_values_to_be_in_set", {"column": "text", "value_set": [0]}, "value_set holds 0"),
        ("expect_column_values_to_be_in_set", {"column": "n", "value_set": ["1"]}, "value_set holds '1' (text)"),
        (
            "expect_column_pair_values_a_to_be_greater_than_b",
            {"column_A": "text", "column_B": "n"},
            "column text is string and column n is int; the two do not compare",
        ),
        (NOT_NULL, {"column": "txt"}, "there is no column txt; there are text, flag, day, n. Did you mean text?"),
    ],
)
def test_what_does_not_fit_the_columns_fails_and_says_why(judge, name, kwargs, detail):
    (misfit,) = judge("SELECT '1' AS text, true AS flag, DATE'2024-01-01' AS day, 1 AS n", (name, kwargs))
    assert (misfit.success, misfit.actual, misfit.evaluated_rows) == (False, None, None)
    assert misfit.detail.startswith("cannot be judged: ")
    assert detail in misfit.detail


def test_one_expectation_that_cannot_be_judged_leaves_the_others_their_verdict(judge):
    broken, sound = judge(
        "SELECT id, named_struct('a', id) AS nested FROM range(3)",
        ("expect_column_value_lengths_to_be_between", {"column": "nested", "min_value": 1}),
        (BETWEEN, {"column": "id", "min_value": 1}),
    )
    assert broken.detail.startswith("cannot be judged: AnalysisException: [DATATYPE_MISMATCH")
    assert "\n" not in broken.detail
    assert facts(sound) == (False, "at least 1", "1 of 3 rows violate it (33.33 %)", 3)


# -- nothing to judge -------------------------------------------------------------------------------------------


def test_reported_gx_2_an_empty_suite_is_an_error(domain):
    assert "the suite is empty" in domain.problems("suite_name: s\nexpectations: []\n")[0]


def test_reported_gx_2_zero_rows_do_not_pass(judge):
    *by_row, count = judge(
        "SELECT id, 0.5D AS score FROM range(0)",
        (NOT_NULL, {"column": "id"}),
        (UNIQUE, {"column": "id"}),
        (BETWEEN, {"column": "id", "min_value": 0}),
        (KL, {"column": "score", "partition_object": HALVES, "threshold": 0.15}),
        ("expect_compound_columns_to_be_unique", {"column_list": ["id", "score"]}),
        ("expect_table_row_count_to_equal", {"value": 0}),
    )
    assert {(each.success, each.actual, each.evaluated_rows) for each in by_row} == {(False, "no rows evaluated", 0)}
    assert facts(count) == (True, "0", "0", None)


def test_reported_gx_2_a_column_of_nulls_does_not_pass(judge):
    between, unique, mean, not_null = judge(
        "SELECT CAST(NULL AS INT) AS v FROM range(3)",
        (BETWEEN, {"column": "v", "min_value": 0}),
        (UNIQUE, {"column": "v"}),
        ("expect_column_mean_to_be_between", {"column": "v", "min_value": 0}),
        (NOT_NULL, {"column": "v"}),
    )
    for each in (between, unique, mean):
        assert (each.success, each.actual, each.evaluated_rows) == (False, "no rows evaluated", 0)
    assert facts(not_null) == (False, "no nulls", "3 of 3 rows violate it (100.00 %)", 3)


def test_reported_gx_2_keys_are_not_null_also_where_the_suite_does_not_say_so(judge):
    unique, implied = judge(
        "SELECT * FROM VALUES (1), (2), (NULL), (NULL) AS t(k)", (UNIQUE, {"column": "k"}), primary_keys=["K"]
    )
    assert facts(unique) == (True, "unique values", "0 of 2 rows violate it (0.00 %)", 2)
    assert (implied.assertion, implied.column) == (NOT_NULL, "K")
    assert facts(implied) == (False, "no nulls", "2 of 4 rows violate it (50.00 %)", 4)


def test_a_suite_that_says_itself_that_keys_are_not_null_is_not_added_to(judge):
    results = judge("SELECT id FROM range(2)", (NOT_NULL, {"column": "id"}), primary_keys=["id"])
    assert [each.assertion for each in results] == [NOT_NULL]


def test_not_a_number_is_not_measured_as_a_pass(judge):
    (mean,) = judge(
        "SELECT CAST('NaN' AS DOUBLE) AS v FROM range(2)",
        ("expect_column_mean_to_be_between", {"column": "v", "min_value": 0}),
    )
    assert (mean.success, mean.actual, mean.evaluated_rows) == (False, "not measurable", 2)


def test_a_pair_with_a_null_in_it_is_not_a_row_that_was_evaluated(judge):
    (pair,) = judge(
        "SELECT * FROM VALUES (2, 1), (1, NULL), (NULL, 1) AS t(a, b)",
        ("expect_column_pair_values_a_to_be_greater_than_b", {"column_A": "a", "column_B": "b"}),
    )
    assert (pair.column, *facts(pair)) == ("a, b", True, "more than the second", "0 of 1 rows violate it (0.00 %)", 1)


# -- size, silence, failure -------------------------------------------------------------------------------------


def test_reported_gx_5_half_a_million_failing_rows_leave_a_small_report_that_json_can_hold(spark, domain, monkeypatch):
    frames = type(spark.range(1))  # Spark 4 has a class for each kind of session
    collected = []
    collect = frames.collect

    def counting(frame):
        rows = collect(frame)
        collected.append(len(rows))
        return rows

    monkeypatch.setattr(frames, "collect", counting)
    monkeypatch.setattr(frames, "toPandas", None, raising=False)
    frame = spark.sql(
        "SELECT id, TIMESTAMP'2024-01-01 10:00:00' AS ts, CAST(id AS DECIMAL(20,2)) AS amount FROM range(500000)"
    )
    suite = domain.suite(
        (BETWEEN, {"column": "amount", "max_value": -1}),
        ("expect_compound_columns_to_be_unique", {"column_list": ["ts", "id"]}),
        (UNIQUE, {"column": "ts"}),
    )
    bounded, _, unique = validate(frame, suite, primary_keys=["id", "ts"]).assertions[:3]
    assert bounded.actual == "500000 of 500000 rows violate it (100.00 %)"
    assert not unique.success
    assert len(bounded.samples) == 20
    assert set(bounded.samples[0]) == {"id", "ts"}
    assert bounded.samples[0]["ts"] == "2024-01-01T10:00:00"
    assert len(json.dumps([asdict(bounded), asdict(unique)])) < 5_000
    assert max(collected) <= 20


def test_rows_are_not_sampled_where_no_keys_are_known(judge):
    (bounded,) = judge("SELECT 'secret' AS name, -1 AS v", (BETWEEN, {"column": "v", "min_value": 0}))
    assert bounded.samples == ()


QUIET = """
import os, socket, sys
attempts = []
def refuse(*args):
    attempts.append(args)
    raise OSError("no network")
socket.socket.connect = socket.socket.connect_ex = socket.getaddrinfo = socket.create_connection = refuse
from pipeline_runtime.quality.runner import start_import
from pipeline_runtime.quality.gx import load_gx
start_import()
start_import()
print("great_expectations.core" in sys.modules)
load_gx()
print(attempts, os.environ["GX_ANALYTICS_ENABLED"], "great_expectations.core" in sys.modules)
"""


def test_reported_gx_6_importing_in_the_background_reports_nothing_home():
    root = str(Path(__file__).parents[2])
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": root}
    done = subprocess.run([sys.executable, "-c", QUIET], capture_output=True, text=True, env=environment)
    assert (done.stdout, done.stderr) == ("False\n[] false True\n", "")


def test_reported_gx_6_judging_talks_to_the_engine_only(judge, monkeypatch):
    import socket

    connect, elsewhere = socket.socket.connect, []

    def watched(self, address):
        if address[0] not in ("127.0.0.1", "localhost", "::1"):
            elsewhere.append(address)
        return connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", watched)
    assert judge("SELECT id FROM range(3)", (UNIQUE, {"column": "id"}))[0].success
    assert elsewhere == []


def test_a_failure_of_the_engine_is_not_a_verdict_on_the_data(spark, domain):
    frame = spark.sql("SELECT IF(id = 2, raise_error('disk on fire'), id) AS id FROM range(3)")
    with pytest.raises(Exception, match="disk on fire") as caught:
        validate(frame, domain.suite((BETWEEN, {"column": "id", "min_value": 0})))
    assert not isinstance(caught.value, SuiteError)


@pytest.mark.parametrize("action", ["collect", "count"])
def test_an_interrupt_is_not_taken_for_a_verdict(judge, spark, monkeypatch, action):
    def interrupted(frame):
        monkeypatch.undo()
        raise RunInterrupted("SIGTERM")

    monkeypatch.setattr(type(spark.range(1)), action, interrupted)
    with pytest.raises(RunInterrupted):
        judge("SELECT id FROM range(3)", (UNIQUE, {"column": "id"}), (BETWEEN, {"column": "id", "min_value": 0}))


def test_a_regex_that_java_refuses_is_the_suites_error_not_the_datas(spark):
    spec = ExpectationSpec(REGEX, {"column": "id", "regex": "(?P<a>x)"}, 7)
    with pytest.raises(SuiteError, match=rf"suite.yml:7: {REGEX}: Java refuses the regex \(\?P<a>x\): "):
        validate(spark.sql("SELECT 'x' AS id"), Suite("s", (spec,), (), "suite.yml"))


def test_eleven_expectations_take_few_passes(spark, domain):
    frame = spark.sql("SELECT id, CAST(id AS STRING) AS tx_id, 'EUR' AS currency, id / 100D AS score FROM range(100)")
    suite = domain.suite(
        *((NOT_NULL, {"column": name}) for name in ("id", "tx_id", "currency", "score")),
        (UNIQUE, {"column": "tx_id"}),
        (REGEX, {"column": "tx_id", "regex": "^[0-9]+$"}),
        (BETWEEN, {"column": "score", "min_value": 0, "max_value": 1}),
        ("expect_column_values_to_be_in_set", {"column": "currency", "value_set": ["EUR"]}),
        ("expect_column_value_lengths_to_be_between", {"column": "tx_id", "max_value": 9}),
        ("expect_column_mean_to_be_between", {"column": "score", "min_value": 0.4, "max_value": 0.6}),
        (ROW_COUNT, {"min_value": 100, "max_value": 100}),
    )
    context = spark.sparkContext
    context.setJobGroup("passes", "counted")
    try:
        assert validate(frame, suite).success
    finally:
        context.setLocalProperty("spark.jobGroup.id", None)
    # The row count, one aggregate for all, one look for duplicates; adaptive planning makes up to three jobs of each.
    assert len(context.statusTracker().getJobIdsForGroup("passes")) <= 7
