"""The data files under a location, as the engine's own file system lists them.

Through Hadoop rather than boto3, so that what is listed is what Spark can read: with the same credentials (on
Glue, Lake Formation may vend them to the file system only), locally as on Glue.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from pipeline_runtime.catalog.locations import RUNS
from pipeline_runtime.catalog.partitions import DEFAULT_PARTITION
from pipeline_runtime.catalog.table import Partition
from pipeline_runtime.engine.spark_error import failures, short_message
from pipeline_runtime.errors import CatalogError, SchemaMismatch

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["ParquetFile", "folder_values", "is_hidden", "list_files", "list_partitions", "list_registered"]

#: Listings at a time: each is a request or two that waits for S3.
_LISTINGS = 16
_ESCAPED = re.compile(r"%([0-9A-Fa-f]{2})")


@dataclass(frozen=True)
class ParquetFile:
    """One data file: its path as the file system spells it, and its length in bytes.

    `relative` is the path below the location that was listed. `values` are those of the file's partition, in the
    order of the table's partition columns, None for NULL; empty where the table has none.
    """

    path: str
    size: int
    relative: str
    values: tuple[str | None, ...] = ()

    @property
    def folder(self) -> str:
        """The path of the folder that holds the file, without a slash at its end."""
        return self.path.rpartition("/")[0]


def list_files(spark: SparkSession, location: str, table: str) -> tuple[ParquetFile, ...]:
    """The data files anywhere below `location`, by path; none where nothing is there.

    Left out is what every engine leaves out: names that start with `_` (`_SUCCESS`, `_temporary/…`) or a dot
    (`.part.crc`), and empty objects, which stand for folders. Raises CatalogError, naming `table`, where the
    location cannot be listed, or holds files that the executor published: those count by their registration.
    """
    found = _listed(spark, location, table)
    if any(file.relative.startswith(f"{RUNS}/") for file in found):
        raise CatalogError(
            f"{table}: {location} was published by this executor: which of its files are the table is registered in "
            "the catalog, not told by their folders. Read it with kind glue_table."
        )
    return _data(found)


def list_registered(spark: SparkSession, location: str, table: str) -> tuple[ParquetFile, ...]:
    """The data files below a location that the catalog names as the table's or a partition's. As `list_files`."""
    return _data(_listed(spark, location, table))


def list_partitions(spark: SparkSession, partitions: Sequence[Partition], table: str) -> tuple[ParquetFile, ...]:
    """The data files of registered partitions, each with its partition's values. As `list_registered`."""
    if not partitions:
        return ()
    with ThreadPoolExecutor(min(_LISTINGS, len(partitions))) as pool:
        listings = list(pool.map(partial(_of_partition, spark, table), partitions))
    return tuple(file for files in listings for file in files)


def folder_values(file: ParquetFile, keys: Iterable[str], table: str) -> tuple[str | None, ...]:
    """The values that the file's `key=value` folders give the keys, as text; None for NULL.

    Raises SchemaMismatch where the file lies in no folder of a key: it belongs to no partition.
    """
    named = {key.casefold(): value for key, value in _folders(file)}
    missing = [key for key in keys if key.casefold() not in named]
    if missing:
        raise SchemaMismatch(
            f"{table}: {file.path} lies in no folder {missing[0]}=…, so it has no value for the partition column "
            f"{missing[0]}. Move it into its partition's folder, or read the registered partitions (glue_table)."
        )
    return tuple(_value(named[key.casefold()]) for key in keys)


def is_hidden(file: ParquetFile) -> bool:
    """Whether some part of the path below the listed location marks the file as no data, as it does for Spark."""
    return any(
        part.startswith(".") or (part.startswith("_") and "=" not in part) or part.endswith("._COPYING_")
        for part in file.relative.split("/")
    )


def _folders(file: ParquetFile) -> Iterator[tuple[str, str]]:
    for part in file.relative.split("/")[:-1]:
        key, equals, value = part.partition("=")
        if equals:
            yield key, value


def _value(text: str) -> str | None:
    """A folder's value as Hive means it: special characters are escaped as %XX."""
    return None if text == DEFAULT_PARTITION else _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text)


def _data(found: Iterable[ParquetFile]) -> tuple[ParquetFile, ...]:
    return tuple(sorted((file for file in found if not is_hidden(file)), key=lambda file: file.path))


def _of_partition(spark: SparkSession, table: str, partition: Partition) -> list[ParquetFile]:
    return [replace(file, values=partition.values) for file in list_registered(spark, partition.location, table)]


def _listed(spark: SparkSession, location: str, table: str) -> list[ParquetFile]:
    """Every file below the location with something in it, hidden ones included."""
    jvm: Any = spark._jvm
    try:
        path = jvm.org.apache.hadoop.fs.Path(location)
        file_system = path.getFileSystem(spark.sparkContext._jsc.hadoopConfiguration())
        root = file_system.makeQualified(path).toString().rstrip("/")
        if not file_system.exists(path):
            return []
        found, statuses = [], file_system.listFiles(path, True)
        while statuses.hasNext():
            status = statuses.next()
            name, size = status.getPath().toString(), status.getLen()
            if size:
                found.append(ParquetFile(name, size, name[len(root) + 1 :]))
    except failures() as error:
        raise CatalogError(f"{table}: cannot list {location}: {short_message(error)}") from error
    return found
