"""A step in Python, for what SQL cannot say: `transform` of a module in the domain's own package.

    def transform(frame: DataFrame, params: Mapping[str, str]) -> DataFrame

`frame` is the previous step's answer, not computed yet; `params` are the step's, as text. What it returns is the
next frame: of the same session, best as lazy as it came.
"""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from pipeline_runtime.descriptor.blocks import Step
from pipeline_runtime.descriptor.files import shown
from pipeline_runtime.engine.spark_error import failures, short_message
from pipeline_runtime.errors import PipelineError, StepFailed
from pipeline_runtime.lineage.values import utc_text
from pipeline_runtime.steps.body import StepBody
from pipeline_runtime.steps.columns import refuse_columns_given_twice
from pipeline_runtime.steps.python_module import ENTRY, SIGNATURE
from pipeline_runtime.steps.python_package import imported

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["params_for", "run_python"]


def params_for(step: Step, nominal_time: datetime | None) -> dict[str, str]:
    """What `params` holds: the step's own, and where the run has a nominal time, `nominal_time` and `nominal_date`.

    Both as ISO 8601 text in UTC, such as 2026-08-04T09:00:00Z and 2026-08-04.
    """
    if nominal_time is None:
        return dict(step.params)
    instant = nominal_time.astimezone(UTC)
    known = {"nominal_time": utc_text(instant, milliseconds=False), "nominal_date": instant.date().isoformat()}
    return step.params | known


def run_python(frame: DataFrame, step: Step, body: StepBody, bindings: Mapping[str, object]) -> DataFrame:
    """What the module's `transform` makes of the frame. The body has passed `check_module`.

    Raises StepFailed with the domain's file and line for whatever its code raises, and where it returns no frame
    of this session; OutputRefused where the answer has a column twice.
    """
    module = step.module or ""
    try:
        with imported(module, body.domain_root) as domain_module:
            answer = getattr(domain_module, ENTRY)(frame, MappingProxyType(dict(bindings)))
    except PipelineError:
        raise
    except (Exception, SystemExit) as error:
        raise StepFailed(_failure(step, body, error)) from error
    _check_answer(answer, frame, f"step {step.id} ({body.shown_as})")
    refuse_columns_given_twice(answer, step.id, body.shown_as)
    return answer  # type: ignore[no-any-return]


def _failure(step: Step, body: StepBody, error: BaseException) -> str:
    if isinstance(error, failures()):
        what = short_message(error)
    elif isinstance(error, SystemExit):
        what = "the module ended the process, which only the executor may; raise an error instead"
    else:
        what = f"{type(error).__name__}: {getattr(error, 'msg', None) or error}".removesuffix(": ")
    return f"step {step.id} ({_place(body, error)}): {what}"


def _place(body: StepBody, error: BaseException) -> str:
    """The domain's file and line where it went wrong: the innermost one that is the domain's own."""
    frames = [(frame.filename, frame.lineno) for frame in traceback.extract_tb(error.__traceback__)]
    if isinstance(error, SyntaxError) and error.filename:
        frames.append((error.filename, error.lineno))
    own = [f"{shown(Path(file))}:{line}" for file, line in frames if Path(file).is_relative_to(body.domain_root)]
    return own[-1] if own else body.shown_as


def _check_answer(answer: object, frame: DataFrame, where: str) -> None:
    from pyspark.sql import DataFrame

    if not isinstance(answer, DataFrame):
        kind = "nothing" if answer is None else f"a {type(answer).__module__}.{type(answer).__qualname__}"
        hint = " createDataFrame makes a frame of it." if answer is not None else ""
        raise StepFailed(f"{where}: {ENTRY} returned {kind}, not the next frame. Write {SIGNATURE}.{hint}")
    if answer.sparkSession._jsparkSession != frame.sparkSession._jsparkSession:
        raise StepFailed(
            f"{where}: {ENTRY} returned a frame of another Spark session, where other settings hold. "
            "Make frames with frame.sparkSession."
        )
