"""The values of partition columns, for the rows of files that do not hold them.

Most files lie in folders that say their values (`…/dt=2026-08-01/…`). There the value is cut out of the file's path:
an expression on the path alone, which Spark evaluates once a file to choose the files of a filter, whatever prefix the
folders are under (this executor's own tables keep each run's partitions under that run's prefix). Other locations
were registered by hand: their values are joined by folder, and a filter on them reads every file. Spark's own partition
discovery serves neither: it wants one common root, and ignores what the catalog says.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from pipeline_runtime.catalog.partitions import DEFAULT_PARTITION
from pipeline_runtime.engine.catalogs import quoted
from pipeline_runtime.readers.parquet_listing import ParquetFile

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["FOLDER", "folder_of_row", "literally", "told_by_folders", "values_by_folder", "values_from_folders"]

#: The column by which rows meet the values of their folder.
FOLDER: Final = "__folder"

#: Characters that no escaping changes, neither Hive's nor a URI's: what stands in the path is the value.
_PLAIN = re.compile(r"[A-Za-z0-9_.-]+")
_GLOB = re.compile(r"([{}\[\]*?\\])")


def told_by_folders(file: ParquetFile, partition_columns: Sequence[str]) -> bool:
    """Whether cutting the values out of the file's path, as `values_from_folders` does, gives the file's values."""
    return all(
        _cut(file.folder + "/", key) == (DEFAULT_PARTITION if value is None else value)
        for key, value in zip(partition_columns, file.values, strict=bool(partition_columns))
    )


def values_from_folders(partition_columns: Sequence[str]) -> list[SparkColumn]:
    """The partition columns, as text, out of the path of the row's file."""
    from pyspark.sql import functions as F  # noqa: N812

    def cut(key: str) -> SparkColumn:
        behind = F.substring_index(F.col("_metadata.file_path"), f"/{key}=", -1)
        return F.nullif(F.substring_index(behind, "/", 1), F.lit(DEFAULT_PARTITION)).alias(key)

    return [cut(key) for key in partition_columns]


def values_by_folder(spark: SparkSession, files: Sequence[ParquetFile], partition_columns: Sequence[str]) -> DataFrame:
    """The partition columns, as text, by `FOLDER`: small, one row a folder."""
    jvm: Any = spark._jvm
    values = {file.folder: file.values for file in files}
    # Rows know their file's path as a URI, with its escapes.
    rows = [(jvm.org.apache.hadoop.fs.Path(folder).toUri().toString(), *known) for folder, known in values.items()]
    columns = ", ".join(f"{quoted(name)} string" for name in (FOLDER, *partition_columns))
    return spark.createDataFrame(rows, columns)


def folder_of_row() -> SparkColumn:
    """The folder of the row's file, named `FOLDER`."""
    from pyspark.sql import functions as F  # noqa: N812

    path = "_metadata.file_path"
    return F.expr(f"left({path}, length({path}) - length(substring_index({path}, '/', -1)) - 1)").alias(FOLDER)


def literally(path: str) -> str:
    """A path that Spark takes for itself where it looks for patterns."""
    return _GLOB.sub(r"\\\1", path)


def _cut(folder: str, key: str) -> str | None:
    """What lies behind the last `/key=` of the folder's path, None where that is nothing plain."""
    _, found, behind = folder.rpartition(f"/{key}=")
    text = behind.partition("/")[0]
    return text if found and _PLAIN.fullmatch(text) else None
