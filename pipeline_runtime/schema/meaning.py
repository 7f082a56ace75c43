"""What a column means, beside its shape: declared by whoever publishes the table, compared like the shape. Pure.

A column may keep its name and its type while its definition moves under it: an amount that is suddenly without tax.
No comparison of types sees that, so a producer declares unit, definition and classification, and a change of those
is told to consumers as a change.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from pipeline_runtime.schema.columns import Column, Schema
from pipeline_runtime.schema.types import canonical

__all__ = [
    "ASPECTS",
    "DeclaredColumn",
    "Meaning",
    "MeaningChange",
    "columns_problem",
    "declared_schema",
    "dump_columns",
    "load_columns",
    "meaning_changes",
]

#: What consumers rely on. A description is only wording, and may be improved without telling anyone.
ASPECTS = ("unit", "definition", "classification")

#: Bytes of the declaration as JSON. A Glue Parameter holds 512,000; a whole definition is sent with every update.
MAX_BYTES = 100_000

_TEXTS = ("description", *ASPECTS)


class Meaning(Protocol):
    """Any column that may say what it means: a declared one, or a proposal's."""

    @property
    def name(self) -> str: ...
    @property
    def unit(self) -> str | None: ...
    @property
    def definition(self) -> str | None: ...
    @property
    def classification(self) -> str | None: ...


@dataclass(frozen=True)
class DeclaredColumn:
    """A column as its producer declares it. `type` is canonical; a text is None where nothing is declared."""

    name: str
    type: str
    nullable: bool = True
    description: str | None = None
    unit: str | None = None
    definition: str | None = None
    classification: str | None = None

    @property
    def column(self) -> Column:
        """Its shape."""
        return Column(self.name, self.type, self.nullable)


@dataclass(frozen=True)
class MeaningChange:
    """One aspect of one column that means something else now. None: not declared."""

    column: str
    aspect: str
    before: str | None
    after: str | None

    def __str__(self) -> str:
        return f"~ {self.column}: {self.aspect} {_shown(self.before)} -> {_shown(self.after)}"


def meaning_changes(before: Iterable[Meaning], after: Iterable[Meaning]) -> tuple[MeaningChange, ...]:
    """What columns of both sides mean otherwise, by column and aspect. Case of names does not count.

    Columns of one side only are the schema diff's to tell. Texts are compared as written, but for white space: what
    another wording means, only people can say.
    """
    held = {column.name.casefold(): column for column in before}
    return tuple(
        change
        for column in sorted(after, key=lambda each: each.name.casefold())
        if (earlier := held.get(column.name.casefold())) is not None
        for change in _changes(earlier, column)
    )


def declared_schema(columns: Iterable[DeclaredColumn]) -> Schema:
    """The declared shape, in the declared order."""
    return Schema(tuple(column.column for column in columns))


def dump_columns(columns: Iterable[DeclaredColumn]) -> str:
    """The declaration as the catalog keeps it: JSON, the same text for the same declaration."""
    return json.dumps([_facts(column) for column in columns], ensure_ascii=False, separators=(",", ":"))


def load_columns(text: str) -> tuple[DeclaredColumn, ...]:
    """What `dump_columns` wrote. Keys that it does not know are left out. Raises ValueError for anything else."""
    try:
        items = json.loads(text)
        return tuple(_declared(item) for item in items)
    except (TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"is no declaration of columns ({type(error).__name__})") from None


def columns_problem(columns: Sequence[DeclaredColumn]) -> str | None:
    """Why the catalog cannot keep the declaration; None where it can."""
    size = len(dump_columns(columns).encode())
    if size <= MAX_BYTES:
        return None
    return f"the declaration has {size:,} bytes as JSON; {MAX_BYTES:,} is the most that is kept with the table"


def _changes(before: Meaning, after: Meaning) -> Iterator[MeaningChange]:
    for aspect in ASPECTS:
        was, now = getattr(before, aspect), getattr(after, aspect)
        if _words(was) != _words(now):
            yield MeaningChange(after.name, aspect, was, now)


def _words(text: str | None) -> list[str] | None:
    return None if text is None else text.split()


def _shown(text: str | None) -> str:
    return "(not declared)" if text is None else json.dumps(" ".join(text.split()), ensure_ascii=False)


def _facts(column: DeclaredColumn) -> dict[str, Any]:
    texts = {key: getattr(column, key) for key in _TEXTS if getattr(column, key) is not None}
    return {"name": column.name, "type": column.type, "nullable": column.nullable, **texts}


def _declared(item: dict[str, Any]) -> DeclaredColumn:
    texts = {key: str(item[key]) for key in _TEXTS if item.get(key) is not None}
    return DeclaredColumn(str(item["name"]), canonical(str(item["type"])), bool(item.get("nullable", True)), **texts)
