"""A run's files: a folder of its own inside the table's prefix, written and counted by Spark, removed through S3."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import unquote

from pipeline_runtime.catalog.answers import refusals_as
from pipeline_runtime.catalog.locations import RUNS, bucket_and_key, normal_location
from pipeline_runtime.catalog.partition_switch import Values
from pipeline_runtime.engine.catalogs import quoted
from pipeline_runtime.errors import WriteFailed
from pipeline_runtime.schema.columns import Schema
from pipeline_runtime.schema.enforce import enforce
from pipeline_runtime.schema.types import to_spark

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client
    from pyspark.sql import DataFrame, SparkSession

__all__ = [
    "WrittenFiles",
    "free_folder",
    "lies_in_run_folder",
    "no_rows",
    "read_files",
    "remove_files",
    "run_location",
    "write_files",
    "written_files",
]

#: Objects that DeleteObjects takes.
_DELETE = 1000


@dataclass(frozen=True)
class WrittenFiles:
    """The files of one partition, or of an unpartitioned table (no values): where, how many, bytes, rows."""

    values: Values
    location: str
    files: int
    size: int
    rows: int


def run_location(root: str, folder: str) -> str:
    """A run's folder inside the prefix `root` of its table."""
    return f"{root}/{RUNS}/{folder}"


def lies_in_run_folder(root: str, location: str) -> bool:
    """Whether a location is, or lies in, a run's folder of the table's prefix `root`: what a run of ours wrote."""
    inside = normal_location(location).removeprefix(f"{root}/{RUNS}/")
    return inside != normal_location(location) and not {"", ".", ".."} & set(inside.split("/"))


def free_folder(s3: S3Client, root: str, run_id: str) -> str:
    """The run id, or the run id with a number: a folder that holds nothing, since published files never change."""
    attempt = 1
    while True:
        folder = run_id if attempt == 1 else f"{run_id}.{attempt}"
        if next(_objects(s3, run_location(root, folder), hidden=True), None) is None:
            return folder
        attempt += 1


def write_files(frame: DataFrame, schema: Schema, partition_by: tuple[str, ...], location: str, table: str) -> None:
    """Writes the frame's rows below `location`, which holds nothing: `<location>/<column>=<value>/…`.

    The frame is computed once. Its columns get the names, order and types of `schema`; those of `partition_by`
    are in the path only, where NULL and the empty text are one value, as for every Hive-style table.
    """
    rows = _distributed(enforce(frame, schema, table), partition_by)
    writer = rows.write.option("mapreduce.fileoutputcommitter.marksuccessfuljobs", "false")
    (writer.partitionBy(*partition_by) if partition_by else writer).parquet(location)


def read_files(spark: SparkSession, schema: Schema, location: str) -> DataFrame:
    """The rows below a run's folder, in the table's own columns: nothing is inferred from files or paths."""
    return spark.read.schema(_ddl(schema)).parquet(location).select(*(quoted(name) for name in schema.names))


def no_rows(spark: SparkSession, schema: Schema) -> DataFrame:
    """A frame of the table's columns that holds nothing."""
    return spark.createDataFrame([], _ddl(schema))


def written_files(
    spark: SparkSession, s3: S3Client, schema: Schema, partition_by: tuple[str, ...], location: str
) -> tuple[WrittenFiles, ...]:
    """What was written below `location`, by partition: sizes as S3 has them, rows as the files' footers count them.

    Partitions without a row are left out. Raises WriteFailed where S3 and Spark do not see the same files.
    """
    sizes = dict(_objects(s3, location))
    counts = _rows_by_file(spark, schema, location) if sizes else {}
    if not counts.keys() <= sizes.keys():
        raise WriteFailed(f"{location}: S3 does not list files that were written, such as {min(counts.keys() - sizes)}")
    bucket, _ = bucket_and_key(location)
    folders: dict[str, list[str]] = {}
    for key in sorted(counts):
        folders.setdefault(key.rpartition("/")[0], []).append(key)
    found = (
        WrittenFiles(
            values=_values(f"s3://{bucket}/{folder}".removeprefix(location), partition_by),
            location=f"s3://{bucket}/{folder}",
            files=len(keys),
            size=sum(sizes[key] for key in keys),
            rows=sum(counts[key] for key in keys),
        )
        for folder, keys in folders.items()
    )
    return tuple(sorted(found, key=lambda each: each.values))


def remove_files(s3: S3Client, root: str, location: str) -> None:
    """Removes what lies below a run's folder of the table's prefix `root`, or below one of its partitions.

    Raises ValueError for any other location, whatever a record says; WriteFailed where S3 keeps some.
    """
    if not lies_in_run_folder(root, location):
        raise ValueError(f"{location} is no run's folder of {root}")
    bucket, _ = bucket_and_key(location)
    keys = [key for key, _ in _objects(s3, location, hidden=True)]
    with refusals_as(WriteFailed, f"remove files below {location}"):
        for start in range(0, len(keys), _DELETE):
            chunk = keys[start : start + _DELETE]
            answer = s3.delete_objects(Bucket=bucket, Delete={"Objects": [{"Key": k} for k in chunk], "Quiet": True})
            for error in answer.get("Errors", []):
                raise WriteFailed(
                    f"{location}: S3 keeps {error.get('Key')}: {error.get('Code')} {error.get('Message')}"
                )


def _distributed(rows: DataFrame, partition_by: tuple[str, ...]) -> DataFrame:
    """The same rows after one shuffle: a partition's together, in tasks that are neither too big nor too small."""
    spark = rows.sparkSession
    if spark.conf.get("spark.sql.adaptive.enabled") != "true":  # Spark ignores the hint then.
        return rows.repartition(*partition_by) if partition_by else rows
    columns = f"({', '.join(map(quoted, partition_by))})" if partition_by else ""
    # In SQL, since PySpark 3.5's own `hint` lets no column through.
    return spark.sql(f"SELECT /*+ REBALANCE{columns} */ * FROM {{rows}}", rows=rows)  # noqa: S608


def _rows_by_file(spark: SparkSession, schema: Schema, location: str) -> dict[str, int]:
    """Rows by key, files without a row left out. No column is read, so Spark takes the counts from the footers."""
    from pyspark.sql import functions as F  # noqa: N812

    files = spark.read.schema(_ddl(schema)).parquet(location).groupBy(F.col("_metadata.file_path").alias("file"))
    counted = files.agg(F.count(F.lit(1)).alias("rows")).collect()
    # Spark gives a URI, in which the escapes of a partition's folder are escaped once more.
    return {bucket_and_key(unquote(row["file"]))[1]: int(row["rows"]) for row in counted}


def _values(path: str, partition_by: tuple[str, ...]) -> Values:
    """`/day=2026-08-01/shop=a%2Fb` as ("2026-08-01", "a/b"); Spark escapes as Hive does: `%` and two digits."""
    pairs = dict(part.split("=", 1) for part in path.strip("/").split("/") if part)
    return tuple(unquote(pairs[name]) for name in partition_by)


def _ddl(schema: Schema) -> str:
    return ", ".join(f"{quoted(column.name)} {to_spark(column.type)}" for column in schema)


def _objects(s3: S3Client, location: str, *, hidden: bool = False) -> Iterator[tuple[str, int]]:
    """Key and size of the objects below a prefix; those that readers pass over only with `hidden`."""
    bucket, prefix = bucket_and_key(location)
    prefix = prefix.rstrip("/") + "/"
    with refusals_as(WriteFailed, f"list the files below {location}"):
        for page in s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix):
            for found in page.get("Contents", ()):
                names = found["Key"].removeprefix(prefix).split("/")
                if hidden or not any(map(_is_passed_over, names)):
                    yield found["Key"], found["Size"]


def _is_passed_over(name: str) -> bool:
    """Whether readers skip a file or folder of that name; a partition column may begin with an underscore."""
    return not name or name.startswith(".") or (name.startswith("_") and "=" not in name)
