"""The writer for Iceberg targets: a batch is staged on a branch, audited there, then published or discarded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline_runtime.engine.spark_error import failures, short_message
from pipeline_runtime.errors import OutputRefused, WriteFailed
from pipeline_runtime.schema.columns import Schema
from pipeline_runtime.writers.failing import failing_as_write_failed, only_warning
from pipeline_runtime.writers.iceberg_audits import Audits
from pipeline_runtime.writers.iceberg_branch import (
    branch_name,
    create_branch,
    later_commits,
    read_batch,
    write_batch,
)
from pipeline_runtime.writers.iceberg_growing import GrowingBatch
from pipeline_runtime.writers.iceberg_publish import advance_main
from pipeline_runtime.writers.iceberg_settle import is_shared, remove_batch, settle
from pipeline_runtime.writers.iceberg_table import FIRST_RUN, IcebergTable, Snapshot, create_table
from pipeline_runtime.writers.output import check_output, new_columns, output_schema, spark_schema
from pipeline_runtime.writers.plan import Later, Published, TargetPlan

if TYPE_CHECKING:
    from datetime import datetime

    from pyspark.sql import DataFrame

    from pipeline_runtime.writers.staged import WriterTools

__all__ = ["IcebergBatch", "stage"]


class IcebergBatch:
    """A batch that is written and that main does not show yet. End it by `publish` or by `discard`."""

    #: Parquet's: main moves to a snapshot, wherever its files are.
    locations = ()

    def __init__(
        self,
        tools: WriterTools,
        table: IcebergTable,
        plan: TargetPlan,
        run_id: str,
        base: Snapshot,
        batch: Snapshot | None,
    ) -> None:
        self.plan = plan
        self._tools = tools
        self.run_id = run_id
        self.branch = branch_name(run_id)
        self._table = table
        self._base = base
        self._batch = batch
        self._ended = False

    @property
    def rows(self) -> int:
        """Rows written, as the commit counts them: exact even where Spark ran a task twice."""
        return self._batch.count("added-records") if self._batch else 0

    @property
    def partitions(self) -> int:
        """Partitions that publishing replaces; 0 for an unpartitioned target."""
        return self._batch.count("changed-partition-count") if self._batch and self.plan.partition_by else 0

    @property
    def is_empty(self) -> bool:
        """Whether the output held no row."""
        return self._batch is None

    @property
    def snapshot_id(self) -> int | None:
        """The staged snapshot; None where the output held no row."""
        return self._batch.id if self._batch else None

    @property
    def created(self) -> bool:
        """Whether the table is a first run's own: nothing was ever published to it."""
        return _never_published(self._table)

    def record(self) -> dict[str, str | int | bool | None]:
        """What to keep before publishing, so that someone else can tell afterwards whether it happened.

        It did if a snapshot in main's history has this `snapshot_id`, or has it as `source-snapshot-id`, or
        has `cordata.run_id` = `run_id`, in its summary.
        """
        return {
            "table": self.plan.identity.fqn,
            "run_id": self.run_id,
            "branch": self.branch,
            "base_snapshot_id": self._base.id,
            "snapshot_id": self.snapshot_id,
            "rows": self.rows,
            "partitions": self.partitions,
            "created": self.created,
        }

    def audit_frame(self) -> DataFrame:
        """The batch's rows as they are stored, and no others: what is validated is what publishing shows."""
        with failing_as_write_failed(f"{self.plan.identity.fqn}: the staged batch cannot be read back"):
            return read_batch(self._table, self._batch)

    def published_since(self, moment: datetime) -> tuple[Later, ...]:
        """Main's commits since that moment to the partitions, or the table, that publishing replaces, oldest first.

        Not those that only rewrite files, as a compaction does. Raises WriteFailed where the table does not answer.
        """
        if self._batch is None:
            return ()
        with failing_as_write_failed(f"{self.plan.identity.fqn}: its history cannot be read"):
            return later_commits(self._table, self._batch, moment)

    def publish(self) -> Published:
        """Make main show the batch, in one commit; an empty batch replaces nothing.

        Raises WriteFailed; `discard` then cleans up.
        """
        identity = self.plan.identity
        if self._batch is None:
            head = self._table.head()
            self.discard()
            return Published(identity, rows=0, partitions=0, snapshot_id=head.id if head else None, replaced=False)
        with failing_as_write_failed(f"{identity.fqn}: publishing failed, nothing was published"):
            main = advance_main(self._table, self.run_id, self._base, self._batch)
        self._ended = True
        with only_warning(f"{identity.fqn} is published, but branch {self.branch} was not dropped"):
            remove_batch(self._table, self.run_id)
            Audits(self._tools.evidence, identity).end(self.run_id)
        return Published(identity, self.rows, self.partitions, main.id, replaced=True)

    def discard(self) -> None:
        """Leave the target as it was before the run. Safe to call twice, and after an error: it only warns.

        Not to be called after a RunInterrupted: the branch then stays until a later run or Iceberg drops it.
        """
        if self._ended:
            return
        with only_warning(f"{self.plan.identity.fqn}: branch {self.branch} was not cleaned up"):
            _clean_up(self._tools, self._table, self.plan, self.run_id)
            self._ended = True


def stage(tools: WriterTools, frame: DataFrame, plan: TargetPlan, run_id: str) -> IcebergBatch | GrowingBatch:
    """Write the frame to the run's own branch of the target, creating the target where there is none. A batch that
    brings declared columns is kept by Spark instead, until it is published.

    The frame is computed once, here. Raises OutputRefused before anything is written where its columns do
    not fit the target, WriteFailed where the write fails, EvidenceFailed; either way the target is as it was.
    """
    fqn, spark = plan.identity.fqn, tools.spark
    output = output_schema(frame.schema, plan)
    audits = Audits(tools.evidence, plan.identity)
    earlier = audits.all()
    # Before the table, the branch and the first file: whatever a killed run leaves is known to the next one.
    audits.begin(run_id, tools.owner)
    try:
        if plan.existing is None:
            create_table(spark, plan, output, run_id)
        table = IcebergTable(spark, plan)
    except failures() as error:
        audits.end(run_id)
        raise WriteFailed(f"{fqn}: the target cannot be opened, nothing was written: {short_message(error)}") from error
    try:
        _check_target(table, plan)
        held = spark_schema(spark.table(table.name).schema)
        check_output(output, held, plan)
        settle(tools, plan, table, earlier, run_id)
        if added := new_columns(output, held, plan):
            return GrowingBatch(
                tools,
                table,
                plan,
                run_id,
                frame,
                Schema((*held, *added)),
                lambda base, batch: IcebergBatch(tools, table, plan, run_id, base, batch),
            )
        base = create_branch(table, branch_name(run_id))
        batch = write_batch(table, frame, branch_name(run_id), base, run_id)
        return IcebergBatch(tools, table, plan, run_id, base, batch)
    except failures() as error:
        cause = short_message(error)
        _abandon(tools, table, plan, run_id)
        raise WriteFailed(f"{fqn}: the write failed, nothing was published: {cause}") from error
    except OutputRefused:
        _abandon(tools, table, plan, run_id)
        raise


def _check_target(table: IcebergTable, plan: TargetPlan) -> None:
    """The table must be partitioned as declared: a run replaces the partitions that the table has."""
    fqn = plan.identity.fqn
    held = {str(field).casefold() for field in table.partitioning}
    declared = {name.casefold() for name in plan.partition_by}
    if held != declared:
        raise OutputRefused(
            f"{fqn}: partition_by is [{', '.join(plan.partition_by)}], the table is partitioned by "
            f"[{', '.join(map(str, table.partitioning))}]; the run would replace other rows than it declares. "
            "Nothing was written. Bring the two in line."
        )
    if table.has_files_of_other_specs:
        raise OutputRefused(
            f"{fqn}: holds files of an earlier partitioning, which replacing a partition leaves in place. "
            "Nothing was written. Rewrite them first: CALL system.rewrite_data_files with rewrite-all."
        )


def _never_published(table: IcebergTable) -> bool:
    return table.head() is None and FIRST_RUN in table.properties


def _clean_up(tools: WriterTools, table: IcebergTable, plan: TargetPlan, run_id: str) -> None:
    remove_batch(table, run_id)
    # Another first run may be staging in the same new table; whichever ends last removes it.
    is_own = table.location.rstrip("/") == plan.location
    if _never_published(table) and is_own and not is_shared(tools, plan, table, run_id):
        table.drop_with_files()
    Audits(tools.evidence, plan.identity).end(run_id)


def _abandon(tools: WriterTools, table: IcebergTable, plan: TargetPlan, run_id: str) -> None:
    with only_warning(f"{plan.identity.fqn}: branch {branch_name(run_id)} was not cleaned up"):
        _clean_up(tools, table, plan, run_id)
