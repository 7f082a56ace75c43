"""A connection to a JDBC source's database, held by the driver's JVM: its catalog, its bounds, its snapshot."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from pipeline_runtime.catalog.connections import JdbcEndpoint
from pipeline_runtime.engine.spark_error import failures, short_message
from pipeline_runtime.errors import CatalogError, TableNotFound
from pipeline_runtime.readers.jdbc_columns import SourceColumn, quoted

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["DRIVER", "Database", "Relation"]

DRIVER: Final = "org.postgresql.Driver"

_CONNECTION: Final = {"ApplicationName": "pipeline_runtime", "tcpKeepAlive": "true"}
_REPEATABLE_READ: Final = 4  # java.sql.Connection.TRANSACTION_REPEATABLE_READ

_RELATIONS = """
SELECT n.nspname, c.relname FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND lower(n.nspname) = lower(?) AND lower(c.relname) = lower(?)
ORDER BY n.nspname = ? AND c.relname = ? DESC, n.nspname, c.relname
"""
# A domain (CREATE DOMAIN) is read as what it is made of.
_COLUMNS = """
SELECT a.attname, t.typname, format_type(a.atttypid, a.atttypmod),
       CASE WHEN o.typtype = 'd' THEN o.typtypmod ELSE a.atttypmod END, e.typname
FROM pg_catalog.pg_attribute a
JOIN pg_catalog.pg_class c ON c.oid = a.attrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
JOIN pg_catalog.pg_type o ON o.oid = a.atttypid
JOIN pg_catalog.pg_type t ON t.oid = CASE WHEN o.typtype = 'd' THEN o.typbasetype ELSE o.oid END
LEFT JOIN pg_catalog.pg_type e ON e.oid = t.typelem AND t.typcategory = 'A'
WHERE n.nspname = ? AND c.relname = ? AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY a.attnum
"""


@dataclass(frozen=True)
class Relation:
    """A table or view under its names as the database spells them."""

    schema: str
    name: str

    def __str__(self) -> str:
        return f"{quoted(self.schema)}.{quoted(self.name)}"


class Database:
    """One connection with one read-only transaction: whatever it is asked, it answers from one snapshot.

    Every method raises CatalogError, in the driver's words and without secrets, where the database refuses.
    """

    def __init__(self, spark: SparkSession, endpoint: JdbcEndpoint, table: str) -> None:
        """Connects. `table` is the source in messages."""
        self._endpoint, self._table = endpoint, table
        self._connection: Any = None
        try:
            jvm: Any = spark._jvm
            # Java's DriverManager shows a caller only the drivers of the caller's class loader; Spark's
            # registry wraps ours, which came with the job's JARs.
            jvm.org.apache.spark.sql.execution.datasources.jdbc.DriverRegistry.register(DRIVER)
            properties = jvm.java.util.Properties()
            for key, value in {**_CONNECTION, **endpoint.credentials()}.items():
                properties.setProperty(key, value)
            self._connection = jvm.java.sql.DriverManager.getConnection(endpoint.url, properties)
            # The transaction may wait long for the queries that share its snapshot.
            self._execute("SET idle_in_transaction_session_timeout = 0")
            self._connection.setReadOnly(True)
            self._connection.setTransactionIsolation(_REPEATABLE_READ)
            self._connection.setAutoCommit(False)
        except failures() as error:
            self.close()
            raise self._refusal(error) from None

    def relation(self) -> Relation:
        """The endpoint's table, else the only one of that name in another case. Raises TableNotFound."""
        schema, name = self._endpoint.schema, self._endpoint.table
        found = [Relation(str(row[0]), str(row[1])) for row in self._rows(_RELATIONS, schema, name, schema, name)]
        if not found:
            raise TableNotFound(
                f"{self._table}: there is no table or view {schema}.{name} in the database "
                f"{self._endpoint.database} on {self._endpoint.host}, or its role may not use the schema"
            )
        if len(found) > 1 and found[0] != Relation(schema, name):
            names = ", ".join(map(str, found))
            raise TableNotFound(
                f"{self._table}: {schema}.{name} may be any of {names}; spell its location as one of them"
            )
        return found[0]

    def columns(self, relation: Relation) -> list[SourceColumn]:
        """The columns in their order."""
        return [
            SourceColumn(str(name), str(type_), str(declared), int(modifier or -1), element)
            for name, type_, declared, modifier, element in self._rows(_COLUMNS, relation.schema, relation.name)
        ]

    def bounds(self, query: str) -> tuple[int, int] | None:
        """The two whole numbers that a bounds query answers with; None where there is no value."""
        (least, greatest), *_ = self._rows(query)
        return None if least is None or greatest is None else (int(least), int(greatest))

    def export_snapshot(self) -> str:
        """The name under which other transactions of the same server can share this one's snapshot."""
        return str(self._rows("SELECT pg_export_snapshot()")[0][0])

    def close(self) -> None:
        """Ends the transaction, and with it the snapshot that it exported."""
        if self._connection is None:
            return
        connection, self._connection = self._connection, None
        with suppress(*failures(), OSError):  # the server, or the JVM, may have gone before
            connection.close()

    def _rows(self, query: str, *arguments: str) -> list[tuple[str | None, ...]]:
        try:
            statement = self._connection.prepareStatement(query)
            for position, argument in enumerate(arguments, start=1):
                statement.setString(position, argument)
            answer = statement.executeQuery()
            width = range(1, answer.getMetaData().getColumnCount() + 1)
            rows = []
            while answer.next():
                rows.append(tuple(answer.getString(position) for position in width))
            statement.close()
        except failures() as error:
            raise self._refusal(error) from None
        return rows

    def _execute(self, statement: str) -> None:
        self._connection.createStatement().execute(statement)

    def _refusal(self, error: Exception) -> CatalogError:
        said = self._endpoint.without_secrets(short_message(error))
        if "ClassNotFoundException" in said:
            return CatalogError(
                f"{self._table}: PostgreSQL's JDBC driver is not on Spark's class path; add the JAR of "
                "org.postgresql:postgresql to the job (--extra-jars on Glue)"
            )
        place = f"{self._endpoint.database} on {self._endpoint.host}:{self._endpoint.port}"
        return CatalogError(f"{self._table}: the database {place} cannot be read: {said}")
