"""Writers by target kind. A writer stages a batch where no consumer sees it; the batch publishes or discards itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from pipeline_runtime.writers.iceberg import stage

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from pipeline_runtime.writers.iceberg import StagedBatch
    from pipeline_runtime.writers.plan import TargetPlan

    #: The session, the frame, where it goes, the run id.
    Writer = Callable[[SparkSession, DataFrame, TargetPlan, str], StagedBatch]

__all__ = ["WRITERS"]

WRITERS: dict[str, Writer] = {
    "iceberg": stage,
}
