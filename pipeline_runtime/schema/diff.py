"""What differs between two schemas, column by column, in words a reviewer can act on. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pipeline_runtime.schema.columns import Column, Schema
from pipeline_runtime.schema.types import same, widens

__all__ = ["Added", "Change", "NullabilityChanged", "Readded", "Removed", "Retyped", "SchemaDiff", "diff"]


@dataclass(frozen=True)
class Added:
    """The current schema has a column that the pinned one has not."""

    column: Column

    @property
    def name(self) -> str:
        return self.column.name

    def __str__(self) -> str:
        return f"+ {self.column}"


@dataclass(frozen=True)
class Removed:
    """The pinned schema has a column that the current one has not. A rename is this and an Added."""

    column: Column

    @property
    def name(self) -> str:
        return self.column.name

    def __str__(self) -> str:
        return f"- {self.column}"


@dataclass(frozen=True)
class _Altered:
    """A column that both schemas have, as it was pinned and as it is."""

    before: Column
    after: Column

    @property
    def name(self) -> str:
        return self.after.name


@dataclass(frozen=True)
class Retyped(_Altered):
    """Same name, other type."""

    @property
    def widening(self) -> bool:
        """Whether the new type holds every old value exactly."""
        return widens(self.before.type, self.after.type)

    def __str__(self) -> str:
        return f"~ {self.name}: {self.before.type} -> {self.after.type}" + (" (widening)" if self.widening else "")


@dataclass(frozen=True)
class NullabilityChanged(_Altered):
    """Same name, and what was never null may be now, or the other way round."""

    def __str__(self) -> str:
        return f"~ {self.name}: " + ("nullable -> not null" if self.before.nullable else "not null -> nullable")


@dataclass(frozen=True)
class Readded(_Altered):
    """Same name, other Iceberg field: the old column and its values are gone."""

    def __str__(self) -> str:
        ids = f"field id {self.before.field_id} -> {self.after.field_id}"
        return f"~ {self.name}: dropped and added again ({ids})"


Change = Added | Removed | Retyped | NullabilityChanged | Readded
_REPORT_ORDER = (Added, Removed, Retyped, NullabilityChanged, Readded)


@dataclass(frozen=True)
class SchemaDiff:
    """The changes from one schema to another: additions first, then removals, then what changed, by name.

    False where the schemas are the same.
    """

    changes: tuple[Change, ...]

    def __bool__(self) -> bool:
        return bool(self.changes)

    def __iter__(self) -> Iterator[Change]:
        return iter(self.changes)

    def __str__(self) -> str:
        """One line, for the middle of a sentence; a report of several lines iterates instead."""
        return "; ".join(str(change) for change in self.changes)


def diff(pinned: Schema, current: Schema) -> SchemaDiff:
    """What happened to the columns between `pinned` and `current`.

    Names are compared without regard to case, and the order of columns is ignored: readers ask by name.
    A nullability that one side does not state, and a field id that one side does not have, differ from
    nothing.
    """
    changes: list[Change] = [Added(column) for column in current if pinned.find(column.name) is None]
    for before in pinned:
        after = current.find(before.name)
        changes.extend([Removed(before)] if after is None else _alterations(before, after))
    return SchemaDiff(tuple(sorted(changes, key=_report_position)))


def _alterations(before: Column, after: Column) -> Iterator[Change]:
    if not same(before.type, after.type):
        yield Retyped(before, after)
    if None not in (before.nullable, after.nullable) and before.nullable != after.nullable:
        yield NullabilityChanged(before, after)
    if None not in (before.field_id, after.field_id) and before.field_id != after.field_id:
        yield Readded(before, after)


def _report_position(change: Change) -> tuple[int, str]:
    return _REPORT_ORDER.index(type(change)), change.name.casefold()
