"""The sample transactions: the same everywhere, and shaped like a bank's."""

from __future__ import annotations

import math
from collections import Counter
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from statistics import mean, median
from typing import Any

import pytest
import yaml

from pipeline_runtime.schema.recorded import load_recorded
from sandbox.lake.baseline import BINS, scored, weights
from sandbox.lake.seed import DRIFTED_AMOUNTS
from sandbox.lake.transactions import COLUMNS, ROWS, transactions

pytestmark = pytest.mark.spark

FRAUD = Path(__file__).resolve().parents[2] / "domains" / "fraud"
SAMPLE = 20_000


@pytest.fixture(scope="module")
def rows(spark: Any) -> list[Any]:
    return transactions(spark, SAMPLE).collect()


def settled(rows: list[Any]) -> list[Any]:
    return [row for row in rows if row.status == "settled"]


def test_a_row_never_changes(spark: Any) -> None:
    first = transactions(spark, 3).orderBy("tx_id").first()
    assert first.asDict() == {
        "tx_id": "tx-00000000000000",
        "account_id": "acc-004205",
        "iban": "DE57999900000033299395",
        "merchant_id": "M00872",
        "merchant_name": "Hotel Aachen 872",
        "country": "DE",
        "channel": "ecom",
        "amount": Decimal("56.35"),
        "currency": "EUR",
        "status": "declined",
        "booked_at": datetime(2026, 8, 1, 12, 41, 31, 282000),  # noqa: DTZ001 - Spark hands out naive UTC
        "settled_at": None,
    }


def test_the_rows_do_not_depend_on_how_the_work_is_split(spark: Any) -> None:
    def digest(partitions: int) -> Any:
        before = spark.conf.get("spark.sql.leafNodeDefaultParallelism", None)
        spark.conf.set("spark.sql.leafNodeDefaultParallelism", str(partitions))
        try:
            return transactions(spark, 500).selectExpr("sum(xxhash64(*) % 1000000007)").first()[0]
        finally:
            if before is None:
                spark.conf.unset("spark.sql.leafNodeDefaultParallelism")

    assert digest(1) == digest(7)


def test_the_columns_are_those_of_the_recorded_pin(spark: Any) -> None:
    recorded = load_recorded(FRAUD / "schemas" / "fraud_raw.transactions.v7.yml")
    declared = {name: spec.split()[0].lower() for name, spec in COLUMNS.items()}
    assert {column.name: column.type for column in recorded.schema} == declared
    assert {column.name for column in recorded.schema if not column.nullable} == {
        name for name, spec in COLUMNS.items() if "NOT NULL" in spec
    }
    assert dict(transactions(spark, 1).dtypes) == declared


def test_required_columns_are_never_null_and_ids_are_unique(rows: list[Any]) -> None:
    required = [name for name, spec in COLUMNS.items() if "NOT NULL" in spec]
    assert not [row for row in rows if any(row[name] is None for name in required)]
    assert len({row.tx_id for row in rows}) == len(rows) == SAMPLE


def test_the_settled_rows_of_a_full_lake_are_within_the_suites_bounds(rows: list[Any]) -> None:
    expected = len(settled(rows)) / SAMPLE * ROWS
    assert 1_100_000 < expected < 1_190_000


def test_money_that_did_not_move_has_no_settlement_and_the_rest_settles_the_same_day(rows: list[Any]) -> None:
    for row in rows:
        if row.status in ("settled", "refunded"):
            assert row.booked_at <= row.settled_at
            assert row.booked_at.date() == row.settled_at.date()
        else:
            assert row.settled_at is None


def test_there_are_four_days_and_sunday_is_quiet(rows: list[Any]) -> None:
    days = Counter(row.booked_at.date().isoformat() for row in rows)
    assert sorted(days) == ["2026-08-01", "2026-08-02", "2026-08-03", "2026-08-04"]
    assert min(days, key=lambda day: days[day]) == "2026-08-02"


def test_people_sleep(rows: list[Any]) -> None:
    hours = Counter(row.booked_at.hour for row in rows)
    assert hours[18] > 10 * hours[3]


def test_amounts_are_positive_and_skewed_to_the_small(rows: list[Any]) -> None:
    amounts = [float(row.amount) for row in rows]
    assert min(amounts) >= 0.5
    assert max(amounts) <= 20_000
    assert mean(amounts) > 1.4 * median(amounts)


def test_a_few_merchants_have_most_of_the_trade(rows: list[Any]) -> None:
    trade = sorted(Counter(row.merchant_id for row in rows).values(), reverse=True)
    assert sum(trade[: len(trade) // 10]) > 0.3 * SAMPLE


def test_foreign_currencies_belong_to_their_countries(rows: list[Any]) -> None:
    pairs = {(row.country, row.currency) for row in rows if row.currency != "EUR"}
    assert pairs == {("CH", "CHF"), ("GB", "GBP"), ("US", "USD")}


def test_ibans_have_right_check_digits_and_belong_to_one_account(rows: list[Any]) -> None:
    def remainder(iban: str) -> int:
        return int("".join(str(int(letter, 36)) for letter in iban[4:] + iban[:4])) % 97

    assert {remainder(row.iban) for row in rows} == {1}
    assert {len(row.iban) for row in rows} == {22}
    assert len({row.iban for row in rows}) == len({row.account_id for row in rows})


def divergence(spark: Any, amount_factor: float) -> float:
    """The Kullback-Leibler divergence of a sample's scores from the domain's own baseline."""
    baseline = yaml.safe_load((FRAUD / "baselines" / "baseline_fraud_score.yml").read_text())
    assert baseline["bins"] == list(BINS)
    observed = weights(scored(spark, SAMPLE, amount_factor))
    return sum(p * math.log(p / q) for p, q in zip(observed, baseline["weights"], strict=True) if p)


def test_clean_scores_lie_close_to_the_baseline_and_drifted_ones_beyond_its_threshold(spark: Any) -> None:
    assert divergence(spark, 1.0) < 0.01
    assert 0.16 < divergence(spark, DRIFTED_AMOUNTS) < 0.25


def test_a_score_is_a_probability_and_belongs_to_the_transaction(spark: Any) -> None:
    frame = scored(spark, 2_000).select("tx_id", "fraud_score", "model_version", "scored_date")
    first, again = (sorted(frame.collect()) for _ in range(2))
    assert first == again
    assert all(0 < row.fraud_score < 1 for row in first)
    assert {row.model_version for row in first} == {"baseline"}
    assert len({row.scored_date for row in first}) == 4
