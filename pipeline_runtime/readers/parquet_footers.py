"""What is physically in parquet files: the schema in each file's own footer.

Spark takes one file's schema for all, and reads a file that differs wrongly, or fails in the middle of the job:
a wall clock is read as an instant without a word. So every footer is read before the first row. The JVM does it,
32 files at a time on the driver, through the file system that Spark reads with: two or three requests a file, and
nothing is kept of a footer but its columns. Spark's own distributed merge of schemas is no substitute: it names no
file, and hides a difference in decimal precision. Python on the executors is none either: it has other credentials.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pipeline_runtime.engine.spark_error import failures, short_message
from pipeline_runtime.errors import SchemaMismatch
from pipeline_runtime.readers.parquet_listing import ParquetFile
from pipeline_runtime.schema.types import from_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["FileGroup", "PhysicalColumn", "read_footers"]

#: Files read at a time, and files whose footers the JVM holds at a time.
_PARALLEL, _BATCH = 32, 512


@dataclass(frozen=True)
class PhysicalColumn:
    """A column as a file has it.

    `type` is what Spark reads it as, in canonical spelling; None where Spark does not read it. `parquet` is the
    file's own type, such as `int64 (TIMESTAMP(NANOS,true))`.
    """

    name: str
    type: str | None
    parquet: str


@dataclass(frozen=True)
class FileGroup:
    """Files with the same columns."""

    columns: tuple[PhysicalColumn, ...]
    files: tuple[ParquetFile, ...]


def read_footers(spark: SparkSession, files: Sequence[ParquetFile], table: str) -> tuple[FileGroup, ...]:
    """The files by their physical columns, the groups in the order of their first files.

    No Spark job. Raises SchemaMismatch, naming `table` and the file, for one that is not parquet or is damaged.
    """
    groups: dict[str, tuple[Any, list[ParquetFile]]] = {}
    try:
        for start in range(0, len(files), _BATCH):
            batch = files[start : start + _BATCH]
            for file, message in zip(batch, _messages(spark, batch), strict=True):
                # The first line is the schema's own name, which differs from writer to writer.
                key = message.toString().partition("\n")[2]
                groups.setdefault(key, (message, []))[1].append(file)
    except failures() as error:
        raise SchemaMismatch(f"{table}: a file's footer cannot be read: {short_message(error)}") from error
    return tuple(FileGroup(tuple(_columns(spark, message)), tuple(files)) for message, files in groups.values())


def _messages(spark: SparkSession, files: Sequence[ParquetFile]) -> list[Any]:
    """The files' schemas, in the order of the files, as parquet-mr has them (MessageType)."""
    jvm: Any = spark._jvm
    hadoop = jvm.org.apache.hadoop
    settings = hadoop.conf.Configuration(spark.sparkContext._jsc.hadoopConfiguration())
    settings.setInt("parquet.metadata.read.parallelism", _PARALLEL)
    statuses = jvm.java.util.ArrayList()
    for file in files:
        statuses.add(hadoop.fs.FileStatus(file.size, False, 1, 0, 0, hadoop.fs.Path(file.path)))
    # True: without the row groups, which are most of a footer.
    footers = jvm.org.apache.parquet.hadoop.ParquetFileReader.readAllFootersInParallel(settings, statuses, True)
    found = {
        footer.getFile().toString(): footer.getParquetMetadata().getFileMetaData().getSchema() for footer in footers
    }
    return [found[file.path] for file in files]


def _columns(spark: SparkSession, message: Any) -> Iterator[PhysicalColumn]:
    """Each column by itself: of one that Spark cannot read, the conversion as a whole would only say its type."""
    jvm: Any = spark._jvm
    session: Any = spark._jsparkSession
    # Spark's own rules, with the session's settings for them (binaryAsString, int96AsTimestamp, nanosAsLong, …).
    rules = jvm.org.apache.spark.sql.execution.datasources.parquet.ParquetToSparkSchemaConverter(
        session.sessionState().conf()
    )
    for field in message.getFields():
        alone = jvm.java.util.ArrayList()
        alone.add(field)
        yield PhysicalColumn(
            field.getName(), _spark_type(rules, jvm.org.apache.parquet.schema.MessageType("one", alone)), _shown(field)
        )


def _spark_type(rules: Any, message: Any) -> str | None:
    try:
        converted = json.loads(rules.convert(message).json())
        return from_spark(converted["fields"][0]["type"])
    except ValueError:
        return None
    except failures():
        return None


def _shown(field: Any) -> str:
    if not field.isPrimitive():
        return "group"
    primitive, annotation = field.asPrimitiveType(), field.getLogicalTypeAnnotation()
    name = str(primitive.getPrimitiveTypeName().toString()).lower()
    return name if annotation is None else f"{name} ({annotation.toString()})"
