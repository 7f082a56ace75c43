"""Row counts that come with the one pass."""

from __future__ import annotations

import time
from typing import Any
from uuid import uuid4

import pytest

from pipeline_runtime.engine.metrics import count_rows, scan_rows, unnamed_scan_rows

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def source(spark: Any, aws: Any) -> str:
    """An Iceberg table of 1,000 rows (id, part), and its name."""
    database = f"m_{uuid4().hex[:12]}"
    aws.client("glue").create_database(DatabaseInput={"Name": database})
    name = f"glue_catalog.{database}.source"
    spark.sql(
        f"CREATE TABLE {name} USING iceberg LOCATION 's3://test-lake/{database}/source' "
        "AS SELECT id, id % 4 AS part FROM range(1000)"
    )
    return name


def test_the_rows_of_the_source_are_those_its_scan_delivered(spark: Any, source: str) -> None:
    spark.table(source).where("id >= 10").write.format("noop").mode("overwrite").save()

    rows = scan_rows(spark, source)

    assert rows == 1000, "the filter is the step's, not the scan's"


def test_a_source_that_is_scanned_twice_counts_once(spark: Any, source: str) -> None:
    one, other = spark.table(source), spark.table(source).where("part = 1").groupBy("part").count()
    one.join(other, "part").write.format("noop").mode("overwrite").save()

    assert scan_rows(spark, source) == 1000


def test_the_newest_query_counts(spark: Any, source: str) -> None:
    spark.table(source).write.format("noop").mode("overwrite").save()
    spark.table(source).limit(5).collect()

    rows = scan_rows(spark, source)

    assert rows is not None
    assert rows < 1000


def test_a_table_that_no_query_scanned_has_no_count(spark: Any) -> None:
    assert scan_rows(spark, "glue_catalog.nowhere.nothing") is None


def test_rows_are_counted_in_the_pass_that_writes_them(spark: Any) -> None:
    before, rows_before = count_rows(spark.range(100), "before")
    after, rows_after = count_rows(before.where("id < 40"), "after")

    after.write.format("noop").mode("overwrite").save()

    assert (rows_before(), rows_after()) == (100, 40)


def test_a_count_asked_for_too_early_is_unknown_and_never_hangs(spark: Any) -> None:
    observed, rows = count_rows(spark.range(3), "early")
    started = time.monotonic()

    assert rows() is None
    assert time.monotonic() - started < 10

    observed.collect()
    assert rows() == 3


def test_a_failed_action_counts_what_came_through_and_never_hangs(spark: Any) -> None:
    observed, rows = count_rows(spark.range(0, 3, 1, 1).selectExpr("IF(id = 2, raise_error('no'), id) AS v"), "failed")
    started = time.monotonic()

    with pytest.raises(Exception, match="no"):
        observed.collect()

    assert rows() in (0, 1, 2, None)
    assert time.monotonic() - started < 15


def test_a_frame_that_spark_need_not_compute_has_no_count(spark: Any) -> None:
    known_empty = spark.createDataFrame([], "id bigint").where("id > 1")
    counted, rows = count_rows(spark.range(3).where("id > 1").join(known_empty, "id"), "skipped")
    outer, _ = count_rows(counted.where("false"), "outer")

    outer.write.format("noop").mode("overwrite").save()

    assert rows() in (0, None)


def test_the_rows_of_a_folder_read_in_several_groups_are_added_up(spark, tmp_path):
    for name, rows in (("a", 7), ("b", 5)):
        spark.range(rows).write.parquet(str(tmp_path / name))
    source = spark.read.parquet(str(tmp_path / "a")).unionAll(spark.read.parquet(str(tmp_path / "b")))
    counted, _ = count_rows(source, "all ids")

    counted.write.parquet(str(tmp_path / "written"))
    spark.read.parquet(str(tmp_path / "written")).collect()  # What judges the written files is no read of the source.

    assert unnamed_scan_rows(spark) == 12
