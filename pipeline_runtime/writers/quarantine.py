"""Where a batch goes that failed its suite and must not be lost: a table beside the target."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline_runtime.engine.catalogs import quoted
from pipeline_runtime.errors import OutputRefused
from pipeline_runtime.schema.types import to_spark
from pipeline_runtime.writers.failing import failing_as_write_failed
from pipeline_runtime.writers.iceberg import StagedBatch, stage
from pipeline_runtime.writers.iceberg_table import IcebergTable
from pipeline_runtime.writers.output import spark_schema
from pipeline_runtime.writers.plan import Published, TargetPlan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["write_quarantine"]

_RUN_ID = "run_id"


def write_quarantine(spark: SparkSession, staged: StagedBatch, plan: TargetPlan, run_id: str) -> Published:
    """Keep the audited rows under the run's id; a second time with the same id replaces the first.

    `plan` is `quarantined(…)` of the target's: the target's columns and `run_id`, one partition a run. A
    column that is new in the product is added; one that the product no longer has stays, as NULL. Ending
    `staged` is the caller's. Raises OutputRefused where the rows do not fit the quarantine, else as `stage`.
    """
    if staged.rows == 0:
        return Published(plan.identity, rows=0, partitions=0, snapshot_id=None, replaced=False)
    frame = _tagged(staged.audit_frame(), plan, run_id)
    if plan.existing is not None:
        with failing_as_write_failed(f"{plan.identity.fqn}: its columns cannot follow the product's"):
            frame = _reconciled(spark, frame, plan)
    batch = stage(spark, frame, plan, run_id)
    try:
        return batch.publish()
    except Exception:
        batch.discard()
        raise


def _tagged(rows: DataFrame, plan: TargetPlan, run_id: str) -> DataFrame:
    from pyspark.sql import functions as F  # noqa: N812

    if _RUN_ID in (name.casefold() for name in rows.columns):
        raise OutputRefused(
            f"{plan.identity.fqn}: the product has a column {_RUN_ID} of its own, which the quarantine needs for the "
            "run's id. Rename it, or use on_failure: block_publish."
        )
    return rows.withColumn(_RUN_ID, F.lit(run_id))


def _reconciled(spark: SparkSession, frame: DataFrame, plan: TargetPlan) -> DataFrame:
    """The frame with a column for each of the table's, the table with a column for each of the frame's."""
    from pyspark.sql import functions as F  # noqa: N812

    table = IcebergTable(spark, plan)
    held, wanted = spark_schema(spark.table(table.name).schema), spark_schema(frame.schema)
    added = [column for column in wanted if held.find(column.name) is None]
    if added:
        listed = ", ".join(f"{quoted(column.name)} {to_spark(column.type)}" for column in added)
        spark.sql(f"ALTER TABLE {table.name} ADD COLUMNS ({listed})")
    gone = {column.name: F.lit(None).cast(to_spark(column.type)) for column in held if wanted.find(column.name) is None}
    return frame.withColumns(gone) if gone else frame
