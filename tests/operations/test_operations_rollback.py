"""The manual's way back to an earlier batch of an Iceberg table is run as it is printed."""

from __future__ import annotations

import re
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from product_lake import ProductLake

from pipeline_runtime.catalog.table import TableIdentity
from pipeline_runtime.freshness.publishes import last_publish

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

MANUAL = Path(__file__).resolve().parents[2] / "docs" / "operations.md"
PRINTED, SNAPSHOT = "fraud_curated.transactions_scored", "1234567890123456789"


def statements() -> list[str]:
    """The SQL of the runbook, in its order: find the batches, look at one, go back to it."""
    runbook = MANUAL.read_text("utf-8").partition("\n## Rollback of data\n")[2].partition("\n## ")[0]
    return re.findall(r"```sql\n(.*?)```", runbook, re.DOTALL)


def publish(spark: SparkSession, table: str, rows: list[tuple[int, str]], **properties: str) -> None:
    writer = spark.createDataFrame(rows, "id int, day string").writeTo(f"glue_catalog.{table}")
    for key, value in properties.items():
        writer = writer.option(f"snapshot-property.{key}", value)
    writer.overwritePartitions()


def test_a_wrong_batch_is_taken_back_and_the_table_shows_the_one_before(spark: Any, lake: ProductLake) -> None:
    table = f"{lake.database}.scored"
    spark.sql(
        f"CREATE TABLE glue_catalog.{table} (id int, day string) USING iceberg PARTITIONED BY (day) "
        f"LOCATION 's3://{lake.bucket}/scored'"
    )
    right, wrong = str(uuid.uuid4()), str(uuid.uuid4())
    publish(spark, table, [(1, "mon"), (2, "tue")], **{"cordata.run_id": right})
    publish(spark, table, [(9, "tue")], **{"cordata.run_id": wrong})
    lake.register("scored")

    find, look, go_back = (sql.replace(PRINTED, table) for sql in statements())
    batches = {row.run_id: row.snapshot_id for row in spark.sql(find).collect()}
    assert list(batches) == [right, wrong]
    assert spark.sql(look.replace(SNAPSHOT, str(batches[right]))).first()[0] == 2
    before = lake.glue.get_table(DatabaseName=lake.database, Name="scored")["Table"]["Parameters"]
    spark.sql(go_back.replace(SNAPSHOT, str(batches[right])))

    assert sorted(map(tuple, spark.table(f"glue_catalog.{table}").collect())) == [(1, "mon"), (2, "tue")]
    found = lake.glue.get_table(DatabaseName=lake.database, Name="scored")["Table"]
    ours = {key: value for key, value in before.items() if key.startswith("cordata.")}
    assert {key: found["Parameters"].get(key) for key in ours} == ours
    identity = TableIdentity("eu-central-1", found["CatalogId"], lake.database, "scored")
    published = last_publish(found, identity, lake.glue, lake.s3, lake.store)
    assert published is not None
    assert published.run_id == right, "going back publishes nothing, and the batch is as old as it was"
