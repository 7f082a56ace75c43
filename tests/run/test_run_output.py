"""What a run's output must be like, and what it replaces."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

pytestmark = pytest.mark.spark

SCORED = [(1, 0.1, "2026-08-01"), (2, 0.2, "2026-08-01"), (4, 0.4, "2026-08-02")]


@pytest.mark.parametrize(
    ("selected", "error"),
    [("SELECT id, ID,", "FAILED SqlRefused"), ("SELECT *, id,", "FAILED OutputRefused")],
    ids=["as the text tells", "as only the engine tells"],
)
def test_a_column_selected_twice_fails_before_the_write(lab, selected, error):
    lab.change("sql/score.sql", "SELECT id,", selected)

    outcome = lab.run()

    assert outcome.code == 1
    assert error in outcome.trace
    assert "id" in outcome.trace.partition("FAILED")[2]
    assert lab.definition() is None


def test_a_partition_column_missing_from_the_output_fails_before_the_write(lab):
    lab.change("sql/score.sql", ", day FROM", " FROM")

    outcome = lab.run()

    assert outcome.code == 1
    assert "FAILED OutputRefused" in outcome.trace
    assert "day" in outcome.trace
    assert lab.definition() is None


def test_a_run_replaces_the_partitions_its_output_touches_and_no_others(lab):
    lab.run()
    lab.load([(7, "70.00", "settled", "2026-08-02")])

    lab.run()

    assert lab.rows() == [(1, 0.1, "2026-08-01"), (2, 0.2, "2026-08-01"), (7, 0.7, "2026-08-02")]


def test_reported_ice_2_an_empty_output_replaces_nothing_and_says_so(lab):
    lab.run()
    lab.load([(7, "70.00", "pending", "2026-08-02")])
    lab.write(
        "expectations/payments_scored.yml",
        "suite_name: payments_scored\n"
        "expectations:\n"
        "  - type: expect_table_row_count_to_be_between\n"
        "    kwargs: {min_value: 0}\n",
    )

    outcome = lab.run()

    assert outcome.code == 0, outcome.trace
    assert lab.rows() == SCORED
    assert "nothing replaced" in outcome.trace
    assert outcome.terminal["outputs"][0]["outputFacets"]["cordata_publish"]["replaced"] is False


def test_what_was_validated_is_what_is_published_also_with_random_values(lab):
    lab.change("sql/score.sql", "amount / 100 AS score", "rand() AS score")
    lab.write(
        "expectations/payments_scored.yml",
        "suite_name: payments_scored\n"
        "expectations:\n"
        "  - type: expect_column_max_to_be_between\n"
        "    kwargs: {column: score, min_value: 2, max_value: 3}\n",
    )
    lab.change_descriptor("block_publish", "warn")

    outcome = lab.run()

    measured = float(outcome.failing[0]["actual"])
    assert max(score for _, score, _ in lab.rows()) == pytest.approx(measured, rel=1e-3)


def test_the_nominal_time_reaches_the_sql_and_the_events(lab):
    lab.change("sql/settled.sql", "status = 'settled'", "status = 'settled' AND day = :nominal_date")

    outcome = lab.run(nominal_time=datetime(2026, 8, 2, 9, tzinfo=UTC))

    assert outcome.code == 0, outcome.trace
    assert lab.rows() == SCORED[2:]
    facet = outcome.terminal["run"]["facets"]["nominalTime"]
    assert facet["nominalStartTime"] == "2026-08-02T09:00:00Z"


def test_a_step_that_needs_a_nominal_time_fails_without_one_before_spark_starts(lab):
    lab.change("sql/settled.sql", "status = 'settled'", "day = :nominal_date")

    outcome = lab.run(start_spark=lambda *_: pytest.fail("Spark was started"))

    assert outcome.code == 1
    assert "--nominal-time" in outcome.trace


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("expectations/payments_scored.yml", "suite_name: s\nexpectations: []\n", "expectations"),
        (
            "expectations/payments_scored.yml",
            "suite_name: s\nexpectations:\n  - type: expect_colum_to_exist\n    kwargs: {column: id}\n",
            "expect_column_to_exist",
        ),
        ("sql/score.sql", "SELECT * FROM frame JOIN fraud_raw.cards USING (id)\n", "fraud_raw.cards"),
        ("sql/score.sql", "SELECT id, amount, day, amount / 100 AS score FROM frame\n", "model_version"),
    ],
    ids=["empty suite", "unknown expectation", "another table", "unused param"],
)
def test_what_can_fail_without_spark_fails_before_it_starts(lab, file, text, said):
    lab.write(file, text)

    outcome = lab.run(start_spark=lambda *_: pytest.fail("Spark was started"))

    assert outcome.code == 1
    assert said in outcome.trace
    assert outcome.terminal["eventType"] == "FAIL"
