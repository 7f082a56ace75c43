"""Parquet targets: staged beside what readers see, audited as written, published by partition."""

from __future__ import annotations

import io
import json
from typing import Any

import pyarrow.parquet as pq
import pytest
from parquet_lake import ParquetLake
from writer_lake import in_order, new_run_id

from pipeline_runtime.errors import OutputRefused, WriteFailed

pytestmark = pytest.mark.spark

TWO_DAYS = "SELECT * FROM VALUES (9L,'b'),(8L,'c') AS v(id, day)"


def rows(*values: str) -> str:
    return f"SELECT * FROM VALUES {', '.join(values)} AS v(id, day)"


def test_a_first_run_makes_a_table_that_any_engine_reads(parquet: ParquetLake) -> None:
    published = parquet.publish(
        parquet.plan("t", "day"), "SELECT 'a' AS Day, 1L AS Id, CAST(2.50 AS decimal(9,2)) AS Amount"
    )

    table = parquet.definition("t")
    assert table is not None
    assert (published.rows, published.partitions, published.snapshot_id, published.replaced) == (1, 1, None, True)
    assert table["TableType"] == "EXTERNAL_TABLE"
    assert table["StorageDescriptor"]["Location"] == parquet.location("t")
    assert table["StorageDescriptor"]["InputFormat"].endswith("MapredParquetInputFormat")
    assert [(c["Name"], c["Type"]) for c in table["StorageDescriptor"]["Columns"]] == [
        ("id", "bigint"),
        ("amount", "decimal(9,2)"),
    ]
    assert table["PartitionKeys"] == [{"Name": "day", "Type": "string"}]
    assert table["Parameters"]["classification"] == "parquet"
    assert "cordata.first_run" not in table["Parameters"]
    [(values, partition)] = parquet.partitions("t").items()
    assert values == ("a",)
    assert partition["StorageDescriptor"]["Columns"] == table["StorageDescriptor"]["Columns"]
    [file] = parquet.files_at(partition["StorageDescriptor"]["Location"]).values()
    assert partition["Parameters"]["numRows"] == "1"
    assert partition["Parameters"]["totalSize"] == str(len(file))
    assert pq.ParquetFile(io.BytesIO(file)).schema_arrow.names == ["id", "amount"]


@pytest.mark.parametrize("kind", ["partitioned", "unpartitioned"])
def test_a_staged_batch_is_audited_before_any_reader_sees_it(parquet: ParquetLake, kind: str) -> None:
    plan = parquet.plan("t", *(["day"] if kind == "partitioned" else []))
    parquet.publish(plan, rows("(1L,'a')", "(2L,'b')"))
    before = parquet.seen("t")

    staged = parquet.stage(parquet.plan("t", *plan.partition_by), TWO_DAYS)

    assert (staged.rows, staged.partitions) == (2, 2 if plan.partition_by else 0)
    assert in_order(staged.audit_frame()) == [(8, "c"), (9, "b")]
    assert parquet.seen("t") == before


def test_reported_replacing_one_partition_leaves_the_others(parquet: ParquetLake) -> None:
    parquet.publish(parquet.plan("t", "day"), rows("(1L,'a')", "(2L,'b')"))

    published = parquet.publish(parquet.plan("t", "day"), rows("(9L,'b')"))

    assert (published.rows, published.partitions) == (1, 1)
    assert parquet.shown("t") == {("a",): [(1,)], ("b",): [(9,)]}


def test_an_unpartitioned_target_is_replaced_whole_at_once(parquet: ParquetLake) -> None:
    parquet.publish(parquet.plan("t"), rows("(1L,'a')", "(2L,'b')"))

    parquet.publish(parquet.plan("t"), rows("(9L,'b')"))

    assert parquet.shown("t") == {(): [(9, "b")]}
    table = parquet.definition("t")
    assert table is not None
    assert table["StorageDescriptor"]["Location"].startswith(parquet.location("t") + "/_runs/")
    assert table["Parameters"]["numRows"] == "1"


@pytest.mark.parametrize("partition_by", [("day",), ()], ids=["partitioned", "unpartitioned"])
def test_reported_an_empty_output_replaces_nothing_and_says_so(
    parquet: ParquetLake, partition_by: tuple[str, ...]
) -> None:
    parquet.publish(parquet.plan("t", *partition_by), rows("(1L,'a')", "(2L,'b')"))
    before = parquet.seen("t")

    staged = parquet.stage(parquet.plan("t", *partition_by), f"{TWO_DAYS} WHERE id > 100")
    audited = staged.audit_frame()
    published = staged.publish()

    assert (staged.is_empty, staged.rows, in_order(audited)) == (True, 0, [])
    assert audited.columns == ["id", "day"]
    assert (published.replaced, published.rows, published.partitions) == (False, 0, 0)
    assert parquet.seen("t") == before
    assert parquet.records() == []


def test_partition_values_of_every_kind_and_null_are_audited_and_registered_exactly(parquet: ParquetLake) -> None:
    keys = ("day", "at", "shop", "code", "level", "price")
    select = (
        "SELECT id, day, at, shop, code, level, CAST(price AS decimal(6,2)) AS price FROM VALUES"
        " (20, NULL, NULL, NULL, NULL, NULL, NULL),"
        " (21, DATE'2026-03-29', TIMESTAMP'2026-03-29 02:30:00.5', 'a/b = 50% é', '01', -1, 0.1)"
        " AS v(id, day, at, shop, code, level, price)"
    )
    null = "__HIVE_DEFAULT_PARTITION__"

    staged = parquet.stage(parquet.plan("t", *keys), select)

    audited = {row.id: tuple(row)[1:] for row in staged.audit_frame().collect()}
    expected = {row.id: tuple(row)[1:] for row in parquet.spark.sql(select).collect()}
    assert audited == expected
    staged.publish()
    assert parquet.shown("t") == {
        (null,) * 6: [(20,)],
        ("2026-03-29", "2026-03-29 02:30:00.5", "a/b = 50% é", "01", "-1", "0.10"): [(21,)],
    }


def test_what_is_audited_is_what_is_published_also_of_a_random_query(parquet: ParquetLake) -> None:
    staged = parquet.stage(parquet.plan("t", "day"), "SELECT uuid() AS token, id % 2 AS day FROM range(20)")
    audited = sorted(row.token for row in staged.audit_frame().collect())

    staged.publish()

    assert sorted(token for found in parquet.shown("t").values() for (token,) in found) == audited


def test_timestamps_are_micros_in_utc_and_old_dates_keep_their_day(parquet: ParquetLake) -> None:
    parquet.publish(
        parquet.plan("t"), "SELECT TIMESTAMP'2026-03-29 02:30:00.123456' AS at, DATE'0001-01-01' AS born, 1.5BD AS n"
    )

    table = parquet.definition("t")
    assert table is not None
    [data] = parquet.files_at(table["StorageDescriptor"]["Location"]).values()
    file = pq.ParquetFile(io.BytesIO(data))
    column = file.schema.column(0)
    assert column.physical_type == "INT64"
    assert json.loads(column.logical_type.to_json()) | {"is_from_converted_type": False} == {
        "Type": "Timestamp",
        "isAdjustedToUTC": True,
        "timeUnit": "microseconds",
        "is_from_converted_type": False,
        "force_set_converted_type": False,
    }
    [row] = file.read().to_pylist()
    assert (row["at"].isoformat(), row["born"].isoformat()) == ("2026-03-29T02:30:00.123456+00:00", "0001-01-01")
    assert file.metadata.row_group(0).column(0).statistics.has_min_max


def test_reported_many_input_partitions_give_about_one_file_a_partition(parquet: ParquetLake) -> None:
    frame = parquet.spark.range(0, 10_000, 1, 50).selectExpr("id", "id % 3 AS day", "id % 2 AS event")

    staged = parquet.stage_frame(parquet.plan("t", "day", "event"), frame)
    staged.publish()

    files = [len(parquet.files_at(place)) for place in staged.locations]
    assert len(files) == 6
    assert sum(files) <= 12


def test_the_same_input_gives_the_same_bytes(parquet: ParquetLake) -> None:
    def contents() -> dict[str, list[bytes]]:
        frame = parquet.spark.range(0, 5_000, 1, 7).selectExpr("id", "uuid() IS NULL AS never", "id % 3 AS day")
        staged = parquet.stage_frame(parquet.plan("t", "day"), frame)
        return {place[-5:]: sorted(parquet.files_at(place).values()) for place in staged.locations}

    first, second = contents(), contents()

    assert first == second
    assert set(first) == {"day=0", "day=1", "day=2"}


def test_rows_get_the_tables_own_columns_order_and_wider_types(parquet: ParquetLake) -> None:
    parquet.define("t", {"amount": "decimal(12,2)", "id": "bigint", "day": "string"}, "day")

    parquet.publish(parquet.plan("t", "day"), "SELECT 'a' AS DAY, 7 AS ID, CAST(1 AS decimal(5,2)) AS Amount")

    [(values, found)] = parquet.partitions("t").items()
    [data] = parquet.files_at(found["StorageDescriptor"]["Location"]).values()
    schema = pq.ParquetFile(io.BytesIO(data)).schema_arrow
    assert values == ("a",)
    assert [(field.name, str(field.type)) for field in schema] == [("amount", "decimal128(12, 2)"), ("id", "int64")]


@pytest.mark.parametrize(
    ("select", "message"),
    [
        ("SELECT 1L AS id, 'a' AS day, 'm' AS merchant", r"\+ merchant \(string\), not in the table"),
        ("SELECT 'one' AS id, 'a' AS day", r"~ id: string does not fit bigint"),
        ("SELECT 'a' AS day", r"- id \(bigint\), not in the output"),
        ("SELECT 1L AS id", r"partition column day is missing"),
    ],
)
def test_an_output_that_does_not_fit_is_refused_before_anything_is_written(
    parquet: ParquetLake, select: str, message: str
) -> None:
    parquet.define("t", {"id": "bigint", "day": "string"}, "day")

    with pytest.raises(OutputRefused, match=message):
        parquet.stage(parquet.plan("t", "day"), select)

    assert (parquet.keys("t"), parquet.records()) == ([], [])


@pytest.mark.parametrize(
    ("changes", "partition_by", "message"),
    [
        ({"Parameters": {"projection.enabled": "true"}}, "day", "projection.enabled: Athena then computes"),
        ({"StorageDescriptor": {"Columns": [{"Name": "id", "Type": "bigint"}]}}, "day", "is not a parquet table"),
        ({}, "id", r"partition_by is \[id\], the table is partitioned by \[day\]"),
    ],
)
def test_a_table_whose_readers_would_not_see_a_switch_is_refused(
    parquet: ParquetLake, changes: dict[str, Any], partition_by: str, message: str
) -> None:
    parquet.define("t", {"id": "bigint", "day": "string"}, "day", **changes)

    with pytest.raises(OutputRefused, match=message):
        parquet.stage(parquet.plan("t", partition_by), rows("(1L,'a')"))

    assert parquet.keys("t") == []


def test_a_wall_clock_is_refused_since_the_catalogs_timestamp_is_an_instant(parquet: ParquetLake) -> None:
    with pytest.raises(OutputRefused, match=r"t: seen_at: .*Use to_utc_timestamp\(column, zone\)"):
        parquet.stage(parquet.plan("t"), "SELECT TIMESTAMP_NTZ'2026-03-29 02:30:00' AS seen_at")

    assert parquet.definition("t") is None


@pytest.mark.parametrize("ending", ["discarded", "empty", "failed"])
@pytest.mark.parametrize("partition_by", [("day",), ()], ids=["partitioned", "unpartitioned"])
def test_a_first_run_that_publishes_nothing_leaves_no_table_file_or_record(
    parquet: ParquetLake, ending: str, partition_by: tuple[str, ...]
) -> None:
    plan = parquet.plan("t", *partition_by)
    if ending == "discarded":
        staged = parquet.stage(plan, TWO_DAYS)
        assert staged.created
        staged.discard()
        staged.discard()
    elif ending == "empty":
        parquet.publish(plan, f"{TWO_DAYS} WHERE id > 100")
    else:
        with pytest.raises(WriteFailed, match=r"t: the write failed, nothing was published: .*no day today") as failed:
            parquet.stage(plan, "SELECT id, CAST(raise_error('no day today') AS string) AS day FROM range(1)")
        assert "\n" not in str(failed.value)

    assert parquet.definition("t") is None
    assert (parquet.keys("t"), parquet.records()) == ([], [])


def test_a_table_that_someone_else_made_empty_stays_when_nothing_is_published(parquet: ParquetLake) -> None:
    parquet.define("t", {"id": "bigint", "day": "string"}, "day")

    parquet.stage(parquet.plan("t", "day"), TWO_DAYS).discard()

    assert parquet.shown("t") == {}


def test_two_first_runs_at_once_do_not_take_the_table_from_each_other(parquet: ParquetLake) -> None:
    plan = parquet.plan("t", "day")
    first = parquet.stage(plan, rows("(1L,'a')"))
    second = parquet.stage(plan, rows("(2L,'b')"))

    first.discard()
    second.publish()

    assert parquet.shown("t") == {("b",): [(2,)]}


def test_the_record_of_a_staged_batch_says_what_to_look_for(parquet: ParquetLake) -> None:
    run_id = new_run_id()
    staged = parquet.stage(parquet.plan("t", "day"), TWO_DAYS, run_id)

    assert json.loads(json.dumps(staged.record())) == {
        "table": f"{parquet.database}.t",
        "run_id": run_id,
        "locations": [f"{parquet.location('t')}/_runs/{run_id}/day={day}" for day in "bc"],
        "rows": 2,
        "partitions": 2,
        "created": True,
    }
    assert (staged.snapshot_id, staged.branch) == (None, None)
