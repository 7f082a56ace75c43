"""The line of a part of a statement. sqlglot remembers it on names and calls only."""

from __future__ import annotations

from sqlglot import exp

__all__ = ["line_near", "line_of"]


def line_of(node: exp.Expr) -> int:
    """The node's own line; 0 where it knows none."""
    return int(node.meta.get("line", 0))


def line_near(node: exp.Expr) -> int:
    """The line of the first thing in or around the node that knows its own; 0 where none does."""
    place: exp.Expr | None = node
    while place is not None:
        for part in place.walk():
            if "line" in part.meta:
                return line_of(part)
        place = place.parent
    return 0
