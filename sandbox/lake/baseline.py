"""Measures the distribution of a score, in the form that a baseline file has.

    python -m sandbox.lake.baseline > domains/fraud/baselines/baseline_fraud_score.yml

Runs the fraud domain's own SQL over the sample transactions, without a lake. Re-baselining is a decision: the
changed file goes through review like any other.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from sandbox.lake.transactions import ROWS, transactions

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["BINS", "main", "scored", "weights"]

DOMAIN = Path(__file__).resolve().parents[2] / "domains" / "fraud"

#: Narrow where most scores are; no bin is empty, or a single score in it would make the divergence infinite.
BINS = (0.0, 0.005, 0.01, 0.015, 0.02, 0.03, 0.04, 0.06, 0.08, 0.1, 0.15, 0.2, 0.3, 0.5, 1.0)


def scored(spark: SparkSession, rows: int = ROWS, amount_factor: float = 1.0) -> DataFrame:
    """The sample transactions after the fraud domain's two steps; columns as in `sql/score.sql`."""
    frame = transactions(spark, rows, amount_factor)
    for step, parameters in (("filter_settled", {}), ("score", {"model_version": "baseline"})):
        frame.createOrReplaceTempView("frame")
        frame = spark.sql((DOMAIN / "sql" / f"{step}.sql").read_text(encoding="utf-8"), args=parameters)
    return frame


def weights(frame: DataFrame, column: str = "fraud_score", bins: Sequence[float] = BINS) -> list[float]:
    """The share of the column's values in each bin [lower, upper), the last one closed; they sum to 1."""
    counted = frame.selectExpr(
        *(f"count_if({column} >= {low} AND {column} < {high}) AS b{i}" for i, (low, high) in enumerate(pairwise(bins))),
        f"count_if({column} = {bins[-1]}) AS at_the_end",
    ).first()
    assert counted is not None
    counts = list(counted)
    counts[-2:] = [sum(counts[-2:])]
    return [count / sum(counts) for count in counts]


def _rounded(shares: Sequence[float]) -> list[float]:
    """Four decimals, the largest share adjusted so that they still sum to 1."""
    short = [round(share, 4) for share in shares]
    largest = short.index(max(short))
    short[largest] = round(short[largest] + 1 - sum(short), 4)
    return short


def main() -> None:
    from pyspark.sql import SparkSession

    spark = (
        SparkSession.builder.master("local[*]")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.ui.enabled", "false")
        .getOrCreate()
    )
    shares = _rounded(weights(scored(spark)))
    spark.stop()
    print("# How fraud_score is distributed when the model of 2026-07 is healthy: the share of scores in each bin.")
    print(f"bins: [{', '.join(str(edge) for edge in BINS)}]")
    print(f"weights: [{', '.join(str(share) for share in shares)}]")


if __name__ == "__main__":
    main()
