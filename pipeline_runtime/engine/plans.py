"""What Spark's plan of a frame says about its columns. No Spark job is run here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline_runtime.engine.spark_error import failures
from pipeline_runtime.lineage.column_origins import Origin, column_origins
from pipeline_runtime.lineage.listener import listener_attached

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["origins_of"]


def origins_of(frame: DataFrame) -> dict[str, Origin] | None:
    """What each column of the frame is made of, by name in lower case; None where the plan cannot be told.

    It explains what the lineage listener leaves open; where none is attached, Spark is not asked. Whatever is wrong
    with the plan is left for the action on the frame to report.
    """
    try:
        if not listener_attached(dict(frame.sparkSession.sparkContext.getConf().getAll())):
            return None
        plan = frame._jdf.queryExecution().analyzed().toJSON()
    except failures():
        return None
    try:
        return column_origins(plan)
    except ValueError:
        return None
