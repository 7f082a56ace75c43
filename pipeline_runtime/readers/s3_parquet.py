"""Parquet files under a table's location, whether or not their partitions are registered."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pipeline_runtime.catalog.partitions import value_problem
from pipeline_runtime.catalog.table import PinnedSource
from pipeline_runtime.errors import SchemaMismatch
from pipeline_runtime.readers.parquet_files import read_parquet
from pipeline_runtime.readers.parquet_listing import ParquetFile, folder_values, list_files
from pipeline_runtime.schema.enforce import enforce

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["read_s3_parquet"]


def read_s3_parquet(spark: SparkSession, source: PinnedSource, _spark_catalog: str) -> DataFrame:
    """The pinned columns of all files below the table's location; `key=value` folders give the partition columns.

    For landing zones whose producers register a table and then only add files. Raises CatalogError where the
    location cannot be listed, SchemaMismatch where a file fits neither the pin nor the partition columns.
    """
    table = source.table
    fqn = table.identity.fqn
    files = [
        _with_values(file, table.partition_columns, source, fqn) for file in list_files(spark, table.location, fqn)
    ]
    return enforce(
        read_parquet(spark, files, source.pinned, fqn, partition_columns=table.partition_columns), source.pinned, fqn
    )


def _with_values(file: ParquetFile, keys: tuple[str, ...], source: PinnedSource, fqn: str) -> ParquetFile:
    values = folder_values(file, keys, fqn)
    if problem := value_problem(values, keys, source.pinned):
        raise SchemaMismatch(f"{fqn}: {file.path} lies in a folder {problem}. Move it, or take it out of the prefix.")
    return replace(file, values=values)
