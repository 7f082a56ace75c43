"""Which columns come out of a step's SQL, and which names in it nothing explains: told without an engine.

The other way round from `contracts.sql_reads`: there every doubt counts as a read, here every doubt counts as fine,
for a pull request must not be stopped by SQL that Spark would run.
"""

from __future__ import annotations

import difflib
import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlglot import exp, parse_one
from sqlglot.optimizer.scope import Scope, traverse_scope

from pipeline_runtime.steps.sql_lines import line_of

__all__ = ["ColumnFlow", "UnknownName", "column_flow"]

_FRAME = "frame"
#: What Spark reads as a call though it has no parentheses, and the units that date functions take as bare words.
_CALLS = (
    "current_catalog",
    "current_database",
    "current_date",
    "current_schema",
    "current_time",
    "current_timestamp",
    "current_timezone",
    "current_user",
    "localtimestamp",
    "session_user",
    "user",
)
_UNITS = (
    "microsecond",
    "millisecond",
    "second",
    "minute",
    "hour",
    "day",
    "dayofyear",
    "week",
    "month",
    "quarter",
    "year",
)
_WORDS = frozenset((*_CALLS, *_UNITS))


@dataclass(frozen=True)
class UnknownName:
    """A column that the SQL reads and that is nowhere to be read from. `line` counts from 1, 0 for unknown."""

    line: int
    name: str
    there: tuple[str, ...]

    def __str__(self) -> str:
        near = difflib.get_close_matches(self.name.casefold(), [name.casefold() for name in self.there], n=1)
        hint = f"; did you mean {near[0]}?" if near else f"; there are {', '.join(self.there)}"
        return f"reads {self.name}, which is no column of what it reads from{hint}"


@dataclass(frozen=True)
class ColumnFlow:
    """The answer's columns in order, None where the text does not tell them; the names that nothing explains."""

    columns: tuple[str, ...] | None
    unknown: tuple[UnknownName, ...] = ()


def column_flow(text: str, frame: Sequence[str] | None) -> ColumnFlow:
    """What one SELECT makes of a frame with these columns (None: not known). Never raises.

    `text` has passed `sql_guard.check_sql`.
    """
    logger = logging.getLogger("sqlglot")
    before, logger.disabled = logger.disabled, True
    try:
        return _Flow(None if frame is None else tuple(frame)).of(parse_one(text, read="spark"))
    except Exception:
        # sqlglot's own refusals and defects on odd text, which says nothing about what Spark would do with it.
        return ColumnFlow(None)
    finally:
        logger.disabled = before


class _Flow:
    """One statement over one frame. What a scope answers is worked out inside first."""

    def __init__(self, frame: tuple[str, ...] | None) -> None:
        self.frame = frame
        self.answers: dict[int, tuple[str, ...] | None] = {}

    def of(self, statement: exp.Expr) -> ColumnFlow:
        scopes = traverse_scope(statement)
        for scope in scopes:
            self.answers[id(scope.expression)] = self._answer(scope)
        seen: set[int] = set()
        unknown = [found for scope in scopes for found in self._unknown(scope, seen)]
        unique = {(each.line, each.name.casefold()): each for each in unknown}
        return ColumnFlow(self.answers[id(scopes[-1].expression)], tuple(unique.values()))

    def _answer(self, scope: Scope) -> tuple[str, ...] | None:
        query = scope.expression
        if isinstance(query, exp.SetOperation):
            return self.answers.get(id(_innermost(query.left)))
        if isinstance(query, exp.UDTF | exp.Values):
            return None
        if not isinstance(query, exp.Select):
            return self.answers.get(id(_innermost(query)))
        names: list[str] = []
        for projection in query.expressions:
            found = self._projected(projection, scope)
            if found is None:
                return None
            names += found
        return tuple(names)

    def _projected(self, projection: exp.Expr, scope: Scope) -> Sequence[str] | None:
        if isinstance(projection, exp.Aliases):
            return [alias.name for alias in projection.expressions]
        if isinstance(projection, exp.Star):
            return self._star(projection, scope, None)
        if isinstance(projection, exp.Column) and isinstance(projection.this, exp.Star):
            return self._star(projection.this, scope, projection.parts[0].name)
        if isinstance(projection, exp.Dot) and not isinstance(_root(projection), exp.Column):
            return None  # a field of what a call returns is named after the call
        if projection.is_star or not isinstance(projection, exp.Alias | exp.Column | exp.Dot):
            return None
        name = projection.alias_or_name
        return [name] if name else None

    def _star(self, star: exp.Star, scope: Scope, of: str | None) -> Sequence[str] | None:
        if star.args.get("replace") or star.args.get("rename") or _reshapes(scope):
            return None
        dropped = {name.name.casefold() for name in star.args.get("except_") or star.args.get("except") or ()}
        names: list[str] = []
        for alias, source in scope.sources.items():
            if alias not in scope.selected_sources and not _is_lateral(source):
                continue  # a CTE that this SELECT does not read
            if of is not None and alias.casefold() != of.casefold():
                continue
            columns = self._columns(source)
            if columns is None:
                return None
            names += columns
        if of is None and any(
            join.args.get("using") or join.method for join in scope.expression.args.get("joins") or ()
        ):
            names = list(dict.fromkeys(name.casefold() for name in names))
        return [name for name in names if name.casefold() not in dropped] if names else None

    def _columns(self, source: object) -> tuple[str, ...] | None:
        """The columns of one relation, None where they are not known."""
        if isinstance(source, exp.Table):
            is_frame = source.name.casefold() == _FRAME and not source.args.get("db")
            alias = source.args.get("alias")
            return self.frame if is_frame and not (alias and alias.args.get("columns")) else None
        if not isinstance(source, Scope):
            return None
        named = _alias_columns(source)
        return named if named else self.answers.get(id(source.expression))

    def _unknown(self, scope: Scope, seen: set[int]) -> Iterator[UnknownName]:
        for column in scope.columns:  # inner scopes come first, and their columns are listed in the outer ones again
            if id(column) in seen:
                continue
            seen.add(id(column))
            found = self._unexplained(column, scope)
            if found is not None:
                yield found

    def _unexplained(self, column: exp.Column, scope: Scope) -> UnknownName | None:
        parts = column.parts
        first = parts[0].name
        if isinstance(column.this, exp.Star) or first.casefold() in _WORDS:
            return None
        there: list[str] = []
        qualified: tuple[str, ...] | None = None
        inner: Scope | None = scope
        while inner is not None:
            if _reshapes(inner) or first.casefold() in _aliases(inner, column):
                return None
            for alias, source in inner.sources.items():
                columns = self._columns(source)
                if columns is None:
                    return None
                if len(parts) > 1 and alias.casefold() == first.casefold() and qualified is None:
                    qualified = columns
                there += columns
            inner = inner.parent
        known = {name.casefold() for name in there}
        if not there or first.casefold() in known or _is_lambda_variable(column, first):
            return None
        if qualified is not None:
            second = parts[1].name
            held = {name.casefold() for name in qualified}
            return None if second.casefold() in held else UnknownName(line_of(parts[1]), f"{first}.{second}", qualified)
        if len(parts) > 1:
            return None  # an alias of a corner that scopes do not list
        return UnknownName(line_of(parts[0]), first, tuple(dict.fromkeys(there)))


def _innermost(query: exp.Expr | None) -> exp.Expr | None:
    while isinstance(query, exp.Subquery):
        query = query.this
    return query


def _root(dot: exp.Expr) -> exp.Expr:
    """What a path of fields starts from."""
    while isinstance(dot, exp.Dot):
        dot = dot.this
    return dot


def _is_lateral(source: object) -> bool:
    return isinstance(source, Scope) and isinstance(source.expression, exp.UDTF)


def _reshapes(scope: Scope) -> bool:
    """Whether PIVOT or UNPIVOT makes other columns of what is read."""
    return next(iter(scope.expression.find_all(exp.Pivot)), None) is not None


def _aliases(scope: Scope, column: exp.Column) -> Iterator[str]:
    """The names that the SELECT gives itself, which its other parts may use; not the one that `column` makes up."""
    query = scope.expression
    for projection in query.expressions if isinstance(query, exp.Select) else ():
        if isinstance(projection, exp.Alias | exp.Aliases) and not _stands_in(column, projection):
            names = projection.expressions if isinstance(projection, exp.Aliases) else [projection]
            yield from ((each.alias or each.name).casefold() for each in names)


def _stands_in(column: exp.Expr, projection: exp.Expr) -> bool:
    place: exp.Expr | None = column
    while place is not None and place is not projection:
        place = place.parent
    return place is projection


def _alias_columns(source: Scope) -> tuple[str, ...]:
    """`t AS item` of a LATERAL VIEW, `t(a, b)` of a sub-query or a CTE."""
    expression = source.expression
    holder = expression if isinstance(expression, exp.UDTF | exp.Values) else expression.parent
    alias = holder.args.get("alias") if holder is not None else None
    columns = alias.args.get("columns") or () if isinstance(alias, exp.TableAlias) else ()
    return tuple(column.name for column in columns)


def _is_lambda_variable(column: exp.Expr, name: str) -> bool:
    function = column.find_ancestor(exp.Lambda)
    while function is not None:
        if name.casefold() in (variable.name.casefold() for variable in function.expressions):
            return True
        function = function.find_ancestor(exp.Lambda)
    return False
