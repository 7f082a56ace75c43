"""Where Spark 4.1, which Glue 6.0 has, does otherwise than Spark 3.5 of Glue 5.1, and what makes both do the same.

The one place for such differences: the rest of the executor does not ask which Spark it runs on. What the versions are
made of is in `glue.engines`. Sources: Spark's SQL migration guide, and runs of the same domains on both.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from pipeline_runtime.engine.catalogs import quoted
from pipeline_runtime.errors import CatalogError

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, DataFrameReader, SparkSession

__all__ = ["AS_ON_3_5", "SQLSTATE", "STOPPED", "reader_at", "silence_query_loggers", "table_at"]

#: Settings with which 4.1 reads, binds and computes a step's SQL as 3.5 does; there they are the defaults, or unknown.
AS_ON_3_5: Mapping[str, str] = MappingProxyType(
    {
        # The same SQL would fail where it answers NULL, or overflows, on 3.5.
        "spark.sql.ansi.enabled": "false",
        # The same pattern could read a text as another date, silently; on 3.5 such a pattern fails.
        "spark.sql.legacy.timeParserPolicy": "EXCEPTION",
        # 4.1 writes bound parameters into the text before it parses it, where a parser knows how to. Iceberg's does
        # not, and drops them: every `:name` is UNBOUND_SQL_PARAMETER. So they are bound as on 3.5: in the parsed plan,
        # where no value can become SQL.
        "spark.sql.legacy.parameterSubstitution.constantsOnly": "true",
    }
)

#: The code that 4.x ends its messages with; they are for people, and the same on both without it.
SQLSTATE = re.compile(r" SQLSTATE: [0-9A-Z]{5}\b")

#: What 4.1 says to a call that comes after its context was stopped; 3.5 says so in words.
STOPPED = 'the return value of "org.apache.spark.sql.execution.SparkPlan.session()" is null'


def silence_query_loggers() -> None:
    """Keeps PySpark 4 from printing each error of a query to stderr, with the plan and two stacks of the JVM.

    The error is raised as well, and told once, in one line, by who handles it. PySpark 3.5 has no such loggers.
    """
    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        logging.getLogger(name).disabled = True


def reader_at(spark: SparkSession, snapshot: int) -> DataFrameReader:
    """Reads an Iceberg table, or a table of its metadata, at a snapshot: its rows, in columns that `table_at` explains.

    Iceberg has its own option for Spark 3.5 and refuses it on 4.1, where Spark has one.
    """
    return spark.read.option("snapshot-id" if _is_3(spark) else "versionAsOf", str(snapshot))


def table_at(spark: SparkSession, name: str, snapshot: int | None) -> DataFrame:
    """The rows of an Iceberg table at a snapshot, in the table's current columns; no row for None, as before its first.

    `name` is quoted. On 3.5 Iceberg brings the current columns by itself. On 4.1 they are those of the snapshot's own
    time, which differ where no commit has followed a change: what was added, widened or dropped since is made up for
    here. (A read without a snapshot has the current columns, but on 4.1 also the rows of commits that come later.)

    Raises CatalogError on 4.1 where a column was renamed since, for Iceberg 1.11 then looks up filters by the wrong
    name, and where one has changed within: a struct's fields, or a default.
    """
    if snapshot is None:
        return spark.table(name).where("false")  # or its first rows would be read where they come meanwhile
    frame = reader_at(spark, snapshot).table(name)
    if _is_3(spark):
        return frame
    table = frame._jdf.queryExecution().analyzed().collectLeaves().head().table().table()
    current, then = table.schema(), table.schemas().get(table.snapshot(snapshot).schemaId())
    if then is None or then.sameSchema(current):
        return frame
    return frame.select([_as_now(field, then.findField(field.fieldId()), name) for field in current.columns()])


def _as_now(now: Any, then: Any, table: str) -> Column:
    """A column of the snapshot's time as the table has it now; NULL where it is newer."""
    from pyspark.sql import functions as F  # noqa: N812

    same = then is not None and now.type().equals(then.type())
    renamed = then is not None and now.name() != then.name()
    if renamed or not (same or (now.type().isPrimitiveType() and now.initialDefault() is None)):
        how = "renamed" if renamed else "changed"
        raise CatalogError(
            f"{table.replace('`', '')}: its column {now.name()} was {how} after its last commit, and Spark 4.1 cannot "
            "read that commit by it; let its producer commit once more, be it without a row"
        )
    if same:
        return F.col(quoted(now.name()))
    return (F.lit(None) if then is None else F.col(quoted(now.name()))).cast(_spark_type(now)).alias(now.name())


def _spark_type(field: Any) -> str:
    """Iceberg's primitive type in Spark's words; the two differ in three."""
    text = str(field.type().toString())
    names = {"long": "bigint", "timestamptz": "timestamp", "timestamp": "timestamp_ntz", "uuid": "string"}
    return "binary" if text.startswith("fixed") else names.get(text, text)


def _is_3(spark: SparkSession) -> bool:
    return spark.version.startswith("3.")
