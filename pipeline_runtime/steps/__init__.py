"""Step runners by kind. A runner turns the previous frame into the next one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from pipeline_runtime.steps.sql import run_sql

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from pipeline_runtime.descriptor.v1 import Step

    #: The previous frame, the step, its body's text, the body's path as messages show it, the values it binds.
    StepRunner = Callable[[DataFrame, Step, str, str, Mapping[str, object]], DataFrame]

__all__ = ["STEPS"]

STEPS: dict[str, StepRunner] = {
    "sql": run_sql,
}
