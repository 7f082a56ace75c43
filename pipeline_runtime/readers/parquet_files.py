"""Parquet files of mixed origin as one frame with the pinned columns.

The files are fixed when they are listed: what arrives later waits for the next run. They are read by groups whose
columns have the same physical types, each with exactly these types, and cast up afterwards: Spark itself converts
nothing while it reads. A group is one plain scan, so only the columns that are used leave the files and filters
reach them; a filter on a partition column reads only that partition's files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Final, Literal

from pipeline_runtime.engine.catalogs import quoted
from pipeline_runtime.engine.spark_error import failures, short_message
from pipeline_runtime.errors import SchemaMismatch
from pipeline_runtime.readers.parquet_fit import check_files, read_types
from pipeline_runtime.readers.parquet_footers import FileGroup, read_footers
from pipeline_runtime.readers.parquet_listing import ParquetFile
from pipeline_runtime.readers.parquet_partitions import (
    FOLDER,
    folder_of_row,
    literally,
    told_by_folders,
    values_by_folder,
    values_from_folders,
)
from pipeline_runtime.schema.columns import Column, Schema
from pipeline_runtime.schema.types import to_spark

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame, SparkSession

    #: What can be told of the file that a row came from.
    FileFact = Literal["file_path", "file_name", "row_index"]

__all__ = ["FILE_FACTS", "read_parquet"]

#: Their types. `row_index` counts a file's rows from 0, in the order in which they were written.
FILE_FACTS: Final[Mapping[FileFact, str]] = {"file_path": "string", "file_name": "string", "row_index": "bigint"}


def read_parquet(
    spark: SparkSession,
    files: Sequence[ParquetFile],
    pinned: Schema,
    table: str,
    *,
    partition_columns: Sequence[str] = (),
    extra_columns: Mapping[str, FileFact] | None = None,
    on_unpinned: Literal["error", "ignore"] = "error",
    groups: Sequence[FileGroup] | None = None,
) -> DataFrame:
    """The pinned columns in pinned order, spelling and type, then the extra columns; an empty frame for no files.

    `partition_columns` are the pinned columns that come from the files' `values`; a column of that name in a file
    is not looked at. `extra_columns` names further columns, each a fact about the row's file. A pinned column that
    a file does not have is NULL in its rows, unless the pin says not null. `groups` are the files' footers, where
    the caller has read them. `table` names the table in errors. Nothing is read yet but footers; the frame is lazy.

    Raises SchemaMismatch with every difference, naming column, file and both types: a type that the pinned one
    does not hold exactly, a column that is missing and pinned not null, and, where `on_unpinned` is `error`, a
    column that the pin does not have.
    """
    partitions = frozenset(name.casefold() for name in partition_columns)
    held = [column for column in pinned if column.name.casefold() not in partitions]
    footers = read_footers(spark, files, table) if groups is None else groups
    check_files(footers, held, table, allowed=partitions, refuse_unpinned=on_unpinned == "error")
    facts = dict(extra_columns or {})
    parts = [
        _scan(spark, scan, held, partition_columns, facts, table).select(
            *(_as_pinned(column, types) for column in pinned), *(quoted(name) for name in facts)
        )
        for scan, types in _scans(footers, held, partition_columns)
    ]
    if not parts:
        return _empty(spark, pinned, facts)
    return reduce(lambda one, other: one.union(other), parts)


@dataclass(frozen=True)
class _Scan:
    """Files that are read as one: with `types` (DDL, those of the columns held in files, in order).

    `plain` are files whose folders tell their partition's values; the others' values only the catalog knows.
    """

    types: tuple[str, ...]
    plain: bool
    files: tuple[ParquetFile, ...]


def _scans(
    groups: Sequence[FileGroup], held: Sequence[Column], partition_columns: Sequence[str]
) -> Iterator[tuple[_Scan, Mapping[str, str]]]:
    """The scans, each with the type of each of its columns by case-folded name. Groups that differ only in what is
    not read are one."""
    alike: dict[tuple[tuple[str, ...], bool], list[ParquetFile]] = {}
    for group in groups:
        types = read_types(group.columns, held)
        for file in group.files:
            alike.setdefault((types, told_by_folders(file, partition_columns)), []).append(file)
    for (types, plain), files in alike.items():
        named = {column.name.casefold(): type_ for column, type_ in zip(held, types, strict=True)}
        yield _Scan(types, plain, tuple(files)), named | {name.casefold(): "string" for name in partition_columns}


def _scan(
    spark: SparkSession,
    scan: _Scan,
    held: Sequence[Column],
    partition_columns: Sequence[str],
    facts: Mapping[str, FileFact],
    table: str,
) -> DataFrame:
    """The files' columns with their own types, the partition columns as text, and the facts."""
    from pyspark.sql import functions as F  # noqa: N812
    from pyspark.sql.types import StructType

    ddl = ", ".join(f"{quoted(column.name)} {type_}" for column, type_ in zip(held, scan.types, strict=True))
    told = [F.col(f"_metadata.{fact}").alias(name) for name, fact in facts.items()]
    try:
        frame = (
            spark.read.schema(ddl or StructType([]))
            # Partitions are ours to tell: Spark would take any `key=value` folder for one, and guess its type.
            .option("recursiveFileLookup", "true")
            .parquet(*(literally(file.path) for file in scan.files))
        )
        if scan.plain:
            return frame.select("*", *values_from_folders(partition_columns), *told)
        values = values_by_folder(spark, scan.files, partition_columns)
        return frame.select("*", folder_of_row(), *told).join(F.broadcast(values), FOLDER)
    except failures() as error:
        raise SchemaMismatch(f"{table}: its files cannot be read: {short_message(error)}") from error


def _as_pinned(column: Column, types: Mapping[str, str]) -> SparkColumn:
    from pyspark.sql import functions as F  # noqa: N812

    found, wanted = F.col(quoted(column.name)), to_spark(column.type)
    # Cast only what differs: a filter on a column that is cast does not reach the files' statistics.
    return (found if types[column.name.casefold()] == wanted else found.cast(wanted)).alias(column.name)


def _empty(spark: SparkSession, pinned: Schema, facts: Mapping[str, FileFact]) -> DataFrame:
    from pyspark.sql import functions as F  # noqa: N812

    typed = [(column.name, to_spark(column.type)) for column in pinned]
    typed += [(name, FILE_FACTS[fact]) for name, fact in facts.items()]
    return spark.range(0).select([F.lit(None).cast(type_).alias(name) for name, type_ in typed])
