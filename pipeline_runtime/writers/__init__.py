"""Writers by target kind. A writer stages a batch where no consumer sees it; the batch publishes or discards itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from pipeline_runtime.writers import iceberg, parquet

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from pipeline_runtime.writers.plan import TargetPlan
    from pipeline_runtime.writers.staged import StagedBatch, WriterTools

    #: What to work with, the frame, where it goes, the run id.
    Writer = Callable[[WriterTools, DataFrame, TargetPlan, str], StagedBatch]

__all__ = ["WRITERS"]

WRITERS: dict[str, Writer] = {
    "iceberg": iceberg.stage,
    "parquet": parquet.stage,
}
