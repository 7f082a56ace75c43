"""Parquet tables of the catalog, from GetTable to rows, on the stand-in for S3."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pytest
from parquet_samples import parquet_bytes

from pipeline_runtime.catalog.glue import describe_table
from pipeline_runtime.catalog.table import PinnedSource
from pipeline_runtime.errors import CatalogError, SchemaMismatch
from pipeline_runtime.readers import READERS
from pipeline_runtime.readers.parquet_source import prepared

pytestmark = pytest.mark.spark


class Landing:
    """A bucket, and the table `t` on its prefix `t/`."""

    def __init__(self, aws: Any, spark: Any) -> None:
        self.spark, self.s3, self.glue, self.region = spark, aws.client("s3"), aws.client("glue"), aws.region
        self.name = f"landing-{uuid.uuid4().hex[:8]}"
        self.s3.create_bucket(Bucket=self.name, CreateBucketConfiguration={"LocationConstraint": aws.region})
        self.glue.create_database(DatabaseInput={"Name": self.name})

    def table(self, columns: Mapping[str, str], keys: Mapping[str, str] | None = None) -> None:
        self.glue.create_table(
            DatabaseName=self.name,
            TableInput={
                "Name": "t",
                "StorageDescriptor": {
                    "Columns": [{"Name": name, "Type": type_} for name, type_ in columns.items()],
                    "Location": f"s3://{self.name}/t/",
                },
                "PartitionKeys": [{"Name": name, "Type": type_} for name, type_ in (keys or {}).items()],
            },
        )

    def put(self, key: str, columns: dict[str, Any]) -> None:
        self.s3.put_object(Bucket=self.name, Key=key, Body=parquet_bytes(columns))

    def register(self, value: str, prefix: str) -> None:
        self.glue.create_partition(
            DatabaseName=self.name,
            TableName="t",
            PartitionInput={
                "Values": [value],
                "StorageDescriptor": {"Location": f"s3://{self.name}/{prefix}"},
            },
        )

    def read(self, kind: str) -> Any:
        table = describe_table(self.glue, self.s3, database=self.name, table="t", region=self.region)
        source = prepared(PinnedSource(table, table.schema, table.version), kind, self.glue)
        return READERS[kind](self.spark, source, "glue_catalog")

    def rows(self, kind: str) -> list[tuple[Any, ...]]:
        return sorted(tuple(row) for row in self.read(kind).collect())


@pytest.fixture
def landing(aws: Any, spark: Any) -> Landing:
    return Landing(aws, spark)


def test_a_glue_table_of_parquet_is_its_registered_partitions_and_nothing_else(landing: Landing) -> None:
    landing.table({"id": "bigint"}, {"dt": "string"})
    landing.put("t/dt=01/a.parquet", {"id": pa.array([1], pa.int32())})
    landing.put("t/dt=02/a.parquet", {"id": [2]})
    landing.put("elsewhere/x/a.parquet", {"id": [3]})
    landing.register("01", "t/dt=01/")
    landing.register("03", "elsewhere/x")
    landing.register("04", "t/dt=04/")  # registered before its files came
    assert landing.rows("glue_table") == [(1, "01"), (3, "03")]


def test_s3_parquet_is_all_files_below_the_location_registered_or_not(landing: Landing) -> None:
    landing.table({"id": "bigint"}, {"dt": "string"})
    landing.put("t/dt=01/a.parquet", {"id": [1]})
    landing.put("t/dt=02/hour=3/a.parquet", {"id": pa.array([2], pa.int32())})
    landing.put("t/_temporary/dt=03/a.parquet", {"id": [3]})
    landing.s3.put_object(Bucket=landing.name, Key="t/dt=04/", Body=b"")
    landing.register("01", "t/dt=01/")
    assert landing.rows("s3_parquet") == [(1, "01"), (2, "02")]


def test_reported_cat_8_a_partition_column_is_read_once_with_the_type_of_its_key(landing: Landing) -> None:
    landing.table({"id": "bigint"}, {"dt": "int"})
    landing.put("t/dt=007/a.parquet", {"id": [1], "dt": ["a column of the file's own"]})
    landing.register("007", "t/dt=007")
    for kind in ("glue_table", "s3_parquet"):
        frame = landing.read(kind)
        assert frame.dtypes == [("id", "bigint"), ("dt", "int")]
        assert [tuple(row) for row in frame.collect()] == [(1, 7)]


def test_an_unpartitioned_table_is_the_files_below_its_location(landing: Landing) -> None:
    landing.table({"id": "bigint"})
    landing.put("t/a.parquet", {"id": [1]})
    landing.put("t/x=1/b.parquet", {"id": [2]})
    landing.put("tea/c.parquet", {"id": [3]})
    for kind in ("glue_table", "s3_parquet"):
        assert landing.rows(kind) == [(1,), (2,)]


def test_a_table_without_files_or_partitions_is_an_empty_frame(landing: Landing) -> None:
    landing.table({"id": "bigint"}, {"dt": "date"})
    for kind in ("glue_table", "s3_parquet"):
        frame = landing.read(kind)
        assert frame.dtypes == [("id", "bigint"), ("dt", "date")]
        assert frame.count() == 0


def test_a_column_in_a_file_that_the_catalog_does_not_know_is_an_error_for_both_kinds(landing: Landing) -> None:
    landing.table({"id": "bigint"})
    landing.put("t/a.parquet", {"id": [1], "mcc": ["5411"]})
    for kind in ("glue_table", "s3_parquet"):
        with pytest.raises(
            SchemaMismatch, match=rf"column mcc \(string\) is in s3://{landing.name}/t/a.parquet and not"
        ):
            landing.read(kind)


def test_a_folder_whose_value_is_not_of_its_keys_type_is_an_error(landing: Landing) -> None:
    landing.table({"id": "bigint"}, {"dt": "date"})
    landing.put("t/dt=today/a.parquet", {"id": [1]})
    with pytest.raises(SchemaMismatch, match="lies in a folder dt=today, and dt is date"):
        landing.read("s3_parquet")


def test_what_the_executor_published_is_not_read_by_its_folders(landing: Landing) -> None:
    landing.table({"id": "bigint"}, {"dt": "string"})
    landing.put("t/_runs/7/dt=01/a.parquet", {"id": [1]})
    landing.put("t/_runs/8/dt=01/a.parquet", {"id": [2]})
    landing.register("01", "t/_runs/8/dt=01")
    assert landing.rows("glue_table") == [(2, "01")]
    with pytest.raises(CatalogError, match=r"was published by this executor: .* Read it with kind glue_table"):
        landing.read("s3_parquet")


def test_a_bucket_that_is_not_there_is_an_error_rather_than_an_empty_table(landing: Landing) -> None:
    landing.table({"id": "bigint"})
    landing.s3.delete_bucket(Bucket=landing.name)
    with pytest.raises(CatalogError, match=rf"cannot list s3://{landing.name}/t"):
        landing.read("glue_table")
