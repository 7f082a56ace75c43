"""Where a batch goes that failed its suite and must not be lost: a table beside the target."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline_runtime.errors import OutputRefused
from pipeline_runtime.quality.broken_rules import BROKEN_RULES
from pipeline_runtime.schema.columns import Schema
from pipeline_runtime.schema.types import to_spark
from pipeline_runtime.writers import WRITERS, iceberg_table, parquet_table
from pipeline_runtime.writers.failing import failing_as_write_failed
from pipeline_runtime.writers.output import spark_schema
from pipeline_runtime.writers.plan import Published, TargetPlan
from pipeline_runtime.writers.staged import StagedBatch, WriterTools

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame

__all__ = ["RUN_ID", "write_quarantine"]

#: The column that tells the batches of a quarantine apart, and partitions it.
RUN_ID = "run_id"
#: By kind, what gives a table the columns it lacks and returns those it had.
_FOLLOW: dict[str, Callable[[WriterTools, TargetPlan, Schema], Schema]] = {
    "iceberg": iceberg_table.follow_columns,
    "parquet": parquet_table.follow_columns,
}


def write_quarantine(
    tools: WriterTools,
    staged: StagedBatch,
    plan: TargetPlan,
    run_id: str,
    mark: Callable[[DataFrame], DataFrame] | None = None,
) -> Published:
    """Keep the audited rows under the run's id; a second time with the same id replaces the first.

    `plan` is `quarantined(…)` of the target's: the target's columns, `broken_rules` where `mark` adds it, and
    `run_id`, one partition a run. A column that is new in the product is added; one that the product no longer
    has stays, as NULL. Ending `staged` is the caller's. Raises OutputRefused where the rows do not fit the
    quarantine, else as `stage`.
    """
    if staged.rows == 0:
        return Published(plan.identity, rows=0, partitions=0, snapshot_id=None, replaced=False)
    frame = _tagged(staged.audit_frame(), plan, run_id, mark)
    if plan.existing is not None:
        with failing_as_write_failed(f"{plan.identity.fqn}: its columns cannot follow the product's"):
            frame = _reconciled(tools, frame, plan)
    batch = WRITERS[plan.kind](tools, frame, plan, run_id)
    try:
        return batch.publish()
    except Exception:
        batch.discard()
        raise


def _tagged(rows: DataFrame, plan: TargetPlan, run_id: str, mark: Callable[[DataFrame], DataFrame] | None) -> DataFrame:
    from pyspark.sql import functions as F  # noqa: N812

    for column, what in ((RUN_ID, "the run's id"), (BROKEN_RULES, "what each row broke")):
        if column in (name.casefold() for name in rows.columns):
            raise OutputRefused(
                f"{plan.identity.fqn}: the product has a column {column} of its own, which the quarantine needs for "
                f"{what}. Rename it, or use on_failure: block_publish."
            )
    return (rows if mark is None else mark(rows)).withColumn(RUN_ID, F.lit(run_id))


def _reconciled(tools: WriterTools, frame: DataFrame, plan: TargetPlan) -> DataFrame:
    """The frame with a column for each of the table's, the table with a column for each of the frame's."""
    from pyspark.sql import functions as F  # noqa: N812

    wanted = spark_schema(frame.schema)
    held = _FOLLOW[plan.kind](tools, plan, wanted)
    gone = {column.name: F.lit(None).cast(to_spark(column.type)) for column in held if wanted.find(column.name) is None}
    return frame.withColumns(gone) if gone else frame
