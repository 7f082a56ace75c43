"""Folders as landing zones have them: mixed types, clocks, columns that come and go."""

from __future__ import annotations

import shutil
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from parquet_samples import write_parquet

from pipeline_runtime.catalog.table import Partition
from pipeline_runtime.errors import CatalogError, SchemaMismatch
from pipeline_runtime.readers.parquet_files import read_parquet
from pipeline_runtime.readers.parquet_footers import read_footers
from pipeline_runtime.readers.parquet_listing import list_files, list_partitions
from pipeline_runtime.schema.columns import Column, Schema
from pipeline_runtime.schema.enforce import schema_of

pytestmark = pytest.mark.spark

NOON = datetime(2024, 3, 31, 12, 0, tzinfo=UTC)


def pin(**columns: str) -> Schema:
    return Schema(tuple(Column(name, type_) for name, type_ in columns.items()))


def read(spark: Any, folder: Path, pinned: Schema, **options: Any) -> Any:
    return read_parquet(spark, list_files(spark, str(folder), "raw.t"), pinned, "raw.t", **options)


def refusal(spark: Any, folder: Path, pinned: Schema) -> str:
    with pytest.raises(SchemaMismatch) as caught:
        read(spark, folder, pinned)
    message = str(caught.value)
    assert "Py4J" not in message
    assert "\tat " not in message
    return message


def rows(frame: Any) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in frame.collect()), key=repr)


def plan(frame: Any) -> str:
    return str(frame._jdf.queryExecution().executedPlan().toString())


def test_reported_pq_1_files_of_other_widths_are_read_as_the_pinned_type(spark: Any, tmp_path: Path) -> None:
    write_parquet(
        tmp_path / "a.parquet",
        {
            "id": pa.array([1], pa.int32()),
            "amount": pa.array([Decimal("1.10")], pa.decimal128(10, 2)),
            "ratio": pa.array([0.5], pa.float32()),
        },
    )
    write_parquet(
        tmp_path / "b.parquet",
        {
            "ratio": pa.array([0.1], pa.float64()),
            "id": pa.array([2**40], pa.int64()),
            "amount": pa.array([Decimal("1.1055")], pa.decimal128(12, 4)),
        },
    )
    frame = read(spark, tmp_path, pin(id="bigint", amount="decimal(12,4)", ratio="double"))
    assert schema_of(frame).columns == tuple(
        Column(name, type_, True)
        for name, type_ in (("id", "bigint"), ("amount", "decimal(12,4)"), ("ratio", "double"))
    )
    assert rows(frame) == [(1, Decimal("1.1000"), 0.5), (2**40, Decimal("1.1055"), 0.1)]


def test_reported_pq_1_a_type_the_pin_does_not_hold_is_one_error_with_file_column_and_both_types(
    spark: Any, tmp_path: Path
) -> None:
    write_parquet(tmp_path / "a.parquet", {"id": pa.array([1], pa.int32())})
    write_parquet(tmp_path / "b.parquet", {"id": pa.array([2**40], pa.int64())})
    message = refusal(spark, tmp_path, pin(id="int"))
    assert message.startswith("raw.t: column id is bigint (int64) in file:")
    assert "b.parquet and pinned as int. int does not hold every bigint." in message
    assert "a.parquet" not in message


def test_reported_pq_2_a_wall_clock_in_a_file_is_not_read_as_an_instant(spark: Any, tmp_path: Path) -> None:
    write_parquet(tmp_path / "good.parquet", {"at": pa.array([NOON], pa.timestamp("us", "UTC"))})
    write_parquet(tmp_path / "ntz.parquet", {"at": pa.array([NOON.replace(tzinfo=None)], pa.timestamp("us"))})
    message = refusal(spark, tmp_path, pin(at="timestamp"))
    assert "column at is timestamp_ntz (int64 (TIMESTAMP(MICROS,false))) in file:" in message
    assert "ntz.parquet and pinned as timestamp." in message
    assert "convert in a step that names the zone" in message
    # And the other way round.
    assert "column at is timestamp (int64 (TIMESTAMP(MICROS,true)))" in refusal(
        spark, tmp_path, pin(at="timestamp_ntz")
    )


def test_reported_pq_2_nanoseconds_are_an_error_that_names_the_column(spark: Any, tmp_path: Path) -> None:
    write_parquet(tmp_path / "ns.parquet", {"id": [1], "at": pa.array([NOON], pa.timestamp("ns", "UTC"))})
    message = refusal(spark, tmp_path, pin(id="bigint", at="timestamp"))
    assert message.startswith("raw.t: column at is int64 (TIMESTAMP(NANOS,true)) in file:")
    assert "ns.parquet and pinned as timestamp, and Spark does not read int64 (TIMESTAMP(NANOS,true))." in message
    # Of no concern where nobody reads it.
    assert rows(read(spark, tmp_path, pin(id="bigint"), on_unpinned="ignore")) == [(1,)]


def test_reported_pq_2_a_bare_number_is_no_timestamp(spark: Any, tmp_path: Path) -> None:
    write_parquet(tmp_path / "raw.parquet", {"at": pa.array([1711886400000000], pa.int64())})
    message = refusal(spark, tmp_path, pin(at="timestamp"))
    assert "column at is bigint (int64) in file:" in message
    assert "The file does not say in what unit." in message


def test_reported_pq_2_instants_of_every_flavour_meet_in_one_folder(spark: Any, tmp_path: Path) -> None:
    instant = {"at": pa.array([NOON], pa.timestamp("us", "UTC"))}
    write_parquet(tmp_path / "micros.parquet", instant)
    write_parquet(tmp_path / "millis.parquet", {"at": pa.array([NOON], pa.timestamp("ms", "UTC"))})
    write_parquet(tmp_path / "int96.parquet", instant, use_deprecated_int96_timestamps=True)
    frame = read(spark, tmp_path, pin(at="timestamp"))
    assert [row[0] for row in frame.selectExpr("date_format(at, 'yyyy-MM-dd HH:mm:ss') AS at").collect()] == [
        "2024-03-31 12:00:00"
    ] * 3


def test_a_column_that_older_files_lack_is_null_in_their_rows_if_the_pin_allows_it(spark: Any, tmp_path: Path) -> None:
    write_parquet(tmp_path / "1.parquet", {"id": [1]})
    write_parquet(tmp_path / "2.parquet", {"id": [2], "email": ["b@x"]})
    assert rows(read(spark, tmp_path, pin(id="bigint", email="string"))) == [(1, None), (2, "b@x")]
    strict = Schema((Column("id", "bigint"), Column("email", "string", nullable=False)))
    assert "column email is pinned as string not null and is not in file:" in refusal(spark, tmp_path, strict)


def test_a_column_that_the_pin_has_not_is_an_error_with_its_file(spark: Any, tmp_path: Path) -> None:
    write_parquet(tmp_path / "1.parquet", {"id": [1]})
    write_parquet(tmp_path / "2.parquet", {"id": [2], "email": ["b@x"]})
    message = refusal(spark, tmp_path, pin(id="bigint"))
    assert message.startswith("raw.t: column email (string) is in file:")
    assert "2.parquet and not in the pin." in message
    assert rows(read(spark, tmp_path, pin(id="bigint"), on_unpinned="ignore")) == [(1,), (2,)]


def test_names_are_the_pins_whatever_their_case_in_the_files(spark: Any, tmp_path: Path) -> None:
    write_parquet(tmp_path / "1.parquet", {"ID": pa.array([1], pa.int32())})
    write_parquet(tmp_path / "2.parquet", {"Id": [2]})
    frame = read(spark, tmp_path, pin(id="bigint"))
    assert frame.columns == ["id"]
    assert rows(frame) == [(1,), (2,)]


def test_nested_types_widen_too(spark: Any, tmp_path: Path) -> None:
    for name, width in (("a", pa.int32()), ("b", pa.int64())):
        items = pa.list_(pa.struct([("n", width), ("tag", pa.string())]))
        write_parquet(tmp_path / f"{name}.parquet", {"items": pa.array([[{"n": 7, "tag": name}]], items)})
    frame = read(spark, tmp_path, pin(items="array<struct<n:bigint,tag:string>>"))
    assert sorted((row[0][0].n, row[0][0].tag) for row in frame.collect()) == [(7, "a"), (7, "b")]


def test_an_empty_folder_and_a_missing_one_are_an_empty_frame_with_the_pinned_columns(
    spark: Any, tmp_path: Path
) -> None:
    pinned = pin(id="bigint", tags="array<string>", dt="date")
    for folder in (tmp_path, tmp_path / "missing"):
        frame = read(spark, folder, pinned, partition_columns=["dt"], extra_columns={"row": "row_index"})
        assert frame.dtypes == [("id", "bigint"), ("tags", "array<string>"), ("dt", "date"), ("row", "bigint")]
        assert frame.count() == 0


def test_marker_files_and_what_is_still_being_written_are_left_out(spark: Any, tmp_path: Path) -> None:
    write_parquet(tmp_path / "day" / "part-0.parquet", {"id": [1]})
    write_parquet(tmp_path / "_temporary" / "0" / "part-1.parquet", {"id": [2]})
    for name in ("_SUCCESS", ".part-1.parquet.crc"):
        (tmp_path / "day" / name).write_text("not parquet")
    (tmp_path / "empty_$folder$").write_bytes(b"")
    assert rows(read(spark, tmp_path, pin(id="bigint"))) == [(1,)]


def test_a_file_that_is_not_parquet_is_an_error_that_names_it(spark: Any, tmp_path: Path) -> None:
    write_parquet(tmp_path / "a.parquet", {"id": [1]})
    (tmp_path / "b.parquet").write_text("id\n1\n")
    message = refusal(spark, tmp_path, pin(id="bigint"))
    assert message.startswith("raw.t: a file's footer cannot be read:")
    assert "b.parquet is not a Parquet file" in message


def test_a_file_that_arrives_after_the_listing_waits_for_the_next_run(spark: Any, tmp_path: Path) -> None:
    write_parquet(tmp_path / "a.parquet", {"id": [1]})
    frame = read(spark, tmp_path, pin(id="bigint"))
    write_parquet(tmp_path / "b.parquet", {"id": ["two"]})
    assert rows(frame) == [(1,)]


def test_a_path_with_a_patterns_characters_means_itself(spark: Any, tmp_path: Path) -> None:
    write_parquet(tmp_path / "in" / "[ab] {1}*" / "a b%20.parquet", {"id": [1]})
    assert rows(read(spark, tmp_path / "in", pin(id="bigint"))) == [(1,)]


def test_each_row_can_name_its_file_and_its_place_in_it(spark: Any, tmp_path: Path) -> None:
    write_parquet(tmp_path / "a.parquet", {"id": [5, 4]})
    write_parquet(tmp_path / "b.parquet", {"id": pa.array([3], pa.int32())})
    frame = read(spark, tmp_path, pin(id="bigint"), extra_columns={"file": "file_name", "row": "row_index"})
    assert rows(frame) == [(3, "b.parquet", 0), (4, "a.parquet", 1), (5, "a.parquet", 0)]


def test_footers_group_files_by_what_they_physically_hold(spark: Any, tmp_path: Path) -> None:
    for name in ("a", "c"):
        write_parquet(tmp_path / f"{name}.parquet", {"id": pa.array([1], pa.int32())})
    write_parquet(tmp_path / "b.parquet", {"id": pa.array([1], pa.int64())})
    groups = read_footers(spark, list_files(spark, str(tmp_path), "raw.t"), "raw.t")
    assert [([file.relative for file in group.files], group.columns[0].type) for group in groups] == [
        (["a.parquet", "c.parquet"], "int"),
        (["b.parquet"], "bigint"),
    ]


def test_only_the_columns_that_are_used_leave_the_files_and_filters_reach_them(spark: Any, tmp_path: Path) -> None:
    write_parquet(tmp_path / "a.parquet", {"id": [1, 2], "amount": [1, 2], "wide": ["x", "y"]})
    frame = read(spark, tmp_path, pin(id="bigint", amount="bigint", wide="string")).where("id = 2").select("amount")
    scan = plan(frame)
    assert "ReadSchema: struct<id:bigint,amount:bigint>" in scan
    assert "EqualTo(id,2)" in scan


# -- partitions ------------------------------------------------------------------------------------


def partition(path: Path, *values: str | None) -> Partition:
    return Partition(values, str(path))


def test_partition_values_have_the_pinned_type_and_are_not_guessed(spark: Any, tmp_path: Path) -> None:
    write_parquet(tmp_path / "code=01" / "dt=2024-01-02" / "a.parquet", {"id": [1]})
    write_parquet(tmp_path / "code=__HIVE_DEFAULT_PARTITION__" / "dt=2024-01-03" / "b.parquet", {"id": [2]})
    files = list_partitions(
        spark,
        [
            partition(tmp_path / "code=01" / "dt=2024-01-02", "01", "2024-01-02"),
            partition(tmp_path / "code=__HIVE_DEFAULT_PARTITION__" / "dt=2024-01-03", None, "2024-01-03"),
        ],
        "raw.t",
    )
    frame = read_parquet(
        spark, files, pin(dt="date", id="bigint", code="string"), "raw.t", partition_columns=("code", "dt")
    )
    assert rows(frame) == [(date(2024, 1, 2), 1, "01"), (date(2024, 1, 3), 2, None)]


def test_a_filter_on_a_partition_opens_only_its_files_whatever_prefix_they_are_under(
    spark: Any, tmp_path: Path
) -> None:
    folders = [tmp_path / "_runs" / str(day) / f"dt=2024-01-0{day}" for day in (1, 2, 3)]
    for day, folder in enumerate(folders, 1):
        write_parquet(folder / "a.parquet", {"id": [day]})
    partitions = [partition(folder, folder.name.removeprefix("dt=")) for folder in folders]
    frame = read_parquet(
        spark,
        list_partitions(spark, partitions, "raw.t"),
        pin(id="bigint", dt="date"),
        "raw.t",
        partition_columns=("dt",),
    )
    for folder in folders[::2]:
        shutil.rmtree(folder)
    assert rows(frame.where("dt = date'2024-01-02'").select("id")) == [(2,)]


def test_a_partition_registered_by_hand_has_the_values_the_catalog_says(spark: Any, tmp_path: Path) -> None:
    write_parquet(tmp_path / "2024" / "a b+c" / "1" / "a.parquet", {"id": [1], "dt": ["the file's own"]})
    write_parquet(tmp_path / "dt=wrong" / "a.parquet", {"id": pa.array([2], pa.int32())})
    write_parquet(tmp_path / "dt=c" / "a.parquet", {"id": [3]})
    files = list_partitions(
        spark,
        [
            partition(tmp_path / "2024" / "a b+c", "a/b c"),
            partition(tmp_path / "dt=wrong", None),
            partition(tmp_path / "dt=c", "c"),
        ],
        "raw.t",
    )
    frame = read_parquet(
        spark,
        files,
        pin(id="bigint", dt="string"),
        "raw.t",
        partition_columns=("dt",),
        extra_columns={"n": "row_index"},
    )
    assert rows(frame) == [(1, "a/b c", 0), (2, None, 0), (3, "c", 0)]
    assert rows(frame.where("dt = 'a/b c'").select("id")) == [(1,)]


def test_a_location_of_an_unknown_store_is_an_error_that_names_it(spark: Any) -> None:
    with pytest.raises(CatalogError, match=r"raw\.t: cannot list nostore://lake/t: "):
        list_files(spark, "nostore://lake/t", "raw.t")
