"""A step in SQL: the previous frame is `frame`, the step's params are bound, the answer is the next frame."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from pipeline_runtime.descriptor.blocks import RESERVED_PARAMS, Step
from pipeline_runtime.engine.spark_error import failures, short_message
from pipeline_runtime.errors import Problem, SqlRefused, StepFailed
from pipeline_runtime.steps.columns import refuse_columns_given_twice

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["bindings_for", "run_sql"]

_VIEW = "frame"
_POSITION = re.compile(r"[;.]*\s*\(?line (\d+),? pos \d+\)?\s*$")


def bindings_for(step: Step, used: Collection[str], nominal_time: datetime | None, shown_as: str) -> dict[str, object]:
    """What a step's named parameters are bound to; `used` are those that its SQL takes.

    Params are text. `nominal_time` becomes a timestamp, `nominal_date` its date in UTC. Raises SqlRefused
    where the SQL takes one of these two and the run was not given `--nominal-time`. (That params and SQL
    agree is `sql_guard.check_sql`'s to say.)
    """
    needed = sorted(RESERVED_PARAMS & set(used))
    if not needed:
        return dict(step.params)
    if nominal_time is None:
        reason = f"takes :{' and :'.join(needed)}, and the run has no nominal time; pass --nominal-time"
        raise SqlRefused([Problem(shown_as, 0, reason)])
    instant = nominal_time.astimezone(UTC)
    typed: dict[str, object] = {"nominal_time": instant, "nominal_date": instant.date()}
    return step.params | {name: typed[name] for name in needed}


def run_sql(frame: DataFrame, step: Step, text: str, shown_as: str, bindings: Mapping[str, object]) -> DataFrame:
    """The step's answer, lazily: Spark analyses the query here and computes nothing.

    `text` has passed `check_plan`. `bindings` are literals by parameter name: Spark binds them after it has
    parsed the text, so no value can become SQL.

    Raises StepFailed with the step, the file, the line and Spark's own words; OutputRefused where the answer
    has a column twice.
    """
    try:
        with _visible(frame):
            # Without keyword arguments Spark's Python side does no string formatting on the text.
            answer = frame.sparkSession.sql(text, args=dict(bindings))
    except failures() as error:
        raise StepFailed(_failure(step, shown_as, short_message(error))) from error
    refuse_columns_given_twice(answer, step.id, shown_as)
    return answer


@contextmanager
def _visible(frame: DataFrame) -> Iterator[None]:
    """The frame is the view `frame` within, and only there: no later query can read it by accident.

    The catalog of the session is asked, not `spark.catalog`: that one would also drop the frame's own cache.
    """
    catalog = frame.sparkSession._jsparkSession.sessionState().catalog()
    catalog.dropTempView(_VIEW)
    frame.createTempView(_VIEW)
    try:
        yield
    finally:
        catalog.dropTempView(_VIEW)


def _failure(step: Step, shown_as: str, message: str) -> str:
    found = _POSITION.search(message)
    where = f"{shown_as}:{found.group(1)}" if found else shown_as
    return f"step {step.id} ({where}): {_POSITION.sub('', message)}"
