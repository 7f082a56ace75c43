"""What comes after what in a change log: the columns that order it, and what is wrong with a row that has no place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline_runtime.engine.catalogs import quoted
from pipeline_runtime.errors import ChangeLogRefused
from pipeline_runtime.readers.cdc_columns import LogColumns

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

__all__ = [
    "DELETE",
    "FILE",
    "INSERT",
    "OP",
    "ORDER",
    "PHASE",
    "ROW",
    "SEQUENCE",
    "STAMP",
    "TIME",
    "UPDATE",
    "place",
    "problem",
    "where_from",
]

INSERT, UPDATE, DELETE = "I", "U", "D"

OP = "__cdc_op"
PHASE = "__cdc_phase"
TIME = "__cdc_time"
SEQUENCE = "__cdc_sequence"
STAMP = "__cdc_stamp"
FILE = "__cdc_file"
ROW = "__cdc_row"
#: A change log's order, oldest first. Nulls come first: what a log does not have orders nothing.
ORDER = (PHASE, TIME, SEQUENCE, STAMP, FILE, ROW)

#: DMS counts the files of a full load in hexadecimal and names those of changes by the time it opened them:
#: https://docs.aws.amazon.com/dms/latest/userguide/CHAP_Target.S3.html
_LOAD_FILE = r"(?i)^LOAD([0-9A-F]+)\."
_CHANGE_FILE = r"^([0-9]{8}-[0-9]{9,})\."
#: Spark would also read `2024` or `12:30` as a timestamp, the latter as one of today.
_MOMENT = r"^\d{4}-\d{2}-\d{2}[ T]\d{2}:\d{2}:\d{2}(\.\d+)?( ?(Z|[+-]\d{2}:?\d{2}))?$"
_ZONE = r"(Z|[+-]\d{2}:?\d{2})$"
_TEXT = ("string",)
_TIMES = ("timestamp", "timestamp_ntz", "date")
_NUMBERS = ("tinyint", "smallint", "int", "bigint")


def place(frame: DataFrame, log: LogColumns) -> DataFrame:
    """The log's business columns with their place in it: `__cdc_op` and the columns of ORDER.

    `__cdc_phase` is 0 for rows of a full load, which have no Op or lie in a LOAD file, and 1 for changes.
    Raises ChangeLogRefused for a timestamp or sequence column of a type that orders nothing.
    """
    from pyspark.sql import functions as F  # noqa: N812

    op = F.col(quoted(log.op)) if log.op else F.lit(None).cast("string")
    file = F.col(log.file) if log.file else F.lit(None).cast("string")
    name = F.element_at(F.split(file, "/"), -1)
    counter, stamp = F.regexp_extract(name, _LOAD_FILE, 1), F.regexp_extract(name, _CHANGE_FILE, 1)
    in_load_file = F.coalesce(counter != "", F.lit(False))
    return frame.select(
        *(F.col(quoted(column)) for column in (*log.business, *log.images)),
        op.alias(OP),
        F.when(op.isNull() | (in_load_file & (op == INSERT)), 0).otherwise(1).alias(PHASE),
        _time(frame, log).alias(TIME),
        _sequence(frame, log).alias(SEQUENCE),
        # Padded, so that a longer counter or a finer time compares as a number would.
        F.when(in_load_file, F.lpad(F.upper(counter), 24, "0")).when(stamp != "", F.rpad(stamp, 24, "0")).alias(STAMP),
        file.alias(FILE),
        (F.col(log.row) if log.row else F.lit(None).cast("bigint")).alias(ROW),
        *([_text(log.timestamp).alias(_raw(TIME))] if log.timestamp else []),
        *([_text(log.sequence).alias(_raw(SEQUENCE))] if log.sequence else []),
    )


def problem(log: LogColumns) -> Column:
    """Of a placed row: what is wrong with it as text, null where nothing is."""
    from pyspark.sql import functions as F  # noqa: N812

    change = F.col(PHASE) == 1
    counted = F.col(STAMP).rlike("^0") if log.file else F.lit(False)
    found = [
        F.when(
            ~F.col(OP).isin(INSERT, UPDATE, DELETE),
            F.concat(F.lit("Op is '"), OP, F.lit("'; DMS writes I, U or D, and none in a full load")),
        ),
        F.when(change & counted, F.concat(F.lit("Op is '"), OP, F.lit("' in a LOAD file; a full load only inserts"))),
        *(F.when(F.col(quoted(key)).isNull(), F.lit(f"key column {key} is null")) for key in log.keys),
    ]
    if log.timestamp:
        found.append(_unplaced(change, TIME, f"commit timestamp {log.timestamp}", "a date with a time"))
    if log.sequence:
        found.append(_unplaced(change, SEQUENCE, f"sequence column {log.sequence}", "a whole number"))
    where = F.concat(F.lit(f"{log.table}: "), where_from(FILE, ROW))
    return F.concat(where, F.coalesce(*found))


def where_from(file: str, row: str) -> Column:
    """`<file> row <n>: `, n from 0 as Spark counts; empty text where the log does not come from files."""
    from pyspark.sql import functions as F  # noqa: N812

    name = F.element_at(F.split(F.col(file), "/"), -1)
    return F.coalesce(F.concat(name, F.lit(" row "), F.col(row).cast("string"), F.lit(": ")), F.lit(""))


def _unplaced(change: Column, column: str, called: str, wanted: str) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    raw = F.col(_raw(column))
    said = F.when(raw.isNull(), F.lit("null")).otherwise(F.concat(F.lit("'"), raw, F.lit("'")))
    return F.when(
        change & F.col(column).isNull(),
        F.concat(F.lit(f"{called} of a change is "), said, F.lit(f", not {wanted}: the change has no place in order")),
    )


def _time(frame: DataFrame, log: LogColumns) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    if log.timestamp is None:
        return F.lit(None).cast("timestamp")
    held = F.col(quoted(log.timestamp))
    kind = _kind(frame, log.timestamp)
    if kind in _TIMES:
        return held
    if kind not in _TEXT:
        raise ChangeLogRefused(
            f"{log.table}: commit timestamp {log.timestamp} is {kind}, and whether it counts seconds or less nobody "
            f"says; a commit timestamp is one of {', '.join((*_TIMES, *_TEXT))}"
        )
    text = F.trim(held)
    # A text without a zone is read as UTC whatever the session's zone: a clock change would reorder it.
    zoned = F.when(text.rlike(_ZONE), text).otherwise(F.concat(text, F.lit("Z")))
    return F.when(text.rlike(_MOMENT), F.try_to_timestamp(zoned))


def _sequence(frame: DataFrame, log: LogColumns) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    if log.sequence is None:
        return F.lit(None).cast("bigint")
    held = F.col(quoted(log.sequence))
    kind = _kind(frame, log.sequence)
    if kind in (*_NUMBERS, *_TIMES) or kind.startswith("decimal"):
        return held
    if kind not in _TEXT:
        raise ChangeLogRefused(
            f"{log.table}: sequence column {log.sequence} is {kind}; what orders changes is a whole number, as "
            "number or as text"
        )
    # DMS's change sequence is text of 35 digits, more than any number type here holds for certain: of two
    # numbers without leading zeros the longer one is the greater.
    digits = F.regexp_replace(F.trim(held), "^0+(?=.)", "")
    return F.when(digits.rlike("^[0-9]+$"), F.struct(F.length(digits).alias("length"), digits.alias("digits")))


def _kind(frame: DataFrame, column: str) -> str:
    return frame.schema[column].dataType.simpleString()


def _text(column: str) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    return F.col(quoted(column)).cast("string")


def _raw(column: str) -> str:
    return f"{column}_raw"
