"""Which columns of `frame` a step's SQL reads, and on which lines, told without an engine.

Every doubt counts as a read: SQL that cannot be parsed, a star over `frame`, a name that nothing else explains.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from sqlglot import Dialect, exp
from sqlglot.optimizer.scope import Scope, traverse_scope

from pipeline_runtime.steps.sql_lines import line_near, line_of

__all__ = ["SqlReads", "columns_read"]

_FRAME = "frame"


@dataclass(frozen=True)
class SqlReads:
    """Lines (from 1, rising) by the column's name in lower case.

    `whole` is why every column counts as read, with `whole_line` where, 0 for the file as a whole; None where the
    SQL names what it reads.
    """

    lines: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    whole: str | None = None
    whole_line: int = 0


def columns_read(text: str, columns: Collection[str]) -> SqlReads:
    """What the SELECT in `text` reads of `frame`, whose columns are `columns`. Never raises."""
    return _judged(text, frozenset(name.casefold() for name in columns))


@lru_cache(maxsize=64)
def _judged(text: str, known: frozenset[str]) -> SqlReads:
    """Remembered, for steps are shared."""
    logger = logging.getLogger("sqlglot")
    before, logger.disabled = logger.disabled, True
    try:
        return _reads(text, known)
    except Exception:
        # sqlglot's own refusals and defects on odd text. Whoever cannot tell what is read says that all is.
        return SqlReads(whole="SQL that cannot be judged")
    finally:
        logger.disabled = before


def _reads(text: str, known: frozenset[str]) -> SqlReads:
    dialect = Dialect.get_or_raise("spark")
    tokens = list(dialect.tokenize(text))
    trees = [tree for tree in dialect.parser().parse(tokens, text) if tree is not None]
    statement = next(tree for tree in trees if not isinstance(tree, exp.Semicolon))
    scopes = traverse_scope(statement)
    if len(trees) > 1 or not scopes:
        return SqlReads(whole="SQL that cannot be judged")
    found: dict[str, set[int]] = {}
    for name, line in _named(statement, scopes, known):
        found.setdefault(name, set()).add(line or _line_of_word(tokens, name))
    lines = {name: tuple(sorted(at)) for name, at in found.items()}
    star = next(_stars(scopes), None)
    if star is None:
        return SqlReads(lines)
    return SqlReads(lines, "SELECT *", star or tokens[0].line)


def _line_of_word(tokens: Iterable[object], name: str) -> int:
    """Where a name stands whose node does not say."""
    lines = (int(getattr(token, "line", 0)) for token in tokens if str(getattr(token, "text", "")).casefold() == name)
    return next(lines, 1)


def _named(statement: exp.Expr, scopes: list[Scope], known: frozenset[str]) -> Iterator[tuple[str, int]]:
    """The columns of frame that are named, each with its line, 0 where the tree does not know it."""
    seen: set[int] = set()
    for scope in scopes:  # inner ones first, and a correlated column is listed in the outer one again
        for column in scope.columns:
            if id(column) not in seen:
                seen.add(id(column))
                yield from _resolved(column, scope, known)
    for column in statement.find_all(exp.Column):
        if id(column) in seen or isinstance(column.this, exp.Star) or _is_alias_in_order(column):
            continue
        # In a corner that scopes do not list: the name alone decides.
        yield from ((part.name.casefold(), line_of(part)) for part in column.parts if part.name.casefold() in known)
    for join in statement.find_all(exp.Join):
        for name in join.args.get("using") or ():
            if name.name.casefold() in known:
                yield name.name.casefold(), line_of(name)


def _resolved(column: exp.Column, scope: Scope, known: frozenset[str]) -> Iterator[tuple[str, int]]:
    """The column of frame that a reference means: `a`, `f.a`, or a field of it, `a.x`, `f.a.x`."""
    parts = column.parts
    first = parts[0].name.casefold()
    if len(parts) > 1 and (source := _source(first, scope)) is not None:
        if _is_frame(source) and parts[1].name.casefold() in known:
            yield parts[1].name.casefold(), line_of(parts[1])
        return
    if first not in known:
        return
    inner: Scope | None = scope
    while inner is not None:
        owners = [source for source in inner.sources.values() if _provides(source, first, known)]
        if any(_is_frame(owner) for owner in owners):
            break
        if owners:
            return  # a CTE, a sub-query or a LATERAL VIEW gives a column of that name
        inner = inner.parent
    yield first, line_of(parts[0])


def _is_alias_in_order(column: exp.Column) -> bool:
    """ORDER BY looks at the SELECT's own answers before it looks at frame."""
    order = column.find_ancestor(exp.Order, exp.Query)
    query = order.parent if isinstance(order, exp.Order) else None
    return isinstance(query, exp.Query) and not column.table and column.name in query.named_selects


def _source(name: str, scope: Scope | None) -> object | None:
    while scope is not None:
        for alias, source in scope.sources.items():
            if alias.casefold() == name:
                return source
        scope = scope.parent
    return None


def _is_frame(source: object) -> bool:
    return isinstance(source, exp.Table) and source.name.casefold() == _FRAME and not source.args.get("db")


def _provides(source: object, name: str, known: frozenset[str]) -> bool:
    """Whether a relation has a column of that name; a relation that does not say has not."""
    if _is_frame(source):
        return name in known
    if not isinstance(source, Scope):
        return False
    if name in (alias.casefold() for alias in _alias_columns(source)):
        return True
    query = source.expression
    if not isinstance(query, exp.Query):
        return False
    named = query.named_selects
    if name in (selected.casefold() for selected in named):
        return True
    return bool(query.is_star) and any(_provides(inner, name, known) for inner in source.sources.values())


def _alias_columns(source: Scope) -> list[str]:
    """`t AS item` of a LATERAL VIEW, `t(a, b)` of a sub-query or a CTE."""
    expression = source.expression
    holder = expression if isinstance(expression, exp.UDTF) else expression.parent
    alias = holder.args.get("alias") if holder is not None else None
    return [column.name for column in alias.args.get("columns") or ()] if isinstance(alias, exp.TableAlias) else []


def _stars(scopes: list[Scope]) -> Iterator[int]:
    """The lines of what reads frame whole: a star over it, and what matches or turns all its columns."""
    for scope in scopes:
        query = scope.expression
        frames = {alias for alias, source in scope.sources.items() if _is_frame(source)}
        if not frames or not isinstance(query, exp.Query):
            continue
        for node in query.find_all(exp.Star, exp.Pivot, exp.Join):
            if node.find_ancestor(exp.Query) is not query:
                continue
            if isinstance(node, exp.Star):
                if isinstance(node.parent, exp.Count):
                    continue  # count(*) counts rows
                column = node.parent if isinstance(node.parent, exp.Column) else None
                if column is None or not column.table or column.table in frames:
                    yield line_of(node) or line_near(node)
            elif isinstance(node, exp.Pivot) or str(node.args.get("method") or "").upper() == "NATURAL":
                yield line_near(node)
