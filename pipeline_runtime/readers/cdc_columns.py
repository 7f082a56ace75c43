"""Which columns of a change log are whose: the table's own, and those that only say what happened when."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipeline_runtime.errors import ChangeLogRefused

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["LogColumns", "find_columns", "is_image"]


@dataclass(frozen=True)
class LogColumns:
    """The columns of one change log, as its frame spells them.

    `images` are the before-images of `keys`, in their order; empty where there are none. `file` and `row` are
    expressions for the file's path and the row's place in it. `business` is everything else, keys included.
    """

    table: str
    keys: tuple[str, ...]
    business: tuple[str, ...]
    op: str | None
    timestamp: str | None
    sequence: str | None
    images: tuple[str, ...]
    file: str | None
    row: str | None


def find_columns(
    frame: DataFrame,
    *,
    table: str,
    keys: Sequence[str],
    op: str,
    timestamp: str | None,
    sequence: str | None,
    before_prefix: str | None,
    position: tuple[str, str] | None,
) -> LogColumns:
    """Finds each named column in `frame`, whatever its case.

    A log without an `op` column is a full load: it needs neither timestamp, sequence nor before-images.
    Raises ChangeLogRefused, naming what is missing or there twice.
    """
    spelt = _Spelling(table, frame.columns)
    if not keys:
        raise ChangeLogRefused(f"{table}: one row per primary key needs at least one key column; none is named")
    found_keys = tuple(spelt.required(key, "key column") for key in keys)
    found_op = spelt.optional(op)
    find = spelt.optional if found_op is None else spelt.required
    found_timestamp = find(timestamp, "commit timestamp") if timestamp else None
    found_sequence = find(sequence, "sequence column") if sequence else None
    images = (
        [spelt.required(before_prefix + key, "before-image") for key in found_keys]
        if found_op and before_prefix
        else []
    )
    file, row = position or _hidden_position(frame) or (None, None)
    technical = {found_op, found_timestamp, found_sequence, *(position or ())}
    if clash := [key for key in found_keys if key in technical]:
        raise ChangeLogRefused(f"{table}: {', '.join(clash)} cannot be both a key and what orders the changes")
    return LogColumns(
        table=table,
        keys=found_keys,
        business=tuple(
            name
            for name in frame.columns
            if name not in technical and not (before_prefix and is_image(name, before_prefix, frame.columns))
        ),
        op=found_op,
        timestamp=found_timestamp,
        sequence=found_sequence,
        images=tuple(images),
        file=file,
        row=row,
    )


def is_image(name: str, prefix: str, columns: Sequence[str]) -> bool:
    """Whether a column is the before-image of another one of `columns`; case does not count."""
    folded = name.casefold()
    if not folded.startswith(prefix.casefold()):
        return False
    return folded[len(prefix) :] in {column.casefold() for column in columns}


class _Spelling:
    """The names of a frame's columns, to be found without regard to case."""

    def __init__(self, table: str, columns: Sequence[str]) -> None:
        self._table = table
        self._columns = columns

    def optional(self, name: str, what: str = "column") -> str | None:
        found = [column for column in self._columns if column.casefold() == name.casefold()]
        if len(found) > 1:
            raise ChangeLogRefused(
                f"{self._table}: {what} {name} is there {len(found)} times ({', '.join(found)}); "
                "names must differ in more than case"
            )
        return found[0] if found else None

    def required(self, name: str, what: str = "column") -> str:
        found = self.optional(name, what)
        if found is None:
            raise ChangeLogRefused(
                f"{self._table}: {what} {name} is not in the change log; it has {', '.join(self._columns)}"
            )
        return found


def _hidden_position(frame: DataFrame) -> tuple[str, str] | None:
    """Spark's own words for a row's place, where the frame comes straight from parquet files."""
    from pyspark.errors import AnalysisException

    hidden = ("_metadata.file_path", "_metadata.row_index")
    try:
        frame.select(*hidden)
    except AnalysisException:
        return None
    return hidden
