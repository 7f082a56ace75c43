"""A table of a PostgreSQL database, read in parallel and as of one moment.

The queries of one read share a snapshot: the driver holds a transaction that exports it (`pg_export_snapshot`), and
every task imports it. So no row is missed or read twice while others write, and a task that is tried again reads the
same. The price is a transaction that stays open on the source for as long as the run needs the frame, as pg_dump's
does; meanwhile VACUUM keeps what is deleted. Only the server that exported a snapshot knows it: behind an endpoint
that spreads connections over several servers (Aurora's reader endpoint), name one instance, or set the table's
`cordata.jdbc_partitions` to 1. A single query is of one moment by itself; should Spark run it twice, it may answer
differently the second time.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from pipeline_runtime.catalog.connections import JdbcEndpoint, jdbc_endpoint
from pipeline_runtime.catalog.table import PinnedSource
from pipeline_runtime.engine.spark_error import failures, short_message
from pipeline_runtime.errors import CatalogError, StepFailed
from pipeline_runtime.readers.jdbc_columns import Landing, SourceColumn, land, quoted
from pipeline_runtime.readers.jdbc_database import DRIVER, Database, Relation
from pipeline_runtime.readers.jdbc_ranges import Split, bounds_query, can_split, conditions, cuts, declared_split
from pipeline_runtime.schema.enforce import enforce

if TYPE_CHECKING:
    from mypy_boto3_glue import GlueClient
    from mypy_boto3_secretsmanager import SecretsManagerClient
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["check_filters", "read_jdbc", "release_snapshot", "with_endpoint"]

#: Rows that a task holds at a time. The driver's default is all of them.
_FETCH_ROWS: Final = 5_000
#: Seconds for a first sign of life from the database, before Spark is started for it.
_PATIENCE: Final = 10
#: The ranges' column under a name of its own: the pinned one may be an expression, which no index serves.
_RANGE_COLUMN: Final = "cordata_range"

#: The transaction whose snapshot the process's read shares. A process runs one pipeline, which has one source.
_held: list[Database] = []


def with_endpoint(source: PinnedSource, glue: GlueClient, secrets: Callable[[], SecretsManagerClient]) -> PinnedSource:
    """The source with the database behind it: what of a read can fail before Spark starts.

    Raises CatalogError for a wrong Parameter, connection or secret, or where nothing answers at the database's
    place. The credentials themselves are tried by the read: only the driver speaks the database's protocol.
    """
    declared_split(source.table)
    endpoint = jdbc_endpoint(source.table, glue, secrets)
    try:
        socket.create_connection((endpoint.host.strip("[]"), endpoint.port), timeout=_PATIENCE).close()
    except OSError as error:
        raise CatalogError(
            f"{source.table.identity.fqn}: nothing answers at {endpoint.host}:{endpoint.port} "
            f"({error.strerror or error}). Is it the right host, and does the job run in a subnet, with a security "
            "group, that reaches it?"
        ) from None
    return replace(source, jdbc=endpoint)


def read_jdbc(spark: SparkSession, source: PinnedSource, _spark_catalog: str) -> DataFrame:
    """The pinned columns of a PostgreSQL table, in as many partitions as there are ranges.

    Rows are read lazily, all as of this call where there are several ranges. Filters of later steps on columns that
    arrive as they are in the database are computed there. A value that its pinned type cannot hold exactly fails the
    action that reads it. Ends the snapshot of an earlier read of this process.

    Raises CatalogError where the database cannot be asked, TableNotFound, SchemaMismatch where its columns do not fit
    the pin. No message holds a credential.
    """
    endpoint, fqn = source.jdbc, source.table.identity.fqn
    if endpoint is None:
        raise CatalogError(f"{fqn} is read as jdbc, and no database was looked up for it")
    release_snapshot()
    database = Database(spark, endpoint, fqn)
    try:
        relation = database.relation()
        columns = database.columns(relation)
        landings = land(source.pinned, columns, fqn)
        split = declared_split(source.table)
        by = _range_column(split, columns)
        ranges = _ranges(database, relation, by, split)
        query = _query(relation, landings, by)
        start = _first_statements(database.export_snapshot() if len(ranges) > 1 else None)
        frame = _frame(spark, endpoint, query, ranges, start)
    except failures() as error:
        database.close()
        raise CatalogError(f"{fqn}: Spark cannot read it: {endpoint.without_secrets(short_message(error))}") from None
    except BaseException:
        database.close()
        raise
    if len(ranges) > 1:
        _held.append(database)
    else:
        database.close()
    return enforce(frame.selectExpr(*map(_as_spark, landings)), source.pinned, fqn)


def check_filters(frame: DataFrame) -> None:
    """Raises StepFailed where the database would be asked a question that loses rows.

    Spark 3.5 pushes `NOT (a <=> b)`, which is also what `a IS DISTINCT FROM b` is to it, down as
    `NOT (a = b OR (a IS NULL AND b IS NULL))`: for a NULL in `a` that is NULL, and the row is gone.
    """
    leaves = frame._jdf.queryExecution().sparkPlan().collectLeaves()
    for at in range(leaves.size()):
        leaf = leaves.apply(at)
        if leaf.getClass().getSimpleName() != "RowDataSourceScanExec":
            continue
        filters = leaf.handledFilters().toSeq()
        for text in (filters.apply(position).toString() for position in range(filters.size())):
            if "Not(" in text and "EqualNullSafe(" in text:
                raise StepFailed(
                    f"a filter on the jdbc source compares with NOT <=> or IS DISTINCT FROM ({text}), which Spark asks "
                    "the database in a way that loses the rows with NULL. Write (a IS NULL OR a <> b)."
                )


def release_snapshot() -> None:
    """Ends the transaction that the last read holds, where it holds one; its frame cannot be computed any more."""
    while _held:
        _held.pop().close()


def _range_column(split: Split, columns: Sequence[SourceColumn]) -> SourceColumn | None:
    """The database's column of the ranges; None where it has none of that name, or of a type without ranges."""
    if split.column is None or split.ranges == 1:
        return None
    named = [column for column in columns if column.name.casefold() == split.column.casefold()]
    return next((column for column in named if can_split(column)), None)


def _ranges(database: Database, relation: Relation, by: SourceColumn | None, split: Split) -> list[str]:
    if by is None:
        return ["TRUE"]
    bounds = database.bounds(bounds_query(by, str(relation)))
    at = cuts(*bounds, split.ranges) if bounds is not None else []
    return conditions(by, quoted(_RANGE_COLUMN), at)


def _query(relation: Relation, landings: Sequence[Landing], by: SourceColumn | None) -> str:
    """A derived table; Spark selects of it what later steps need, and adds their filters and its range."""
    selected = [f"{landing.expression} AS {quoted(landing.name)}" for landing in landings]
    if by is not None:
        selected.append(f"{quoted(by.name)} AS {quoted(_RANGE_COLUMN)}")
    guards = [landing.guard for landing in landings if landing.guard is not None]
    where = f" WHERE {' AND '.join(guards)}" if guards else ""
    return f"(SELECT {', '.join(selected)} FROM {relation}{where}) AS source"


def _first_statements(snapshot: str | None) -> str:
    """What a task's transaction begins with. Its zone is that of the times in pushed-down filters."""
    shared = f"SET TRANSACTION SNAPSHOT '{snapshot}'; " if snapshot is not None else ""
    return f"SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY; {shared}SET TIME ZONE 'UTC'"


def _frame(spark: SparkSession, endpoint: JdbcEndpoint, query: str, ranges: list[str], start: str) -> DataFrame:
    properties = {
        **endpoint.credentials(),
        "driver": DRIVER,
        "fetchsize": str(_FETCH_ROWS),
        "sessionInitStatement": start,
        "pushDownPredicate": str(_jvm_is_on_utc(spark)).lower(),
        "ApplicationName": "pipeline_runtime",
        "tcpKeepAlive": "true",
    }
    return spark.read.jdbc(endpoint.url, query, predicates=ranges, properties=properties)


def _jvm_is_on_utc(spark: SparkSession) -> bool:
    """Spark spells the times in pushed-down filters in the driver JVM's zone, where some hours come twice a year."""
    zones: Any = spark._jvm.java.util.TimeZone  # type: ignore[union-attr]
    return bool(zones.getDefault().hasSameRules(zones.getTimeZone("UTC")))


def _as_spark(landing: Landing) -> str:
    name = "`" + landing.name.replace("`", "``") + "`"
    return f"{landing.spark.format(name)} AS {name}" if landing.spark is not None else name
