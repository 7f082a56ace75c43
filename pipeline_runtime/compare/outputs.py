"""An output as it is compared: a table in the catalog, perhaps at a snapshot, or a folder of parquet files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import unquote

from pipeline_runtime.engine.catalogs import quoted
from pipeline_runtime.engine.spark_4 import reader_at
from pipeline_runtime.engine.spark_error import failures, short_message
from pipeline_runtime.errors import UsageError
from pipeline_runtime.schema.columns import Schema
from pipeline_runtime.schema.enforce import schema_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from pipeline_runtime.catalog.table import PinnedSource

__all__ = ["Output", "TableAt", "folder_output", "table_output"]

_INFERENCE = "spark.sql.sources.partitionColumnTypeInference.enabled"


@dataclass(frozen=True)
class TableAt:
    """A table in the catalog, the Spark catalog that holds it, and the snapshot meant, None for the current one."""

    source: PinnedSource
    spark_catalog: str
    snapshot_id: int | None

    @property
    def snapshot(self) -> int | None:
        """Iceberg: the snapshot that is compared; None for a table of parquet files, or one without a snapshot."""
        return self.source.table.current_snapshot if self.snapshot_id is None else self.snapshot_id


@dataclass(frozen=True)
class Output:
    """`partitions` are rows by partition, spelled `<column>=<value>/…`; `files` the partition of each file, by its
    address. An output that is not partitioned has one partition, with an empty name.
    """

    frame: DataFrame
    schema: Schema
    partitioning: tuple[str, ...]
    partitions: Mapping[str, int]
    files: Mapping[str, str]


def table_output(spark: SparkSession, at: TableAt) -> Output:
    """Raises UsageError where Spark cannot read the table at that snapshot, CatalogError, SchemaMismatch."""
    if at.source.table.is_iceberg:
        with _unreadable_as_usage_error(_title(at)):
            return _iceberg(spark, at)
    from pipeline_runtime.readers.glue_table import read_glue_table

    frame = read_glue_table(spark, at.source, at.spark_catalog)
    with _unreadable_as_usage_error(_title(at)):
        return _of_files(frame, at.source.table.partition_columns)


def folder_output(spark: SparkSession, folder: str) -> Output:
    """The files below a folder, `<column>=<value>` in their paths as text columns. Raises UsageError."""
    before = spark.conf.get(_INFERENCE)
    try:
        # A partition's value is text in a path: `007` is not `7`.
        spark.conf.set(_INFERENCE, "false")
        with _unreadable_as_usage_error(folder):
            frame = spark.read.option("mergeSchema", "true").parquet(folder)
            found = {name for file in frame.inputFiles() for name, _ in _pairs(file)}
            return _of_files(frame, tuple(name for name in frame.columns if name in found))
    finally:
        spark.conf.set(_INFERENCE, before or "true")


def _iceberg(spark: SparkSession, at: TableAt) -> Output:
    from pyspark.sql import functions as F  # noqa: N812

    table = at.source.table
    name = quoted(at.spark_catalog, table.identity.database, table.identity.table)
    spark.sql(f"REFRESH TABLE {name}")
    # Unlike the read option, this comes with the columns of the snapshot's own time.
    snapshot = "" if at.snapshot_id is None else f" VERSION AS OF {at.snapshot_id}"
    frame = spark.sql(f"SELECT * FROM {name}{snapshot}")  # noqa: S608 - quoted names and a number
    partitioning = (*table.partition_columns, *table.hidden_partitions)
    read = spark.read if at.snapshot is None else reader_at(spark, at.snapshot)
    listed = read.table(f"{name}.files").where("content = 0")
    if partitioning:
        fields = listed.select("partition.*").columns
        pieces = [
            F.concat(F.lit(f"{field}="), F.coalesce(F.col(f"partition.{quoted(field)}").cast("string"), F.lit("NULL")))
            for field in fields
        ]
        listed = listed.withColumn("where", F.concat_ws("/", *pieces))
    else:
        listed = listed.withColumn("where", F.lit(""))
    rows: dict[str, int] = {}
    files: dict[str, str] = {}
    for found in listed.select("file_path", "where", "record_count").collect():
        files[found["file_path"]] = found["where"]
        rows[found["where"]] = rows.get(found["where"], 0) + found["record_count"]
    return Output(frame, schema_of(frame), partitioning, rows, files)


def _of_files(frame: DataFrame, partitioning: tuple[str, ...]) -> Output:
    from pyspark.sql import functions as F  # noqa: N812

    values = [F.col(quoted(name)).cast("string").alias(name) for name in partitioning]
    counted = frame.groupBy(*values).agg(F.count(F.lit(1)).alias("rows of it")).collect()
    rows = {
        "/".join(f"{name}={'NULL' if row[name] is None else row[name]}" for name in partitioning): row["rows of it"]
        for row in counted
    }
    files = {file: "/".join(f"{name}={value}" for name, value in _pairs(file)) for file in frame.inputFiles()}
    return Output(frame, schema_of(frame), partitioning, rows, files)


def _pairs(file: str) -> Iterator[tuple[str, str]]:
    """The `<column>=<value>` folders of an address."""
    for folder in file.split("/")[:-1]:
        name, equals, value = folder.partition("=")
        if equals and name:
            yield unquote(name), unquote(value)


def _title(at: TableAt) -> str:
    return at.source.table.identity.fqn + ("" if at.snapshot_id is None else f"@{at.snapshot_id}")


@contextmanager
def _unreadable_as_usage_error(name: str) -> Iterator[None]:
    try:
        yield
    except failures() as error:
        raise UsageError(f"{name} cannot be read: {short_message(error)}") from error
