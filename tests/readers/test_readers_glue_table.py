"""Reading an Iceberg table as its pin was checked."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest

from pipeline_runtime.catalog.table import CatalogTable, PinnedSource, TableIdentity
from pipeline_runtime.errors import CatalogError, SchemaMismatch
from pipeline_runtime.readers.glue_table import read_glue_table
from pipeline_runtime.schema.columns import Column, Schema

pytestmark = pytest.mark.spark

# A catalog in a folder: what is tested here is the reading, which is the same in every Iceberg catalog.
CATALOG = "reader_lake"
PINNED = Schema(
    (
        Column("id", "bigint", nullable=False, field_id=1),
        Column("amount", "decimal(10,2)", nullable=True, field_id=2),
    )
)


@pytest.fixture(scope="module")
def lake(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    prefix = f"spark.sql.catalog.{CATALOG}"
    spark.conf.set(prefix, "org.apache.iceberg.spark.SparkCatalog")
    spark.conf.set(f"{prefix}.type", "hadoop")
    spark.conf.set(f"{prefix}.warehouse", str(tmp_path_factory.mktemp("reader-lake")))
    spark.sql(f"CREATE NAMESPACE {CATALOG}.raw")
    return spark


@pytest.fixture
def table(lake: Any) -> Iterator[str]:
    name = f"{CATALOG}.raw.transactions"
    lake.sql(f"CREATE TABLE {name} (id BIGINT NOT NULL, amount DECIMAL(10,2)) USING iceberg")
    lake.sql(f"INSERT INTO {name} VALUES (1, 1.10), (2, 2.20)")
    yield name
    lake.sql(f"DROP TABLE {name}")


def snapshot(lake: Any, name: str) -> int:
    history = lake.sql(f"SELECT snapshot_id FROM {name}.history ORDER BY made_current_at DESC LIMIT 1")
    return int(history.first()[0])


def source(snapshot_id: int | None, pinned: Schema = PINNED) -> PinnedSource:
    table = CatalogTable(
        identity=TableIdentity("eu-central-1", "111122223333", "raw", "transactions"),
        version=7,
        schema=pinned,
        location="s3://lake/raw/transactions",
        is_iceberg=True,
        current_snapshot=snapshot_id,
    )
    return PinnedSource(table, pinned, 7)


def rows(frame: Any) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in frame.collect())


def test_the_pinned_columns_are_read(lake: Any, table: str) -> None:
    frame = read_glue_table(lake, source(snapshot(lake, table)), CATALOG)
    assert frame.columns == ["id", "amount"]
    assert rows(frame) == [(1, Decimal("1.10")), (2, Decimal("2.20"))]


def test_rows_that_arrive_after_the_gate_wait_for_the_next_run(lake: Any, table: str) -> None:
    checked = source(snapshot(lake, table))
    lake.sql(f"INSERT INTO {table} VALUES (3, 3.30)")
    assert [row[0] for row in rows(read_glue_table(lake, checked, CATALOG))] == [1, 2]
    assert [row[0] for row in rows(read_glue_table(lake, source(snapshot(lake, table)), CATALOG))] == [1, 2, 3]


def test_the_first_rows_of_a_table_wait_for_the_next_run_too(lake: Any) -> None:
    name = f"{CATALOG}.raw.transactions"
    lake.sql(f"CREATE TABLE {name} (id BIGINT NOT NULL, amount DECIMAL(10,2)) USING iceberg")
    try:
        frame = read_glue_table(lake, source(None), CATALOG)
        lake.sql(f"INSERT INTO {name} VALUES (1, 1.10)")
        assert rows(frame) == []
    finally:
        lake.sql(f"DROP TABLE {name}")


def test_columns_that_are_newer_than_the_last_rows_are_read_as_the_table_has_them_now(lake: Any, table: str) -> None:
    checked = snapshot(lake, table)
    for change in ("ADD COLUMN mcc STRING", "ALTER COLUMN amount TYPE DECIMAL(12,2)"):
        lake.sql(f"ALTER TABLE {table} {change}")
    pinned = Schema((Column("amount", "decimal(12,2)"), Column("mcc", "string")))
    frame = read_glue_table(lake, source(checked, pinned), CATALOG)
    assert dict(frame.dtypes) == {"amount": "decimal(12,2)", "mcc": "string"}
    assert rows(frame.where("mcc IS NULL AND amount > 2")) == [(Decimal("2.20"), None)]
    assert rows(frame.where("mcc = '5411'")) == []


NEWER = {
    "renamed": ("RENAME COLUMN place TO town", "town", "struct<city:string>"),
    "changed": ("ADD COLUMN place.country STRING", "place", "struct<city:string,country:string>"),
}


@pytest.mark.parametrize("how", NEWER)
def test_a_column_renamed_or_changed_within_since_the_last_rows_is_read_as_it_is_now_or_refused(
    lake: Any, how: str
) -> None:
    """Spark 4.1 reads a snapshot with the columns of its own time, and Iceberg 1.11 then loses filters on old names."""
    change, column, type_ = NEWER[how]
    name = f"{CATALOG}.raw.transactions"
    lake.sql(f"CREATE TABLE {name} (id BIGINT NOT NULL, place STRUCT<city: STRING>) USING iceberg")
    try:
        lake.sql(f"INSERT INTO {name} VALUES (1, named_struct('city', 'Bern'))")
        checked = snapshot(lake, name)
        lake.sql(f"ALTER TABLE {name} {change}")
        pinned = source(checked, Schema((PINNED.columns[0], Column(column, type_, nullable=True, field_id=2))))
        if not lake.version.startswith("3."):
            with pytest.raises(
                CatalogError, match=rf"transactions: its column {column} was {how} after its last commit"
            ):
                read_glue_table(lake, pinned, CATALOG)
            lake.sql(f"INSERT INTO {name} SELECT * FROM {name} WHERE false")
            pinned = source(snapshot(lake, name), pinned.pinned)
        frame = read_glue_table(lake, pinned, CATALOG)
        assert frame.where(f"{column}.city = 'Bern'").select(f"{column}.city").collect() == [("Bern",)]
    finally:
        lake.sql(f"DROP TABLE {name}")


def test_a_column_that_a_producer_adds_between_gate_and_read_is_left_out(lake: Any, table: str) -> None:
    checked = source(snapshot(lake, table))
    lake.sql(f"ALTER TABLE {table} ADD COLUMN mcc STRING FIRST")
    lake.sql(f"INSERT INTO {table} VALUES ('5411', 3, 3.30)")
    assert rows(read_glue_table(lake, checked, CATALOG)) == [(1, Decimal("1.10")), (2, Decimal("2.20"))]


def test_a_column_that_a_producer_drops_between_gate_and_read_is_an_error(lake: Any, table: str) -> None:
    checked = source(snapshot(lake, table))
    lake.sql(f"ALTER TABLE {table} DROP COLUMN amount")
    with pytest.raises(SchemaMismatch, match=r"raw\.transactions: column amount is pinned and was not there"):
        read_glue_table(lake, checked, CATALOG)


def test_column_types_are_icebergs_so_a_wall_clock_is_not_an_instant(lake: Any, table: str) -> None:
    lake.sql(f"ALTER TABLE {table} ADD COLUMN at TIMESTAMP_NTZ")
    pinned = Schema((Column("id", "bigint"), Column("at", "timestamp")))
    with pytest.raises(SchemaMismatch, match="column at is timestamp_ntz and pinned as timestamp"):
        read_glue_table(lake, source(None, pinned), CATALOG)


def test_only_the_pinned_columns_leave_the_files_and_filters_reach_them(lake: Any, table: str) -> None:
    lake.sql(f"ALTER TABLE {table} ADD COLUMN wide STRING")
    frame = read_glue_table(lake, source(snapshot(lake, table)), CATALOG).where("id = 2").select("amount")
    scan = frame._jdf.queryExecution().optimizedPlan().toString()
    assert "wide" not in scan
    physical = frame._jdf.queryExecution().executedPlan().toString()
    assert "filters=id = 2" in physical


def test_a_table_that_spark_cannot_find_is_an_error_that_names_its_catalog(lake: Any) -> None:
    with pytest.raises(CatalogError) as caught:
        read_glue_table(lake, source(None), CATALOG)
    message = str(caught.value)
    assert message.startswith(
        f"raw.transactions: the Glue catalog holds it, and Spark cannot load it through {CATALOG}"
    )
    assert "TABLE_OR_VIEW_NOT_FOUND" in message
    assert "\n" not in message
