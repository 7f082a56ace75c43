"""Why an output column has no inputs: made from constants, or a reason in words. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pipeline_runtime.lineage.column_lineage import ColumnLineage
from pipeline_runtime.lineage.column_origins import Origin, OriginKind
from pipeline_runtime.lineage.facts import RunFacts
from pipeline_runtime.quality.broken_rules import BROKEN_RULES

__all__ = ["Absence", "Unexplained", "explained"]

#: The quarantine's column that tells its batches apart; `writers.quarantine` fills it.
_RUN_ID = "run_id"


@dataclass(frozen=True)
class Unexplained:
    """Columns whose inputs are not known, and why."""

    columns: tuple[str, ...]
    reason: str


@dataclass(frozen=True)
class Absence:
    """What is not known of an output's columns, and what holds of all of them (`limits`)."""

    constants: tuple[str, ...] = ()
    unknown: tuple[Unexplained, ...] = ()
    limits: tuple[str, ...] = ()

    @property
    def is_complete(self) -> bool:
        """Whether every column has its inputs or is made from constants, and nothing limits that."""
        return not self.unknown and not self.limits


def explained(facts: RunFacts, columns: Iterable[str], lineage: ColumnLineage | None, reason: str | None) -> Absence:
    """Each of `columns` that has no inputs in `lineage`; `reason` is why there is no lineage at all."""
    code = tuple(step.id for step in facts.descriptor.steps if step.query_file is None)
    constants: list[str] = []
    unknown: dict[str, list[str]] = {}
    for column in columns:
        if lineage is not None and lineage.inputs_of(column):
            continue
        why = reason or _reason(column, facts, code, has_lineage=lineage is not None)
        if why is None:
            constants.append(column)
        else:
            unknown.setdefault(why, []).append(column)
    return Absence(
        tuple(constants),
        tuple(Unexplained(tuple(names), why) for why, names in unknown.items()),
        _limits(facts, code, is_absent=reason is not None),
    )


def _limits(facts: RunFacts, code: tuple[str, ...], *, is_absent: bool) -> tuple[str, ...]:
    if is_absent:
        return ()
    limits = []
    if facts.witness is not None and facts.witness.missing is not None:
        limits.append(facts.witness.missing)
    if code:
        limits.append(
            f"{_steps(code)}: inputs are those that Spark's plan shows; values that the code took out of a frame and "
            "put back leave no trace in it"
        )
    return tuple(limits)


def _reason(column: str, facts: RunFacts, code: tuple[str, ...], *, has_lineage: bool) -> str | None:
    """Why the listener names no input of the column; None where it is made from constants."""
    folded = column.casefold()
    if facts.origins is None or folded not in facts.origins:
        if folded in {_RUN_ID, BROKEN_RULES} and has_lineage:
            return None  # The run's id; and rules none of which is about a single row.
        return "the listener names no input of it"
    origin = facts.origins[folded]
    if code and origin.kind in {OriginKind.CONSTANT, OriginKind.INLINE}:
        return f"{_steps(code)}: a value that the plan shows as a constant may come from data that the code read"
    if origin.kind in {OriginKind.CONSTANT, OriginKind.INLINE}:
        return None
    if origin.kind is OriginKind.COLUMNS and facts.source is not None and facts.source.jdbc is not None:
        return f"the listener does not see into the query that the database is asked.{_reads(origin)}"
    return _words(origin, code)


def _words(origin: Origin, code: tuple[str, ...]) -> str:
    reads = _reads(origin)
    match origin.kind:
        case OriginKind.ROWS:
            return "it is computed from the number or the order of rows, and from no column"
        case OriginKind.MOMENT:
            return "it is computed from the clock or from chance, and from no column"
        case OriginKind.CODE:
            return f"a user-defined function makes it, inside which a plan does not show.{reads}"
        case OriginKind.DATA:
            where = f"; {_steps(code)}" if code else ""
            return f"its rows were cut off from the plan that computed them, or were made in code{where}"
        case OriginKind.COLUMNS:
            return f"the listener lost its inputs, as it does with subqueries and grouping sets.{reads}"
        case _:
            return "the listener names no input of it, and Spark's plan does not say why"


def _reads(origin: Origin) -> str:
    return f" It reads {', '.join(origin.columns)}." if origin.columns else ""


def _steps(steps: tuple[str, ...]) -> str:
    return f"step {steps[0]} is Python" if len(steps) == 1 else f"steps {', '.join(steps)} are Python"
