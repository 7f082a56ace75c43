"""Readers by source kind. A reader returns a frame that holds exactly the pinned columns, or raises."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from pipeline_runtime.readers.dms_landing import read_dms_landing
from pipeline_runtime.readers.glue_table import read_glue_table
from pipeline_runtime.readers.jdbc import read_jdbc
from pipeline_runtime.readers.plugins import plugin_kinds, plugin_reader, refuse_shadow
from pipeline_runtime.readers.s3_parquet import read_s3_parquet

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from pipeline_runtime.catalog.table import PinnedSource
    from pipeline_runtime.readers.reading import Reading

    #: The session, the source as its pin was checked, and the Spark catalog that holds it.
    Reader = Callable[[SparkSession, PinnedSource, str], DataFrame | Reading]

__all__ = ["READERS", "reader_for", "source_kinds"]

READERS: dict[str, Reader] = {
    "dms_landing": read_dms_landing,
    "glue_table": read_glue_table,
    "jdbc": read_jdbc,
    "s3_parquet": read_s3_parquet,
}


def source_kinds() -> frozenset[str]:
    """The kinds that a descriptor may name as its source: the built-in ones and those of installed plugins."""
    return frozenset(READERS) | plugin_kinds()


def reader_for(kind: str) -> Reader:
    """The reader of a source kind. Raises ReaderUnusable where a plugin cannot be used, or claims a built-in name."""
    if kind in READERS:
        refuse_shadow(kind)
        return READERS[kind]
    return plugin_reader(kind, source_kinds())
