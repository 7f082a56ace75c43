"""Columns and schemas as the catalog, the pin and the frames share them. Pure: no Spark, no AWS."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["Column", "Schema"]


@dataclass(frozen=True)
class Column:
    """One column.

    `type` is in canonical spelling (see `pipeline_runtime.schema.types`). `nullable` is None where the
    catalog does not say (Hive-style tables). `field_id` is Iceberg's, None elsewhere.
    """

    name: str
    type: str
    nullable: bool | None = None
    field_id: int | None = None

    def __str__(self) -> str:
        nullness = {True: ", nullable", False: ", not null", None: ""}[self.nullable]
        return f"{self.name} ({self.type}{nullness})"


@dataclass(frozen=True)
class Schema:
    """The columns of a table, in order. Names are unique without regard to case, as in the catalog."""

    columns: tuple[Column, ...]

    def __iter__(self) -> Iterator[Column]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    def find(self, name: str) -> Column | None:
        """The column of that name, whatever its case."""
        folded = name.casefold()
        return next((column for column in self.columns if column.name.casefold() == folded), None)
