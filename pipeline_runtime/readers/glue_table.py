"""A table in the Glue Data Catalog, read as its pin was checked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline_runtime.catalog.table import PinnedSource
from pipeline_runtime.engine.catalogs import quoted
from pipeline_runtime.engine.spark_4 import table_at
from pipeline_runtime.engine.spark_error import failures, short_message
from pipeline_runtime.errors import CatalogError
from pipeline_runtime.readers.glue_parquet import read_glue_parquet
from pipeline_runtime.schema.enforce import enforce

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["read_glue_table"]


def read_glue_table(spark: SparkSession, source: PinnedSource, spark_catalog: str) -> DataFrame:
    """The pinned columns of an Iceberg table, at the snapshot that was current when the pin was checked, or of a
    table of parquet files as it is registered.

    What was checked is what is read: rows that arrive between the gate and the read wait for the next run.
    No row is read yet; the frame is lazy.

    Raises CatalogError where Spark cannot load the table or list its files, SchemaMismatch where its columns do
    not fit the pin.
    """
    if not source.table.is_iceberg:
        return read_glue_parquet(spark, source, spark_catalog)
    return _read_iceberg(spark, source, spark_catalog)


def _read_iceberg(spark: SparkSession, source: PinnedSource, spark_catalog: str) -> DataFrame:
    table = source.table
    fqn = table.identity.fqn
    name = quoted(spark_catalog, table.identity.database, table.identity.table)
    try:
        # The table's current columns are the ones that the gate compared, not those of the snapshot's own time.
        frame = table_at(spark, name, table.current_snapshot)
    except failures() as error:
        raise CatalogError(
            f"{fqn}: the Glue catalog holds it, and Spark cannot load it through {spark_catalog}: "
            f"{short_message(error)}"
        ) from error
    return enforce(frame, source.pinned, fqn)
