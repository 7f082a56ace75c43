"""Publishing to an Iceberg table that gains columns which the target's contract declares.

ALTER TABLE shows on main at once, so a branch cannot hide it: the batch is computed once and kept by Spark, judged
there, and only then the table gets its columns and the batch, which goes through a branch as every other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline_runtime.schema.columns import Schema
from pipeline_runtime.schema.enforce import enforce
from pipeline_runtime.writers.failing import failing_as_write_failed, only_warning
from pipeline_runtime.writers.iceberg_audits import Audits
from pipeline_runtime.writers.iceberg_branch import RUN_ID, branch_name, create_branch, write_batch
from pipeline_runtime.writers.iceberg_settle import remove_batch
from pipeline_runtime.writers.iceberg_table import IcebergTable, Snapshot, drop_columns, follow_columns
from pipeline_runtime.writers.plan import Later, Published, TargetPlan

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from pyspark.sql import DataFrame

    from pipeline_runtime.writers.staged import StagedBatch, WriterTools

    #: Makes the ordinary batch out of what was written to the run's branch: the base, the commit.
    Staging = Callable[[Snapshot, Snapshot | None], StagedBatch]

__all__ = ["GrowingBatch"]


class GrowingBatch:
    """A batch that Spark keeps, for a table that has not all of its columns yet. End it by `publish` or `discard`."""

    #: Parquet's.
    locations = ()
    #: The write creates it, after the audit.
    snapshot_id = None
    #: Only a table that exists can gain a column.
    created = False

    def __init__(
        self,
        tools: WriterTools,
        table: IcebergTable,
        plan: TargetPlan,
        run_id: str,
        frame: DataFrame,
        columns: Schema,
        staging: Staging,
    ) -> None:
        """`columns` are the table's as they will be. Computes the frame, once."""
        self.plan = plan
        self.run_id = run_id
        self.branch = branch_name(run_id)
        self._tools, self._table, self._columns, self._staging = tools, table, columns, staging
        self._rows = enforce(frame, columns, plan.identity.fqn).persist()
        self.rows = self._rows.count()
        self.partitions = self._rows.select(*plan.partition_by).distinct().count() if plan.partition_by else 0
        self._ended = False

    @property
    def is_empty(self) -> bool:
        """Whether the output held no row."""
        return self.rows == 0

    def record(self) -> dict[str, str | int | bool | None]:
        """As an IcebergBatch's: what main's history names the run by is its summary's `cordata.run_id`."""
        return {
            "table": self.plan.identity.fqn,
            "run_id": self.run_id,
            "branch": self.branch,
            "snapshot_id": None,
            "rows": self.rows,
            "partitions": self.partitions,
            "created": False,
        }

    def audit_frame(self) -> DataFrame:
        """The batch's rows in the columns that the table will have."""
        return self._rows

    def published_since(self, moment: datetime) -> tuple[Later, ...]:
        """Main's commits since that moment that added rows anywhere, oldest first: what the batch will replace is not
        known by its files yet, so each counts."""
        with failing_as_write_failed(f"{self.plan.identity.fqn}: its history cannot be read"):
            self._table.refresh()
            later = [each for each in self._table.since(None) if each.committed_at > moment]
        return tuple(
            Later(each.summary.get(RUN_ID), each.committed_at, ()) for each in reversed(later) if each.brings_rows
        )

    def publish(self) -> Published:
        """Give the table its columns, write the batch to a branch, and make main show it; an empty batch does nothing.

        Raises WriteFailed; the table then has its columns of before.
        """
        identity = self.plan.identity
        if self.is_empty:
            head = self._table.head()
            self.discard()
            return Published(identity, rows=0, partitions=0, snapshot_id=head.id if head else None, replaced=False)
        with failing_as_write_failed(f"{identity.fqn}: its declared columns cannot be added, nothing was published"):
            before = follow_columns(self._tools, self.plan, self._columns)
        try:
            with failing_as_write_failed(f"{identity.fqn}: the write failed, nothing was published"):
                base = create_branch(self._table, self.branch)
                written = write_batch(self._table, self._rows, self.branch, base, self.run_id)
            published = self._staging(base, written).publish()
        except BaseException:
            self._take_back(before)
            raise
        self._end()
        return published

    def discard(self) -> None:
        """Leave the target as it was before the run. Safe to call twice, and after an error: it only warns."""
        if self._ended:
            return
        with only_warning(f"{self.plan.identity.fqn}: branch {self.branch} was not cleaned up"):
            remove_batch(self._table, self.run_id)
            Audits(self._tools.evidence, self.plan.identity).end(self.run_id)
        self._end()

    def _end(self) -> None:
        self._ended = True
        with only_warning(f"{self.plan.identity.fqn}: Spark still keeps the batch"):
            self._rows.unpersist()

    def _take_back(self, before: Schema) -> None:
        """Drops the columns again, unless main shows the batch after all: then they hold its values."""
        fqn = self.plan.identity.fqn
        with only_warning(f"{fqn}: the columns that were added for the batch stay, empty"):
            self._table.refresh()
            if any(each.summary.get(RUN_ID) == self.run_id for each in self._table.since(None)):
                return
            drop_columns(self._tools, self.plan, [each.name for each in self._columns if not before.find(each.name)])
