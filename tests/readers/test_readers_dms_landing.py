"""Reading the files that AWS DMS lands, with the physical types and names that it gives them."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from pipeline_runtime.catalog.table import CatalogTable, PinnedSource, TableIdentity
from pipeline_runtime.errors import CatalogError, ChangeLogRefused, SchemaMismatch
from pipeline_runtime.readers.dms_landing import read_dms_landing
from pipeline_runtime.schema.columns import Column, Schema

pytestmark = pytest.mark.spark

LOAD, FIRST, SECOND = "LOAD00000001.parquet", "20240102-000000000.parquet", "20240103-000000000.parquet"
TEXTS = ("Op", "ts", "name", "email", "seq")


def land(folder: Path, name: str, rows: list[dict[str, Any]], types: Mapping[str, Any] | None = None) -> None:
    """One file as DMS writes it; whole numbers are int64 and the rest text unless `types` says otherwise."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = {column: pa.string() if column in TEXTS else pa.int64() for column in rows[0]}
    columns |= {column: getattr(pa, type_)() for column, type_ in (types or {}).items()}
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows, pa.schema(list(columns.items()))), path)


def source(folder: Path, pinned: str = "id bigint, name string", partitions: tuple[str, ...] = (), **cdc: str) -> Any:
    columns = tuple(Column(*column.split(" ")) for column in pinned.split(", "))
    table = CatalogTable(
        identity=TableIdentity("eu-central-1", "111122223333", "policy_raw", "claims"),
        version=3,
        schema=Schema(columns),
        location=folder.as_uri(),
        is_iceberg=False,
        partition_columns=partitions,
        parameters={"cordata.primary_keys": "id"} | {f"cordata.{key}": value for key, value in cdc.items()},
    )
    return PinnedSource(table, table.schema, 3)


def rows(spark: Any, read: PinnedSource) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in read_dms_landing(spark, read, "glue_catalog").frame.collect())


@pytest.fixture
def claims(tmp_path: Path) -> Path:
    """A landing zone: a full load, and a file of changes in a folder by date."""
    folder = tmp_path / "claims"
    land(folder, LOAD, [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}])
    changes = [("U", 1, "z"), ("D", 2, None)]
    logged = [{"Op": op, "ts": "2024-01-02 00:00:00.000001", "id": id_, "name": name} for op, id_, name in changes]
    land(folder, f"2024/01/02/{FIRST}", logged)
    return folder


def test_reported_dms_3_a_full_load_without_op_lies_beside_its_changes(spark: Any, claims: Path) -> None:
    read = read_dms_landing(spark, source(claims, cdc_timestamp="ts"), "glue_catalog")
    assert read.frame.columns == ["id", "name"]
    assert [tuple(row) for row in read.frame.collect()] == [(1, "z")]
    assert read.warnings() == ()


def test_reported_dms_3_a_folder_with_only_full_load_files_is_the_table(spark: Any, tmp_path: Path) -> None:
    land(tmp_path, LOAD, [{"id": 1, "name": "a"}])
    land(tmp_path, "LOAD00000002.parquet", [{"id": 2, "name": "b"}])
    read = source(tmp_path, cdc_timestamp="ts", cdc_sequence="seq", cdc_before_prefix="BI_")
    assert rows(spark, read) == [(1, "a"), (2, "b")]


def test_an_empty_landing_zone_is_an_empty_table(spark: Any, tmp_path: Path) -> None:
    assert rows(spark, source(tmp_path / "nothing", cdc_timestamp="ts")) == []


def test_technical_columns_and_date_folders_in_the_catalog_do_not_reach_the_target(spark: Any, tmp_path: Path) -> None:
    land(tmp_path, f"landed=2024-01-02/{FIRST}", [{"Op": "I", "ts": "2024-01-02 00:00:00", "id": 1, "name": "a"}])
    land(tmp_path, f"landed=2024-01-03/{SECOND}", [{"Op": "U", "ts": "2024-01-03 00:00:00", "id": 1, "name": "b"}])
    pinned = "op string, ts string, id bigint, name string, landed string"
    read = read_dms_landing(spark, source(tmp_path, pinned, ("landed",), cdc_timestamp="TS"), "glue_catalog")
    assert read.frame.columns == ["id", "name"]
    assert [tuple(row) for row in read.frame.collect()] == [(1, "b")]


def test_files_in_date_folders_follow_each_other_by_their_names_not_their_folders(spark: Any, tmp_path: Path) -> None:
    land(tmp_path, f"31122023/{FIRST.replace('20240102', '20231231')}", [{"Op": "I", "id": 1, "name": "old"}])
    land(tmp_path, f"01012024/{FIRST.replace('20240102', '20240101')}", [{"Op": "U", "id": 1, "name": "new"}])
    assert rows(spark, source(tmp_path)) == [(1, "new")]


def test_reported_dms_6_an_added_column_is_null_in_older_rows_once_the_pin_has_it(spark: Any, claims: Path) -> None:
    change = {"Op": "I", "ts": "2024-01-03 00:00:00", "id": 3, "name": "c", "email": "c@example.org"}
    land(claims, SECOND, [change])
    read = source(claims, "id bigint, name string, email string", cdc_timestamp="ts")
    assert rows(spark, read) == [(1, "z", None), (3, "c", "c@example.org")]


def test_reported_dms_6_a_column_that_the_pin_does_not_have_is_refused_before_the_collapse(
    spark: Any, claims: Path
) -> None:
    change = {"Op": "I", "ts": "2024-01-03 00:00:00", "id": 3, "name": "c", "email": "c@example.org"}
    land(claims, SECOND, [change])
    with pytest.raises(
        SchemaMismatch, match=r"column email \(string\) is in .*/20240103-000000000\.parquet and not in"
    ):
        read_dms_landing(spark, source(claims, cdc_timestamp="ts"), "glue_catalog")


def test_reported_dms_6_whole_numbers_of_two_lengths_are_read_as_the_pin_says(spark: Any, claims: Path) -> None:
    narrow = [{"Op": op, "ts": "2024-01-03 00:00:00", "id": id_, "name": name} for op, id_, name in [("U", 1, "n")]]
    land(claims, SECOND, narrow, {"id": "int32"})
    assert rows(spark, source(claims, cdc_timestamp="ts")) == [(1, "n")]


def test_reported_dms_6_bare_whole_numbers_are_no_timestamps(spark: Any, tmp_path: Path) -> None:
    land(tmp_path, FIRST, [{"Op": "I", "id": 1, "paid_at": 1704153600000000}])
    with pytest.raises(SchemaMismatch, match=r"column paid_at is bigint \(int64\) in .* and pinned as timestamp"):
        read_dms_landing(spark, source(tmp_path, "id bigint, paid_at timestamp"), "glue_catalog")
    land(tmp_path, FIRST, [{"Op": "I", "id": 1, "at": 1704153600000000}])
    with pytest.raises(ChangeLogRefused, match=r"commit timestamp at is bigint, and whether it counts seconds"):
        read_dms_landing(spark, source(tmp_path, "id bigint", cdc_timestamp="at"), "glue_catalog")


def test_a_column_of_dms_that_no_parameter_names_is_refused_with_the_parameters(spark: Any, claims: Path) -> None:
    with pytest.raises(SchemaMismatch, match=r"column ts \(string\) is in .*(?s:.)*\(cordata\.cdc_timestamp, cordata"):
        read_dms_landing(spark, source(claims), "glue_catalog")


def test_a_sequence_that_became_wider_still_counts(spark: Any, tmp_path: Path) -> None:
    land(tmp_path, SECOND, [{"Op": "U", "seq": 9, "id": 1, "name": "old"}], {"seq": "int32"})
    land(tmp_path, FIRST, [{"Op": "U", "seq": 2**40, "id": 1, "name": "new"}], {"seq": "int64"})
    assert rows(spark, source(tmp_path, cdc_sequence="seq")) == [(1, "new")]


def test_reported_dms_5_before_images_take_away_the_row_that_moved(spark: Any, tmp_path: Path) -> None:
    log = [("I", 1, 1, None, None), ("U", 1, 1, 1, 1), ("U", 1, 77, 1, 1)]
    columns = ("Op", "id", "product_id", "BI_id", "bi_product_id")
    land(tmp_path, FIRST, [dict(zip(columns, row, strict=True)) for row in log])
    pinned = "id bigint, product_id bigint"
    told = {"primary_keys": "id,product_id", "cdc_before_prefix": "BI_"}
    read = read_dms_landing(spark, source(tmp_path, pinned, **told), "glue_catalog")
    assert [tuple(row) for row in read.frame.collect()] == [(1, 77)]
    assert read.warnings() == ()


def test_reported_dms_5_an_update_of_a_row_that_never_came_is_a_warning_or_an_error(spark: Any, tmp_path: Path) -> None:
    from pipeline_runtime.engine.spark_error import failures

    log = [("I", 1, "a"), ("U", 1, "b"), ("U", 77, "b")]
    land(tmp_path, FIRST, [{"Op": op, "id": id_, "name": name} for op, id_, name in log])
    read = read_dms_landing(spark, source(tmp_path), "glue_catalog")
    assert sorted(tuple(row) for row in read.frame.collect()) == [(1, "b"), (77, "b")]
    (warning,) = read.warnings()
    assert warning.startswith("policy_raw.claims: 1 updates are of keys that no earlier row has left. Primary keys")
    assert "cordata.cdc_before_prefix" in warning
    with pytest.raises(failures(), match=r"policy_raw\.claims: 20240102-000000000\.parquet row 2: an update of a key"):
        rows(spark, source(tmp_path, cdc_strict="true"))


def test_pinned_types_are_those_of_the_result(spark: Any, tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    amounts = pa.array([Decimal("1.10")], pa.decimal128(10, 2))
    pq.write_table(pa.table({"Op": ["I"], "id": [1], "amount": amounts}), tmp_path / FIRST)
    read = read_dms_landing(spark, source(tmp_path, "amount decimal(12,4), id bigint"), "glue_catalog")
    assert read.frame.dtypes == [("amount", "decimal(12,4)"), ("id", "bigint")]


def test_a_file_that_is_no_parquet_is_refused_by_name(spark: Any, claims: Path) -> None:
    (claims / "LOAD00000002.csv").write_text("I,3,c\n")
    with pytest.raises(SchemaMismatch, match=r"policy_raw\.claims: .*LOAD00000002\.csv"):
        read_dms_landing(spark, source(claims, cdc_timestamp="ts"), "glue_catalog")


def test_a_table_without_primary_keys_is_refused_before_its_files_are_looked_at(spark: Any, tmp_path: Path) -> None:
    with pytest.raises(CatalogError, match=r"names claim, which is no column of the table"):
        read_dms_landing(spark, source(tmp_path / "nothing", primary_keys="claim"), "glue_catalog")
