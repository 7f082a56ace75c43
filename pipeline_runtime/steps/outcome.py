"""The columns that a pipeline's steps turn its source into, as far as their texts tell: no engine, no guess."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pipeline_runtime.descriptor.blocks import Step
from pipeline_runtime.errors import Problem
from pipeline_runtime.steps.column_flow import column_flow

__all__ = ["Outcome", "StepText", "outcome_of"]


@dataclass(frozen=True)
class StepText:
    """A SQL step's text that has passed `sql_guard.check_sql`, and how messages name its file."""

    text: str
    shown_as: str


@dataclass(frozen=True)
class Outcome:
    """The last step's columns in order; where they cannot be told, None and why not. `problems` are names in the SQL
    that nothing explains."""

    columns: tuple[str, ...] | None
    reason: str = ""
    problems: tuple[Problem, ...] = ()


def outcome_of(steps: Sequence[Step], texts: Mapping[str, StepText], source: Sequence[str] | None) -> Outcome:
    """Follows the source's columns (None: not known) through the steps. `texts` are those of SQL steps, by step id.

    A step without a text is taken for one that may return anything.
    """
    columns = None if source is None else tuple(source)
    reason = "the source's columns are not known" if source is None else ""
    problems: list[Problem] = []
    for step in steps:
        if step.id not in texts:
            columns = None
            reason = f"step {step.id} is Python" if step.module is not None else f"step {step.id} cannot be read"
            continue
        step_text = texts[step.id]
        flow = column_flow(step_text.text, columns)
        problems += [Problem(step_text.shown_as, each.line, str(each)) for each in flow.unknown]
        if flow.columns is not None:
            reason = ""
        elif columns is not None:
            reason = f"step {step.id} has a column that its text gives no name"
        columns = flow.columns
    return Outcome(columns, reason, tuple(problems))
