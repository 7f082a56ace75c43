"""The counters that DMS keeps for each table, and what of them belongs to one batch. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass

__all__ = ["Counts", "TableCounts", "batch_of"]


@dataclass(frozen=True, order=True)
class Counts:
    """Rows that a full load brought, and changes; each of them is one row of the landed files."""

    full_load_rows: int = 0
    inserts: int = 0
    updates: int = 0
    deletes: int = 0

    @property
    def rows(self) -> int:
        return self.full_load_rows + self.inserts + self.updates + self.deletes

    def since(self, earlier: Counts) -> Counts:
        """What was counted since; all of it where a counter fell, for then the task began to count anew."""
        before = asdict(earlier)
        now = asdict(self)
        if any(now[key] < before[key] for key in now):
            return self
        return Counts(**{key: now[key] - before[key] for key in now})


@dataclass(frozen=True, order=True)
class TableCounts:
    """One table of the source system; `state` is DMS's word."""

    schema: str
    table: str
    state: str
    counts: Counts

    @property
    def name(self) -> str:
        return f"{self.schema}.{self.table}"

    @property
    def is_broken(self) -> bool:
        """Whether DMS has given the table up: by default it goes on with the others and says it nowhere else."""
        state = self.state.lower()
        return any(word in state for word in ("error", "cancelled", "suspended", "does not exist"))


def batch_of(now: Iterable[TableCounts], before: Iterable[TableCounts]) -> tuple[TableCounts, ...]:
    """The tables that moved since `before`, each with what it moved by."""
    known = {each.name: each.counts for each in before}
    moved = (
        TableCounts(each.schema, each.table, each.state, each.counts.since(known.get(each.name, Counts())))
        for each in now
    )
    return tuple(each for each in moved if each.counts.rows)
