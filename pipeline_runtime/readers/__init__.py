"""Readers by source kind. A reader returns a frame that holds exactly the pinned columns, or raises."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from pipeline_runtime.readers.glue_table import read_glue_table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from pipeline_runtime.catalog.table import PinnedSource

    #: The session, the source as its pin was checked, and the Spark catalog that holds it.
    Reader = Callable[[SparkSession, PinnedSource, str], DataFrame]

__all__ = ["READERS"]

READERS: dict[str, Reader] = {
    "glue_table": read_glue_table,
}
