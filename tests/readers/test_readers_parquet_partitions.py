"""The partitions that a table has registered, and the tables whose files can be read at all."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import pytest

from pipeline_runtime.catalog.glue import describe_table
from pipeline_runtime.catalog.partitions import registered_partitions, value_problem
from pipeline_runtime.catalog.table import CatalogTable, Partition, PinnedSource, TableIdentity
from pipeline_runtime.errors import CatalogError
from pipeline_runtime.readers.parquet_source import prepared
from pipeline_runtime.schema.columns import Column, Schema

_numbers = itertools.count(1)


class Catalog:
    """A database of one's own, with one table `t(id bigint)` partitioned as the test says."""

    def __init__(self, aws: Any) -> None:
        self.glue, self.s3 = aws.client("glue"), aws.client("s3")
        self.database, self.region = f"partitions_{next(_numbers)}", aws.region
        self.glue.create_database(DatabaseInput={"Name": self.database})

    def table(self, keys: dict[str, str], parameters: dict[str, str] | None = None, **storage: Any) -> CatalogTable:
        table_input = {
            "Name": "t",
            "StorageDescriptor": {"Columns": [{"Name": "id", "Type": "bigint"}], "Location": "s3://lake/t/", **storage},
            "PartitionKeys": [{"Name": name, "Type": type_} for name, type_ in keys.items()],
            "Parameters": parameters or {},
        }
        self.glue.create_table(DatabaseName=self.database, TableInput=table_input)
        return describe_table(self.glue, self.s3, database=self.database, table="t", region=self.region)

    def partition(self, *values: str, location: str) -> None:
        self.glue.create_partition(
            DatabaseName=self.database,
            TableName="t",
            PartitionInput={"Values": list(values), "StorageDescriptor": {"Location": location}},
        )


@pytest.fixture
def catalog(aws: Any) -> Catalog:
    return Catalog(aws)


def source(table: CatalogTable) -> PinnedSource:
    return PinnedSource(table, table.schema, table.version)


@pytest.mark.lengthy
def test_all_pages_of_partitions_are_read_with_their_values_as_text(catalog: Catalog) -> None:
    table = catalog.table({"dt": "string", "hour": "int"})
    for number in range(1205):
        catalog.partition("01", f"{number:04}", location=f"s3a://lake/t/dt=01/hour={number:04}/")
    found = registered_partitions(catalog.glue, table)
    assert len(found) == 1205
    assert found[7] == Partition(("01", "0007"), "s3://lake/t/dt=01/hour=0007")


def test_hives_default_partition_is_null(catalog: Catalog) -> None:
    table = catalog.table({"hour": "int"})
    catalog.partition("__HIVE_DEFAULT_PARTITION__", location="s3://lake/t/hour=__HIVE_DEFAULT_PARTITION__")
    assert registered_partitions(catalog.glue, table)[0].values == (None,)


def test_a_partition_value_that_is_not_of_its_keys_type_is_an_error_that_names_it(catalog: Catalog) -> None:
    table = catalog.table({"dt": "date"})
    catalog.partition("yesterday", location="s3://lake/t/dt=yesterday")
    with pytest.raises(CatalogError, match=r"partition \[yesterday\] is registered with dt=yesterday, and dt is date"):
        registered_partitions(catalog.glue, table)


def test_a_partition_inside_another_is_an_error_because_its_rows_would_count_twice(catalog: Catalog) -> None:
    table = catalog.table({"dt": "string"})
    catalog.partition("a", location="s3://lake/t")
    catalog.partition("b-2", location="s3://lake/t-2")
    catalog.partition("b", location="s3://lake/t/dt=b")
    with pytest.raises(CatalogError, match=r"dt=b is at s3://lake/t/dt=b, inside partition dt=a at s3://lake/t:"):
        registered_partitions(catalog.glue, table)


def test_a_partition_without_a_location_is_an_error(catalog: Catalog) -> None:
    table = catalog.table({"dt": "string"})
    catalog.partition("a", location="")
    with pytest.raises(CatalogError, match=r"partition \[a\] has no location"):
        registered_partitions(catalog.glue, table)


@pytest.mark.parametrize(
    ("type_", "good", "bad"),
    [
        ("string", ["", "01", "x/y"], []),
        ("tinyint", ["-128", "007"], ["128", "1.0", "1_0", "x", ""]),
        ("bigint", ["9223372036854775807"], ["9223372036854775808"]),
        ("decimal(4,2)", ["12.34", "-1", "012.340"], ["123.4", "1.234", ".", ""]),
        ("double", ["1e3", ".5"], ["1,5"]),
        ("date", ["2024-02-29"], ["2023-02-29", "20240229", "2024-2-9"]),
        ("timestamp", ["2024-02-29 10:00:00", "2024-02-29"], ["10:00"]),
        ("boolean", ["true"], ["1"]),
        ("binary", [], ["x"]),
    ],
)
def test_a_value_fits_its_type_only_if_nothing_of_it_is_lost(type_: str, good: list[str], bad: list[str]) -> None:
    schema = Schema((Column("k", type_),))
    assert [value for value in good if value_problem([value], ["k"], schema)] == []
    assert [value for value in bad if not value_problem([value], ["k"], schema)] == []
    assert value_problem([None], ["k"], schema) is None


# -- before the engine starts -------------------------------------------------------------------


def test_a_partitioned_parquet_table_comes_with_its_partitions(catalog: Catalog) -> None:
    table = catalog.table({"dt": "string"}, InputFormat="org.apache.hadoop.hive.ql.io.parquet.MapredParquetInputFormat")
    catalog.partition("a", location="s3://lake/t/dt=a")
    assert [each.values for each in prepared(source(table), "glue_table", catalog.glue).partitions] == [("a",)]
    # A reader that goes by folders does not ask, so that a landing zone's role needs no permission for it.
    assert prepared(source(table), "s3_parquet", catalog.glue).partitions == ()


def test_a_table_of_another_format_is_refused_before_the_engine_starts(catalog: Catalog) -> None:
    table = catalog.table({}, InputFormat="org.apache.hadoop.mapred.TextInputFormat")
    with pytest.raises(CatalogError, match=r"\.t is not parquet, the catalog says TextInputFormat"):
        prepared(source(table), "glue_table", catalog.glue)


def test_a_view_is_refused_before_the_engine_starts(catalog: Catalog) -> None:
    table = catalog.table({}, Location="")
    with pytest.raises(CatalogError, match="a view cannot be a source"):
        prepared(source(table), "glue_table", catalog.glue)


def test_computed_partitions_are_refused_rather_than_read_as_none(catalog: Catalog) -> None:
    table = catalog.table({"dt": "date"}, {"projection.enabled": "true"})
    with pytest.raises(CatalogError, match="registers none: nothing would be read"):
        prepared(source(table), "glue_table", catalog.glue)
    assert prepared(source(table), "s3_parquet", catalog.glue).partitions == ()


def test_an_iceberg_table_is_not_read_by_its_files() -> None:
    table = CatalogTable(
        TableIdentity("eu-central-1", "111122223333", "raw", "t"), 1, Schema(()), "s3://lake/t", is_iceberg=True
    )
    with pytest.raises(CatalogError, match=r"raw\.t is an Iceberg table.*Read it with kind glue_table"):
        prepared(source(table), "s3_parquet", None)  # type: ignore[arg-type]
    assert prepared(source(table), "glue_table", None) == source(replace(table))  # type: ignore[arg-type]
