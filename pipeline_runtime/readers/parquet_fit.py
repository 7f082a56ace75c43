"""Whether files' columns can be read as the pinned ones without loss, and what is wrong where not. Pure."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pipeline_runtime.errors import SchemaMismatch
from pipeline_runtime.readers.parquet_footers import FileGroup, PhysicalColumn
from pipeline_runtime.schema.columns import Column
from pipeline_runtime.schema.type_tree import parse
from pipeline_runtime.schema.types import fits, to_spark

__all__ = ["check_files", "keeps", "read_types"]


_CLOCKS = frozenset({"timestamp", "timestamp_ntz"})
#: Differences told in one error; the rest are counted.
_TOLD = 20


@dataclass(frozen=True)
class _Finding:
    """One thing wrong with one column: `fact` has a `{file}` in it."""

    fact: str
    remedy: str


def check_files(
    groups: Sequence[FileGroup],
    pinned: Sequence[Column],
    table: str,
    *,
    allowed: frozenset[str] = frozenset(),
    refuse_unpinned: bool = True,
) -> None:
    """Raises SchemaMismatch with every difference, each with its column, both types and a file that has it.

    `pinned` are the columns that come from the files; a column in a file that is neither there nor in `allowed`
    (case-folded names) is a difference where `refuse_unpinned`.
    """
    where: dict[_Finding, list[str]] = {}
    for group in groups:
        for finding in _findings(group.columns, pinned, allowed, refuse_unpinned):
            where.setdefault(finding, []).extend(file.path for file in group.files)
    if where:
        lines = [f"{table}: {_line(finding, files)}" for finding, files in where.items()]
        hidden = [f"{table}: and {len(lines) - _TOLD} more differences"] if len(lines) > _TOLD else []
        raise SchemaMismatch("\n".join(lines[:_TOLD] + hidden))


def read_types(columns: Sequence[PhysicalColumn], pinned: Sequence[Column]) -> tuple[str, ...]:
    """The type, in Spark's DDL, to read each pinned column with from files with these columns.

    That is the file's own: Spark converts nothing while it reads. A column that the files do not have is read
    as the pinned type, which gives NULL.
    """
    held = _by_name(columns)
    return tuple(to_spark(_type_in(held.get(column.name.casefold()), column)) for column in pinned)


def keeps(held: str, wanted: str) -> bool:
    """Whether every value of one canonical type has an equal in the other.

    As `schema.types.fits`, and a decimal may gain digits after the point too if it loses none before it.
    """
    if fits(held, wanted):
        return True
    before, after = parse(held), parse(wanted)
    if (before.kind, after.kind) != ("decimal", "decimal"):
        return False
    (digits, scale), (more_digits, more_scale) = before.args, after.args
    return more_scale >= scale and more_digits - more_scale >= digits - scale


def _type_in(held: PhysicalColumn | None, column: Column) -> str:
    return column.type if held is None or held.type is None else held.type


def _by_name(columns: Sequence[PhysicalColumn]) -> Mapping[str, PhysicalColumn]:
    return {column.name.casefold(): column for column in columns}


def _findings(
    columns: Sequence[PhysicalColumn], pinned: Sequence[Column], allowed: frozenset[str], refuse_unpinned: bool
) -> Iterator[_Finding]:
    held = _by_name(columns)
    counts = Counter(column.name.casefold() for column in columns)
    wanted = {column.name.casefold() for column in pinned}
    for column in pinned:
        name = column.name.casefold()
        if counts[name] > 1:
            spelled = ", ".join(found.name for found in columns if found.name.casefold() == name)
            yield _Finding(f"column {column.name} is {counts[name]} times in {{file}} ({spelled})", "Rename one.")
        elif name in held:
            yield from _type_finding(held[name], column)
        elif column.nullable is False:
            near = difflib.get_close_matches(name, held.keys() - wanted, n=1)
            closest = f" (closest: {held[near[0]].name})" if near else ""
            yield _Finding(
                f"column {column.name} is pinned as {column.type} not null and is not in {{file}}{closest}",
                "Have the file written anew, or pin the column as nullable.",
            )
    if refuse_unpinned:
        for found in columns:
            if found.name.casefold() not in wanted | allowed:
                yield _Finding(
                    f"column {found.name} ({found.type or found.parquet}) is in {{file}} and not in the pin",
                    "Publish the column with the table and pin that version, or have the file written without it.",
                )


def _type_finding(held: PhysicalColumn, column: Column) -> Iterator[_Finding]:
    if held.type is None:
        yield _Finding(
            f"column {column.name} is {held.parquet} in {{file}} and pinned as {column.type}, and Spark does not "
            f"read {held.parquet}",
            "Have the producer write microseconds." if "NANOS" in held.parquet else "Have the producer write another.",
        )
    elif not keeps(held.type, column.type):
        yield _Finding(
            f"column {column.name} is {held.type} ({held.parquet}) in {{file}} and pinned as {column.type}",
            _remedy(held.type, column.type),
        )


def _remedy(held: str, pinned: str) -> str:
    if {held, pinned} == _CLOCKS:
        return (
            "One is a wall clock and the other an instant, and reading one as the other shifts it by the session's "
            f"time zone. Publish and pin {held}, and convert in a step that names the zone (to_utc_timestamp)."
        )
    if held == "bigint" and pinned in _CLOCKS:
        return f"The file does not say in what unit. Publish and pin bigint, and convert in a step; or write {pinned}s."
    if (held, pinned) == ("binary", "string"):
        return "Where its bytes are UTF-8 text, set spark.sql.parquet.binaryAsString=true for the job."
    return f"{pinned} does not hold every {held}. Publish and pin one type that holds the values of all files."


def _line(finding: _Finding, files: Sequence[str]) -> str:
    more = f" and {len(files) - 1} more file{'s' if len(files) > 2 else ''}" if len(files) > 1 else ""
    return f"{finding.fact.format(file=files[0] + more)}. {finding.remedy}"
