"""Scores settled card transactions: read, two statements, persist, the suite through Great Expectations, write.

    spark-submit benchmarks/handwritten/transactions_scored.py --domain domains/fraud

Written as its team would have: the SQL and the suite are files of the domain, the frame is persisted so that
Great Expectations and the write share one computation, nothing is written unless the suite passes. Ends with 0
where the product is published, with 1 where the suite fails.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from benchmarks.handwritten.datasets import Read
from benchmarks.handwritten.lineage import emit_complete, emit_fail, emit_start
from benchmarks.handwritten.settings import Settings, settings_from
from benchmarks.handwritten.suite import failures_of
from benchmarks.handwritten.writing import set_tags, write_iceberg, write_parquet

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["main", "publish"]


def publish(spark: SparkSession, settings: Settings) -> list[str]:
    """One run. Returns the expectations that failed: nothing was published then."""
    emit_start(settings)
    try:
        scored = _scored(spark, settings).persist()
        _say("read", f"{settings.source} and two statements, persisted on first use")
        failed = failures_of(scored, settings.domain)
        _say("expect", f"{len(failed)} expectations failed")
        if failed:
            emit_fail(settings, "; ".join(failed))
            return failed
        written = write_iceberg(scored, settings) if settings.format == "iceberg" else write_parquet(scored, settings)
        _say("write", f"{written.rows:,} rows in {written.partitions} partitions")
        set_tags(settings)
        emit_complete(settings, _read(spark, settings), written)
        scored.unpersist()
        _say("emit", "COMPLETE")
    except Exception as error:
        emit_fail(settings, f"{type(error).__name__}: {error}")
        raise
    return []


def _scored(spark: SparkSession, settings: Settings) -> DataFrame:
    frame = spark.table(settings.source)
    for name, values in (("filter_settled", {}), ("score", {"model_version": settings.model_version})):
        frame.createOrReplaceTempView("frame")
        # The writer analyses a statement's own frame anew, and Spark 3.5 then takes its CTE for another one and
        # misses the cache: the source would be scanned twice. What is selected from it is not analysed anew.
        frame = spark.sql((settings.domain / "sql" / f"{name}.sql").read_text("utf-8"), args=values).select("*")
    return frame


def _read(spark: SparkSession, settings: Settings) -> Read:
    """What the source held; nobody publishes to it while the job runs."""
    held = (
        spark.table(f"{settings.source}.files")
        .selectExpr("sum(record_count) AS rows", "count(*) AS files", "sum(file_size_in_bytes) AS bytes")
        .collect()[0]
    )
    newest = spark.table(f"{settings.source}.snapshots").orderBy("committed_at", ascending=False).limit(1).collect()[0]
    return Read(spark.table(settings.source).schema, newest.snapshot_id, held["rows"], held["files"], held["bytes"])


def _session(settings: Settings) -> SparkSession:
    from pyspark.sql import SparkSession

    catalog = f"spark.sql.catalog.{settings.catalog}"
    endpoint = os.environ.get("AWS_ENDPOINT_URL")
    stand_in = {
        f"{catalog}.glue.endpoint": endpoint,
        f"{catalog}.s3.endpoint": endpoint,
        f"{catalog}.s3.path-style-access": "true",
    }
    builder = SparkSession.builder.appName("transactions_scored")
    for key, value in {
        "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
        "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
        catalog: "org.apache.iceberg.spark.SparkCatalog",
        f"{catalog}.catalog-impl": "org.apache.iceberg.aws.glue.GlueCatalog",
        f"{catalog}.io-impl": "org.apache.iceberg.aws.s3.S3FileIO",
        f"{catalog}.warehouse": "/".join(settings.location.split("/")[:3]),
        **(stand_in if endpoint else {}),
    }.items():
        builder = builder.config(key, str(value))
    return builder.getOrCreate()


def _say(stage: str, text: str) -> None:
    print(f"{stage} {text}", flush=True)


def main(argv: Sequence[str]) -> int:
    settings = settings_from(argv)
    spark = _session(settings)
    _say("session", "Spark is up")
    failed = publish(spark, settings)
    for each in failed:
        _say("failed", each)
    return 1 if failed else 0


if __name__ == "__main__":
    code = main(sys.argv[1:])
    if code:
        sys.exit(code)
