"""Which columns of its source a consumer really reads, and where: of its first step, the only one that sees them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pipeline_runtime.catalog.parameters import CDC_SEQUENCE, CDC_TIMESTAMP, JDBC_PARTITION_COLUMN, PRIMARY_KEYS
from pipeline_runtime.contracts.declared import Declared
from pipeline_runtime.contracts.sql_reads import columns_read
from pipeline_runtime.descriptor.files import confined, read_text
from pipeline_runtime.schema.columns import Schema

__all__ = ["ColumnUse", "ConsumerReads", "reads_of"]

#: Readers that hand on the pinned columns and look at none themselves.
_PLAIN_READERS = frozenset({"glue_table", "s3_parquet"})
#: What a reader looks at itself, by the table Parameter that names the columns.
_READERS_OWN = {
    "dms_landing": (PRIMARY_KEYS, CDC_SEQUENCE, CDC_TIMESTAMP),
    "jdbc": (PRIMARY_KEYS, JDBC_PARTITION_COLUMN),
}


@dataclass(frozen=True)
class ColumnUse:
    """Whether a consumer reads a column, and how that is known: `words` follow the column in a report."""

    read: bool
    words: str
    file: str | None = None
    lines: tuple[int, ...] = ()


@dataclass(frozen=True)
class ConsumerReads:
    """The use of each column, by name in lower case; `others` is the use of every other one."""

    columns: Mapping[str, ColumnUse]
    others: ColumnUse

    def of(self, column: str) -> ColumnUse:
        return self.columns.get(column.casefold(), self.others)


def reads_of(consumer: Declared, pinned: Schema, parameters: Mapping[str, str] | None) -> ConsumerReads:
    """What the consumer's first step reads of the pinned columns, and what its reader needs besides.

    `parameters` are the table's, None where the catalog was not asked. Whatever cannot be told counts as read.
    """
    by_step = _by_step(consumer, pinned)
    by_reader = _by_reader(consumer, parameters)
    if by_reader.others.read and not by_step.others.read:
        return ConsumerReads(by_step.columns, by_reader.others)
    return ConsumerReads({**by_reader.columns, **by_step.columns}, by_step.others)


def _by_step(consumer: Declared, pinned: Schema) -> ConsumerReads:
    step = consumer.first_step
    if step.query_file is None:
        return ConsumerReads({}, ColumnUse(True, f"read: the Python step {step.id} ({step.module}) gets every column"))
    shown = (consumer.shown_root / step.query_file).as_posix()
    try:
        text = read_text(confined(consumer.domain_root, step.query_file))
    except ValueError as error:
        return ConsumerReads({}, ColumnUse(True, f"counts as read: {shown} {error}", shown))
    found = columns_read(text, pinned.names)
    named = {
        name: ColumnUse(True, f"read at {_places(shown, lines)}", shown, lines) for name, lines in found.lines.items()
    }
    if found.whole is None:
        return ConsumerReads(named, ColumnUse(False, f"not read by {shown}", shown))
    where = f"{shown}:{found.whole_line}" if found.whole_line else shown
    lines = (found.whole_line,) if found.whole_line else ()
    return ConsumerReads(named, ColumnUse(True, f"read by {found.whole} at {where}", shown, lines))


def _by_reader(consumer: Declared, parameters: Mapping[str, str] | None) -> ConsumerReads:
    nothing = ColumnUse(False, "")
    if consumer.kind in _PLAIN_READERS:
        return ConsumerReads({}, nothing)
    keys = _READERS_OWN.get(consumer.kind)
    if keys is None or parameters is None:
        why = "is the domain's own" if keys is None else "goes by the table's Parameters, and the catalog was not asked"
        return ConsumerReads({}, ColumnUse(True, f"counts as read: the reader {consumer.kind} {why}"))
    return ConsumerReads(
        {
            name.strip().casefold(): ColumnUse(True, f"read by the reader {consumer.kind}: {key} names it")
            for key in keys
            for name in parameters.get(key, "").split(",")
            if name.strip()
        },
        nothing,
    )


def _places(file: str, lines: tuple[int, ...]) -> str:
    first, *more = lines
    return f"{file}:{first}" + (f" (and line{'s' * (len(more) > 1)} {', '.join(map(str, more))})" if more else "")
