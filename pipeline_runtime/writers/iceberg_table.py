"""An Iceberg table as Iceberg itself sees it: snapshots, branches, partitioning. No Spark job is run here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from pipeline_runtime.engine.catalogs import quoted
from pipeline_runtime.schema.types import loosened, to_spark
from pipeline_runtime.writers.output import spark_schema

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from pipeline_runtime.schema.columns import Schema
    from pipeline_runtime.writers.plan import TargetPlan
    from pipeline_runtime.writers.staged import WriterTools

__all__ = [
    "FIRST_RUN",
    "MAIN",
    "IcebergTable",
    "PartitionField",
    "Snapshot",
    "create_table",
    "drop_columns",
    "follow_columns",
]

MAIN = "main"
#: Iceberg table property (not a Glue Parameter): the run that created the table, so that a table whose
#: first run was killed is still known as one that never held anything.
FIRST_RUN = "cordata.first_run"

_PROPERTIES = {
    "format-version": "2",
    "write.distribution-mode": "hash",  # one writer a partition, hence few files
    # Each audited publish commits several times; without these every commit's metadata file stays forever.
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "100",
}


@dataclass(frozen=True)
class Snapshot:
    """One commit. `summary` is Iceberg's own: counts as text, and what the writer added.

    `operation` is append, overwrite, delete, or replace: the same rows in other files, as a compaction makes them.
    """

    id: int
    parent_id: int | None
    committed_at: datetime
    summary: Mapping[str, str]
    operation: str

    @property
    def brings_rows(self) -> bool:
        """Whether it added rows that the table did not have."""
        return self.operation != "replace" and self.count("added-records") > 0

    def count(self, key: str) -> int:
        """A number of the summary; 0 where the commit does not mention it."""
        return int(self.summary.get(key, "0"))


@dataclass(frozen=True)
class PartitionField:
    """One field of the current partition spec: its own name, the column it comes from and how."""

    name: str
    column: str
    transform: str

    def __str__(self) -> str:
        return self.column if self.transform == "identity" else f"{self.transform}({self.column})"


class IcebergTable:
    """A handle on a table that exists; `refresh` makes it current. Engine errors come through as they are."""

    def __init__(self, spark: SparkSession, plan: TargetPlan) -> None:
        self.spark = spark
        self.catalog = plan.spark_catalog
        self.database, self.table = plan.identity.database, plan.identity.table
        self.fqn = plan.identity.fqn
        self.name = _spark_name(plan)
        # The catalog remembers tables for half a minute; another run's commits would go unseen.
        spark.sql(f"REFRESH TABLE {self.name}")
        self._java = spark._jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergTable(  # type: ignore[union-attr]
            spark._jsparkSession, self.name
        )

    def refresh(self) -> None:
        """See what others committed meanwhile."""
        self._java.refresh()

    @property
    def location(self) -> str:
        return str(self._java.location())

    @property
    def properties(self) -> dict[str, str]:
        return dict(self._java.properties())

    @property
    def branches(self) -> tuple[str, ...]:
        """The names of all branches, main among them once it has a snapshot."""
        return tuple(sorted(name for name, ref in dict(self._java.refs()).items() if ref.isBranch()))

    @property
    def partitioning(self) -> tuple[PartitionField, ...]:
        schema = self._java.schema()
        return tuple(
            PartitionField(field.name(), schema.findColumnName(field.sourceId()), field.transform().toString())
            for field in self._java.spec().fields()
        )

    @property
    def has_files_of_other_specs(self) -> bool:
        """Whether live data files were written under an earlier partition spec: asks Spark, if there is any."""
        if self._java.specs().size() == 1 or self.head() is None:
            return False
        files = self.spark.table(f"{self.name}.files").where(f"spec_id <> {self._java.spec().specId()}")
        return bool(files.limit(1).collect())

    def head(self, branch: str = MAIN) -> Snapshot | None:
        """The snapshot a branch stands at; None where there is no such branch, or main is empty."""
        found = self._java.snapshot(branch)
        return None if found is None else _snapshot(found)

    def since(self, base: int | None) -> Iterator[Snapshot]:
        """What main gained after the snapshot `base`, newest first; its whole history where base is not in it."""
        found = self._java.currentSnapshot()
        while found is not None and found.snapshotId() != base:
            yield _snapshot(found)
            found = None if found.parentId() is None else self._java.snapshot(found.parentId())

    def ahead_of_main(self, branch: str) -> frozenset[int]:
        """The snapshots of a branch that main's history does not have: those that only the branch shows."""
        found, ids = self._java.snapshot(branch), set()
        while found is not None and not self._is_in_main(found.snapshotId()):
            ids.add(int(found.snapshotId()))
            found = None if found.parentId() is None else self._java.snapshot(found.parentId())
        return frozenset(ids)

    def unshown(self, key: str, value: str) -> frozenset[int]:
        """The snapshots whose summary says that, and which main's history does not have. Looks at all there are."""
        found = (each for each in self._java.snapshots() if each.summary().get(key) == value)
        return frozenset(int(each.snapshotId()) for each in found if not self._is_in_main(each.snapshotId()))

    def _is_in_main(self, snapshot_id: int) -> bool:
        # Asked of the JVM, which walks through a long history a thousand times faster than we could from here.
        ancestry = self.spark._jvm.org.apache.iceberg.util.SnapshotUtil  # type: ignore[union-attr]
        return self._java.currentSnapshot() is not None and bool(ancestry.isAncestorOf(self._java, snapshot_id))

    def expire(self, snapshot_ids: Iterable[int]) -> None:
        """Forget these snapshots and remove the files that no other one names; none is fine."""
        ids = sorted(set(snapshot_ids))
        if not ids:
            return
        # No snapshot is older than the epoch: without this, main's own history would be shortened as well.
        expiry = self._java.expireSnapshots().expireOlderThan(0)
        for each in ids:
            expiry = expiry.expireSnapshotId(each)
        expiry.commit()
        self.refresh()

    def remove_unnamed(self, files: Sequence[tuple[str, datetime]]) -> int:
        """Remove those of the files (location, last modified) that the table's metadata does not name.

        Returns how many. The files must be nobody's who is still writing.
        """
        listed = self.spark.createDataFrame(list(files), "file_path string, last_modified timestamp")
        actions = self.spark._jvm.org.apache.iceberg.spark.actions.SparkActions  # type: ignore[union-attr]
        tomorrow = int((datetime.now(UTC) + timedelta(days=1)).timestamp() * 1000)
        result = (
            actions.get(self.spark._jsparkSession)
            .deleteOrphanFiles(self._java)
            .compareToFileList(listed._jdf)
            .olderThan(tomorrow)
            .execute()
        )
        return sum(1 for _ in result.orphanFileLocations())

    def call(self, procedure: str, **arguments: str | int) -> None:
        """One of Iceberg's procedures, on this table."""
        given = {"table": quoted(self.database, self.table), **arguments}
        values = ", ".join(f"{key} => {_literal(value)}" for key, value in given.items())
        self.spark.sql(f"CALL {quoted(self.catalog)}.system.{procedure}({values})")

    def drop_with_files(self) -> None:
        """Remove the table and the files that its metadata names; nothing else under its location."""
        # Through the catalog: `DROP TABLE … PURGE` finds the files with several Spark jobs first.
        manager = self.spark._jsparkSession.sessionState().catalogManager()
        identifier = self.spark._jvm.org.apache.iceberg.catalog.TableIdentifier.parse(  # type: ignore[union-attr]
            f"{self.database}.{self.table}"
        )
        manager.catalog(self.catalog).icebergCatalog().dropTable(identifier, True)


def create_table(spark: SparkSession, plan: TargetPlan, columns: Schema, run_id: str) -> None:
    """Create the table, unless another run did so meanwhile.

    All columns may be NULL, nested ones too, whatever Spark concludes about today's query: it may conclude
    otherwise tomorrow, and a run cannot loosen a required column. What must not be NULL, the suite says.
    """
    properties = {**_PROPERTIES, FIRST_RUN: run_id}
    listed = ", ".join(f"{quoted(column.name)} {to_spark(loosened(column.type))}" for column in columns)
    partitioned = (
        f"PARTITIONED BY ({', '.join(quoted(name) for name in plan.partition_by)})" if plan.partition_by else ""
    )
    settings = ", ".join(f"{_literal(key)} = {_literal(value)}" for key, value in properties.items())
    spark.sql(
        f"CREATE TABLE IF NOT EXISTS {_spark_name(plan)} ({listed}) USING iceberg {partitioned} "
        f"LOCATION {_literal(plan.location)} TBLPROPERTIES ({settings})"
    )


def follow_columns(tools: WriterTools, plan: TargetPlan, wanted: Schema) -> Schema:
    """Adds to the table the columns of `wanted` that it lacks; returns those that it had before."""
    name = _spark_name(plan)
    tools.spark.sql(f"REFRESH TABLE {name}")
    held = spark_schema(tools.spark.table(name).schema)
    added = [column for column in wanted if held.find(column.name) is None]
    if added:
        listed = ", ".join(f"{quoted(column.name)} {to_spark(column.type)}" for column in added)
        tools.spark.sql(f"ALTER TABLE {name} ADD COLUMNS ({listed})")
    return held


def drop_columns(tools: WriterTools, plan: TargetPlan, names: Iterable[str]) -> None:
    """Removes columns from the table; their values are no longer readable."""
    listed = ", ".join(quoted(name) for name in names)
    if listed:
        tools.spark.sql(f"ALTER TABLE {_spark_name(plan)} DROP COLUMNS ({listed})")


def _spark_name(plan: TargetPlan) -> str:
    return quoted(plan.spark_catalog, plan.identity.database, plan.identity.table)


def _snapshot(java: Any) -> Snapshot:
    parent = java.parentId()
    return Snapshot(
        id=int(java.snapshotId()),
        parent_id=None if parent is None else int(parent),
        committed_at=datetime.fromtimestamp(java.timestampMillis() / 1000, UTC),
        summary=dict(java.summary()),
        operation=str(java.operation()),
    )


def _literal(value: str | int) -> str:
    if isinstance(value, int):
        return str(value)
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
