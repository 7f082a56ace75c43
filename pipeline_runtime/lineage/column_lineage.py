"""Column lineage as a value: which input columns an output's columns come from, renamed and composed. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pipeline_runtime.lineage.renaming import Dataset, pair_of

__all__ = ["ColumnLineage", "InputColumn", "Transformation", "column_lineage_of", "composed"]

#: Spark's own name for a file's path, size and position: no column of any table.
_NO_COLUMNS = frozenset({"_metadata"})


@dataclass(frozen=True, order=True)
class Transformation:
    """How an input column gets into an output column, in OpenLineage's words: DIRECT or INDIRECT, and a subtype."""

    type: str
    subtype: str = ""
    masking: bool = False


@dataclass(frozen=True, order=True)
class InputColumn:
    """One edge. `transformations` are sorted, each once."""

    dataset: Dataset
    column: str
    transformations: tuple[Transformation, ...] = ()


@dataclass(frozen=True)
class ColumnLineage:
    """`columns` are the inputs of each output column that has some; `rows` are the columns that decide which rows
    there are: filters, joins, groupings. All sorted, so that the same run gives the same bytes.
    """

    columns: Mapping[str, tuple[InputColumn, ...]] = field(default_factory=dict)
    rows: tuple[InputColumn, ...] = ()

    def inputs_of(self, column: str) -> tuple[InputColumn, ...]:
        """The inputs of a column, whatever its case; none where it has none."""
        folded = column.casefold()
        return next((inputs for name, inputs in self.columns.items() if name.casefold() == folded), ())

    @property
    def datasets(self) -> frozenset[Dataset]:
        """Every dataset that is named."""
        inputs = [*self.rows, *(each for inputs in self.columns.values() for each in inputs)]
        return frozenset(each.dataset for each in inputs)


def column_lineage_of(facet: Mapping[str, Any], rename: Callable[[Dataset], Dataset]) -> ColumnLineage:
    """The listener's `columnLineage` facet, its datasets renamed. Columns of several files of one table become one.

    Of what concerns the whole dataset only the INDIRECT part is taken: the DIRECT part repeats columns that are
    sorted or distributed by.
    """
    fields = {
        str(column): _merged(_inputs(made_of.get("inputFields") or (), rename))
        for column, made_of in (facet.get("fields") or {}).items()
    }
    rows = [
        InputColumn(each.dataset, each.column, indirect)
        for each in _inputs(facet.get("dataset") or (), rename)
        if (indirect := tuple(one for one in each.transformations if one.type == "INDIRECT"))
    ]
    return ColumnLineage({column: inputs for column, inputs in fields.items() if inputs}, _merged(rows))


def composed(outer: ColumnLineage, inner: ColumnLineage, through: Dataset) -> ColumnLineage:
    """`outer` with what it reads from `through` replaced by what `through` itself was made of."""

    def resolved(inputs: Iterable[InputColumn]) -> tuple[InputColumn, ...]:
        found: list[InputColumn] = []
        for each in inputs:
            if each.dataset != through:
                found.append(each)
                continue
            found += [
                InputColumn(origin.dataset, origin.column, _chained(each.transformations, origin.transformations))
                for origin in inner.inputs_of(each.column)
            ]
        return _merged(found)

    columns = {column: resolved(inputs) for column, inputs in outer.columns.items()}
    return ColumnLineage(
        {column: inputs for column, inputs in columns.items() if inputs},
        _merged([*inner.rows, *resolved(outer.rows)]),
    )


def _inputs(items: Iterable[Mapping[str, Any]], rename: Callable[[Dataset], Dataset]) -> list[InputColumn]:
    return [
        InputColumn(rename(pair_of(item)), str(item["field"]), _transformations(item))
        for item in items
        if item["field"] not in _NO_COLUMNS
    ]


def _transformations(item: Mapping[str, Any]) -> tuple[Transformation, ...]:
    return tuple(
        Transformation(str(one["type"]), str(one.get("subtype") or ""), bool(one.get("masking")))
        for one in item.get("transformations") or ()
    )


def _merged(inputs: Iterable[InputColumn]) -> tuple[InputColumn, ...]:
    transformations: dict[tuple[Dataset, str], set[Transformation]] = {}
    for each in inputs:
        transformations.setdefault((each.dataset, each.column), set()).update(each.transformations)
    return tuple(
        InputColumn(dataset, column, tuple(sorted(found)))
        for (dataset, column), found in sorted(transformations.items())
    )


def _chained(outer: Iterable[Transformation], inner: tuple[Transformation, ...]) -> tuple[Transformation, ...]:
    """What becomes of a column that is first transformed by `inner`, and then by `outer`.

    An identity passes on what was before it; what is indirect once stays indirect; masking is never undone.
    """
    outer = tuple(outer)
    if not outer or not inner:
        return (*outer, *inner)
    chained: set[Transformation] = set()
    for last in outer:
        for first in inner:
            passes_on = (last.type, last.subtype) == ("DIRECT", "IDENTITY")
            kind = first if passes_on or (first.type, last.type) == ("INDIRECT", "DIRECT") else last
            chained.add(Transformation(kind.type, kind.subtype, first.masking or last.masking))
    return tuple(sorted(chained))
