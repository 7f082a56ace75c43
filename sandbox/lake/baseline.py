"""Measures the distribution of a score, in the form that a baseline file has.

    python -m sandbox.lake.baseline > domains/fraud/baselines/baseline_fraud_score.yml

Runs the fraud domain's own SQL over the sample transactions, without a lake; `python -m pipeline_runtime baseline`
does the same for a table. Re-baselining is a decision: the changed file goes through review like any other.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline_runtime.quality.measured import in_bins
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
    """The share of the column's values in each bin, not rounded."""
    found = in_bins(frame, column, bins)
    return [count / found.counted for count in found.counts]


def main() -> None:
    from pyspark.sql import SparkSession

    spark = (
        SparkSession.builder.master("local[*]")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.ui.enabled", "false")
        .getOrCreate()
    )
    found = in_bins(scored(spark), "fraud_score", BINS)
    spark.stop()
    print(found.text("fraud_score when the model of 2026-07 is healthy"), end="")


if __name__ == "__main__":
    main()
