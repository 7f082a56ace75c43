"""The writer for parquet targets: a batch is staged in a folder of its own, audited there, then switched to."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from pipeline_runtime.errors import CatalogError, EvidenceFailed, PipelineError, WriteFailed
from pipeline_runtime.schema.columns import Column, Schema
from pipeline_runtime.writers.failing import failing_as_write_failed
from pipeline_runtime.writers.output import check_output, new_columns, output_schema
from pipeline_runtime.writers.parquet_files import (
    WrittenFiles,
    free_folder,
    no_rows,
    read_files,
    remove_files,
    run_location,
    write_files,
    written_files,
)
from pipeline_runtime.writers.parquet_ledger import Ledger, Record, State
from pipeline_runtime.writers.parquet_settle import only_warning_of_catalog, settle
from pipeline_runtime.writers.parquet_switch import TakenOver, advance, announce, later_publishes, retreat
from pipeline_runtime.writers.parquet_table import (
    ParquetTable,
    check_table,
    create_table,
    drop_columns,
    drop_table,
    follow_columns,
    open_table,
    table_schema,
)
from pipeline_runtime.writers.plan import Later, Published, TargetPlan
from pipeline_runtime.writers.staged import WriterTools

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["ParquetBatch", "stage"]


class ParquetBatch:
    """A batch whose files are written and at which the catalog does not point yet."""

    #: Iceberg's.
    snapshot_id = None
    branch = None

    def __init__(
        self,
        tools: WriterTools,
        plan: TargetPlan,
        table: ParquetTable,
        staged: Record,
        files: tuple[WrittenFiles, ...],
        added: tuple[str, ...] = (),
    ) -> None:
        """`table` has the columns that it will have; `added` are those that it has not yet."""
        self.plan = plan
        self.run_id = staged.run_id
        self._tools = tools
        self._table = table
        self._staged = staged
        self._files = files
        self._added = added
        self._ledger = Ledger(tools.evidence, plan.identity)
        self._ended = False

    @property
    def rows(self) -> int:
        """Rows in the files, as their footers count them."""
        return sum(each.rows for each in self._files)

    @property
    def partitions(self) -> int:
        """Partitions that publishing replaces; 0 for an unpartitioned target."""
        return len(self._files) if self.plan.partition_by else 0

    @property
    def is_empty(self) -> bool:
        return not self._files

    @property
    def locations(self) -> tuple[str, ...]:
        """The locations that publishing switches to, one a partition."""
        return tuple(each.location for each in self._files)

    @property
    def created(self) -> bool:
        """Whether the table is a first run's own: nothing was ever published to it."""
        return self._table.never_published

    def record(self) -> dict[str, str | int | bool | list[str]]:
        """What to keep before publishing, so that someone else can tell afterwards whether it happened.

        `parquet_ledger.record_of_publish` tells: it did once the table's Parameters name the run.
        """
        return {
            "table": self.plan.identity.fqn,
            "run_id": self.run_id,
            "locations": list(self.locations),
            "rows": self.rows,
            "partitions": self.partitions,
            "created": self.created,
        }

    def audit_frame(self) -> DataFrame:
        """The rows of the written files, in the table's columns: what is validated is what publishing shows."""
        spark, schema = self._tools.spark, self._table.schema
        with failing_as_write_failed(f"{self.plan.identity.fqn}: the staged batch cannot be read back"):
            if self.is_empty:
                return no_rows(spark, schema)
            return read_files(spark, schema, run_location(self.plan.location, self._staged.folder))

    def published_since(self, moment: datetime) -> tuple[Later, ...]:
        """What runs of ours have published since to what publishing replaces, oldest first. Raises CatalogError."""
        values = [each.values for each in self._files]
        return () if self.is_empty else later_publishes(self._tools, self.plan, values, moment)

    def publish(self) -> Published:
        """Switch the table to the batch: each partition at once, one after the other; an empty batch replaces nothing.

        Raises WriteFailed: every partition then shows what it did before, or the message says what is left to the
        next run. `discard` then cleans up.
        """
        from botocore.exceptions import BotoCoreError

        identity = self.plan.identity
        if self.is_empty:
            self.discard()
            return Published(identity, rows=0, partitions=0, snapshot_id=None, replaced=False)
        switching: Record | None = None
        try:
            switching = announce(self._tools, self.plan, self._staged, self._grown(), self._files)
            settled = advance(self._tools, self.plan, switching)
        except TakenOver:
            raise
        except (CatalogError, EvidenceFailed, BotoCoreError) as error:
            raise WriteFailed(self._undone(switching, error)) from error
        self._ended = True
        with only_warning_of_catalog(f"{identity.fqn} is published, but its record does not say so yet"):
            self._ledger.put(settled)
        return Published(identity, self.rows, self.partitions, None, replaced=True)

    def discard(self) -> None:
        """Leave the target as it was before the run. Safe to call twice, and after an error: it only warns."""
        if self._ended:
            return
        with only_warning_of_catalog(f"{self.plan.identity.fqn}: files of run {self.run_id} were not removed"):
            _clean_up(self._tools, self.plan, self._staged.folder)
            self._ended = True

    def _grown(self) -> ParquetTable:
        """The table with the columns that the contract adds to it: readers see them from here on, as NULL at first."""
        if not self._added:
            return self._table
        follow_columns(self._tools, self.plan, self._table.schema)
        return open_table(self._tools.glue, self._tools.s3, self.plan) or self._table

    def _undone(self, switching: Record | None, error: Exception) -> str:
        """Takes the switch back; the failure's message."""
        from botocore.exceptions import BotoCoreError

        fqn = self.plan.identity.fqn
        cause = str(error).removeprefix(f"{fqn}: ")
        if switching is not None:
            try:
                self._ledger.put(retreat(self._tools, self.plan, switching))
            except (PipelineError, BotoCoreError) as second:
                return (
                    f"{fqn}: publishing failed halfway ({cause}) and could not be undone ({second}). Each partition "
                    "shows either the old rows or the new; the next run of this pipeline settles it."
                )
        with only_warning_of_catalog(f"{fqn}: the columns that were added for the batch stay, empty"):
            drop_columns(self._tools, self.plan, self._added)
        return f"{fqn}: publishing failed, nothing was published: {cause}"


def stage(tools: WriterTools, frame: DataFrame, plan: TargetPlan, run_id: str) -> ParquetBatch:
    """Write the frame to a folder of the run's own in the target's prefix, creating the table where there is none.

    What earlier runs left unfinished is settled first. The frame is computed once, here. Raises OutputRefused
    before anything is written where its columns do not fit the target, WriteFailed where the write fails,
    CatalogError and EvidenceFailed; in each case the target is as it was.
    """
    output = output_schema(frame.schema, plan)
    added: tuple[Column, ...] = ()
    settle(tools, plan, run_id)
    table = open_table(tools.glue, tools.s3, plan)
    if table is None:
        schema = table_schema(output, plan)
    else:
        check_table(table, plan)
        check_output(output, table.schema, plan)
        added = new_columns(output, table.schema, plan)
        table = table.with_columns(table_schema(Schema(added), replace(plan, partition_by=())))
        schema = table.schema
    folder = free_folder(tools.s3, plan.location, run_id)
    staged = Record(folder, run_id, State.STAGED, datetime.now(UTC), tools.owner)
    # Before the first file and before the table: whatever a killed run leaves is known to the next one.
    Ledger(tools.evidence, plan.identity).put(staged)
    try:
        table = table or _created(tools, plan, schema, run_id)
        files = _written(tools, frame, plan, table, run_location(plan.location, folder))
    except Exception:
        with only_warning_of_catalog(f"{plan.identity.fqn}: files of run {run_id} were not removed"):
            _clean_up(tools, plan, folder)
        raise
    return ParquetBatch(tools, plan, table, staged, files, tuple(column.name for column in added))


def _created(tools: WriterTools, plan: TargetPlan, schema: Schema, run_id: str) -> ParquetTable:
    create_table(tools.glue, plan, schema, run_id)
    table = open_table(tools.glue, tools.s3, plan)
    if table is None:
        raise CatalogError(f"{plan.identity.fqn}: another writer removed the table while the run was starting")
    check_table(table, plan)
    check_output(schema, table.schema, plan)
    return table


def _written(
    tools: WriterTools, frame: DataFrame, plan: TargetPlan, table: ParquetTable, location: str
) -> tuple[WrittenFiles, ...]:
    with failing_as_write_failed(f"{plan.identity.fqn}: the write failed, nothing was published"):
        write_files(frame, table.schema, table.keys, location, plan.identity.fqn)
        return written_files(tools.spark, tools.s3, table.schema, table.keys, location)


def _clean_up(tools: WriterTools, plan: TargetPlan, folder: str) -> None:
    """Removes an unpublished batch, and the table where nothing was ever published to it.

    Another first run may be staging in the same new table; whichever ends last removes it.
    """
    ledger = Ledger(tools.evidence, plan.identity)
    record = ledger.get(folder)
    if record is None or record.state is State.SWITCHING:
        return  # ended already, or left to the next run
    if record.state is State.STAGED:
        remove_files(tools.s3, plan.location, run_location(plan.location, folder))
        ledger.remove(folder)
    table = open_table(tools.glue, tools.s3, plan)
    if table is not None and table.never_published and not ledger.under_way():
        drop_table(tools.glue, plan)
