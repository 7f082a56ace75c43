"""A Hive-style table of parquet files in the Glue Data Catalog: what is registered is the table (decision D12)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline_runtime.catalog.table import PinnedSource
from pipeline_runtime.readers.parquet_files import read_parquet
from pipeline_runtime.readers.parquet_listing import list_partitions, list_registered
from pipeline_runtime.schema.enforce import enforce

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["read_glue_parquet"]


def read_glue_parquet(spark: SparkSession, source: PinnedSource, _spark_catalog: str) -> DataFrame:
    """The pinned columns of the files in the registered partitions; without partition keys, in the table's location.

    A folder that no partition names is not part of the table. Raises CatalogError where a location cannot be
    listed, SchemaMismatch where the files do not fit the pin.
    """
    table = source.table
    fqn = table.identity.fqn
    if table.partition_columns:
        files = list_partitions(spark, source.partitions, fqn)
    else:
        files = list_registered(spark, table.location, fqn)
    return enforce(
        read_parquet(spark, files, source.pinned, fqn, partition_columns=table.partition_columns), source.pinned, fqn
    )
