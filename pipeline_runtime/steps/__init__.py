"""Step runners by kind. A runner turns the previous frame into the next one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from pipeline_runtime.steps.python import params_for, run_python
from pipeline_runtime.steps.sql import bindings_for, run_sql
from pipeline_runtime.steps.sql_guard import used_parameters

if TYPE_CHECKING:
    from datetime import datetime

    from pyspark.sql import DataFrame

    from pipeline_runtime.descriptor.blocks import Step
    from pipeline_runtime.steps.body import StepBody

    #: The previous frame, the step, its body, the values that its params are bound to.
    StepRunner = Callable[[DataFrame, Step, StepBody, Mapping[str, object]], DataFrame]

__all__ = ["STEPS", "bindings"]


def _sql(frame: DataFrame, step: Step, body: StepBody, bound: Mapping[str, object]) -> DataFrame:
    return run_sql(frame, step, body.text, body.shown_as, bound)


STEPS: dict[str, StepRunner] = {
    "sql": _sql,
    "python": run_python,
}


def bindings(step: Step, body: StepBody, nominal_time: datetime | None) -> Mapping[str, object]:
    """What the step's params are bound to.

    Raises SqlRefused where SQL takes the nominal time and the run was given none.
    """
    if step.query_file is None:
        return params_for(step, nominal_time)
    return bindings_for(step, used_parameters(body.text), nominal_time, body.shown_as)
