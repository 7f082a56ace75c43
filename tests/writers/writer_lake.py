"""A database of the test's own, and what a reader of its tables would see."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from pipeline_runtime.catalog.glue import described, find_table
from pipeline_runtime.catalog.table import CatalogTable, TableIdentity
from pipeline_runtime.evidence.local import LocalStore
from pipeline_runtime.writers import WRITERS
from pipeline_runtime.writers.owner import this_process
from pipeline_runtime.writers.plan import Published, TargetPlan, quarantined
from pipeline_runtime.writers.staged import StagedBatch, WriterTools
from tests.witness import strays_of_iceberg

ACCOUNT = "123456789012"


def new_run_id() -> str:
    return str(uuid4())


@dataclass(frozen=True)
class Lake:
    """Tables live at `s3://test-lake/<database>/<table>` in the Spark catalog `glue_catalog`."""

    spark: Any
    glue: Any
    s3: Any
    region: str
    database: str
    evidence: LocalStore
    kind: str = "iceberg"
    #: Who stages, where that is to be another process than this one.
    owner: str | None = None

    @property
    def tools(self) -> WriterTools:
        return WriterTools(self.spark, self.glue, self.s3, self.evidence, self.owner or this_process())

    def name(self, table: str) -> str:
        return f"glue_catalog.{self.database}.{table}"

    def location(self, table: str) -> str:
        return f"s3://test-lake/{self.database}/{table}"

    def existing(self, table: str) -> CatalogTable | None:
        """The table as the catalog describes it; None where there is none."""
        found = find_table(self.glue, database=self.database, table=table, region=self.region)
        return None if found is None else described(self.s3, found, self.region)

    def plan(self, table: str, *partition_by: str) -> TargetPlan:
        identity = TableIdentity(self.region, ACCOUNT, self.database, table)
        return TargetPlan(identity, "glue_catalog", self.kind, self.location(table), partition_by, self.existing(table))

    def quarantine_plan(self, table: str, *partition_by: str) -> TargetPlan:
        return quarantined(self.plan(table, *partition_by), self.existing(f"{table}__quarantine"))

    def create(self, table: str, columns: str, *, partitioned: str = "", rows: str = "", properties: str = "") -> None:
        """A table that was there before; `rows` are SQL values such as `(1,'a'),(2,'b')`."""
        by = f"PARTITIONED BY ({partitioned})" if partitioned else ""
        with_properties = f"TBLPROPERTIES ({properties})" if properties else ""
        self.spark.sql(
            f"CREATE TABLE {self.name(table)} ({columns}) USING iceberg {by} "
            f"LOCATION '{self.location(table)}' {with_properties}"
        )
        if rows:
            self.spark.sql(f"INSERT INTO {self.name(table)} VALUES {rows}")

    def stage(self, plan: TargetPlan, sql: str, run_id: str | None = None) -> StagedBatch:
        return self.stage_frame(plan, self.spark.sql(sql), run_id)

    def stage_frame(self, plan: TargetPlan, frame: Any, run_id: str | None = None) -> StagedBatch:
        return WRITERS[plan.kind](self.tools, frame, plan, run_id or new_run_id())

    def publish(self, plan: TargetPlan, sql: str, run_id: str | None = None) -> Published:
        return self.stage(plan, sql, run_id).publish()

    def rows(self, table: str, columns: str = "*") -> list[tuple[Any, ...]]:
        """What a reader of the table gets, sorted."""
        self.spark.sql(f"REFRESH TABLE {self.name(table)}")
        return in_order(self.spark.sql(f"SELECT {columns} FROM {self.name(table)}"))

    def branches(self, table: str) -> set[str]:
        self.spark.sql(f"REFRESH TABLE {self.name(table)}")
        return {row.name for row in self.spark.table(f"{self.name(table)}.refs").collect()}

    def seen(self, table: str) -> tuple[Any, ...]:
        """Rows, columns, current snapshot and our Parameters: what a run that publishes nothing must leave."""
        existing = self.existing(table)
        assert existing is not None
        ours = {key: value for key, value in existing.parameters.items() if key.startswith("cordata.")}
        return self.rows(table), existing.schema, existing.current_snapshot, ours

    def elsewhere(self, sql: str) -> None:
        """Runs a statement as another writer would: in a session whose catalog remembers nothing of ours."""
        self.spark.newSession().sql(sql)

    def audits(self) -> list[str]:
        """The records of runs that have a batch on an Iceberg table."""
        return self.evidence.keys("audits/")

    def strays(self, table: str) -> list[str]:
        """The objects below the table's location that nothing leads to from the history of a branch or tag."""
        return strays_of_iceberg(self.glue, self.s3, self.database, table)

    def keys(self, table: str) -> list[str]:
        """The objects under the table's location."""
        listing = self.s3.list_objects_v2(Bucket="test-lake", Prefix=f"{self.database}/{table}/")
        return [item["Key"] for item in listing.get("Contents", [])]


def in_order(frame: Any) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in frame.collect()), key=repr)
