"""From a change log to the rows it leaves: the mechanics of AWS DMS, kept away from everything behind the reader."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pipeline_runtime.engine.catalogs import quoted
from pipeline_runtime.errors import ChangeLogRefused
from pipeline_runtime.readers.cdc_columns import LogColumns, find_columns
from pipeline_runtime.readers.cdc_order import (
    DELETE,
    FILE,
    OP,
    ORDER,
    PHASE,
    ROW,
    SEQUENCE,
    STAMP,
    TIME,
    UPDATE,
    place,
    problem,
    where_from,
)

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, Observation

__all__ = ["ORPHAN_UPDATES", "collapse_cdc"]

#: The metric that an observation given to `collapse_cdc` holds: updates of a key that no earlier row has left.
ORPHAN_UPDATES = "orphan_updates"

_LEFT = "__cdc_left"
_ORPHAN = "__cdc_orphan"
_CONTESTED = "__cdc_contested"
_LAST = "__cdc_last"


def collapse_cdc(
    frame: DataFrame,
    *,
    keys: Sequence[str],
    op: str = "Op",
    timestamp: str | None = None,
    sequence: str | None = None,
    before_prefix: str | None = None,
    position: tuple[str, str] | None = None,
    strict: bool = False,
    observation: Observation | None = None,
    table: str = "the change log",
) -> DataFrame:
    """One row per primary key: the last that a log of inserts, updates and deletes leaves, none if it is deleted.

    `frame` holds the log in any order and partitioning: the table's columns, `op` (I, U, D; null or without
    such a column: a full load), and the named technical columns, none of which is in the result. Column names
    are found without regard to case.

    What came later wins. A full load is older than any change. Changes are ordered by `timestamp` (a
    timestamp, or text that is one), then `sequence` (a whole number, or text that is one), then by the files
    that DMS named and the row's place in its file. `position` names the columns that hold a row's file path
    and its place there; without it Spark's hidden `_metadata` is used where the frame has it.

    With `before_prefix` (DMS: `BI_`) an update's before-image of the key says which row it moved, and that row
    goes. Without it, an update that changes a primary key leaves the old row behind: nothing in the log tells.
    What tells of it is an update of a key that no earlier row has left: those are counted as ORPHAN_UPDATES in
    `observation`, and with `strict` the first one fails the query.

    No Spark job runs here. Raises ChangeLogRefused where a column is missing or nothing orders the log at all.
    The query itself fails, `table`, file and row named, for an unknown Op, a null key, a change without its
    timestamp or sequence, and two rows of one key whose order nothing tells.
    """
    from pyspark.sql import functions as F  # noqa: N812

    log = find_columns(
        frame,
        table=table,
        keys=keys,
        op=op,
        timestamp=timestamp,
        sequence=sequence,
        before_prefix=before_prefix,
        position=position,
    )
    if log.op and not (log.timestamp or log.sequence or log.file):
        raise ChangeLogRefused(
            f"{table}: nothing orders its changes. Name the column of commit timestamps or of sequence numbers, or "
            "read the files so that each row's file and place in it are known."
        )
    rows = place(frame, log).where(_unless(problem(log), F.lit(True)))
    rows = _compared(_with_rows_that_moved_away(rows, log), log)
    if observation is not None:
        rows = rows.observe(
            observation, F.coalesce(F.sum(F.col(_ORPHAN).cast("bigint")), F.lit(0)).alias(ORPHAN_UPDATES)
        )
    left = F.col(_LAST) & ~F.col(OP).eqNullSafe(DELETE)
    kept = rows.where(_unless(F.coalesce(_contest(log), *([_orphan(log)] if strict else [])), left))
    return kept.select([F.col(quoted(column)) for column in log.business])


def _unless(problem: Column, condition: Column) -> Column:
    """`condition`; evaluating it fails the query where the problem's text is not null.

    For a filter: of a projection Spark leaves out what nobody reads. One expression, because Spark evaluates
    the parts of a conjunction in an order of its own.
    """
    from pyspark.sql import functions as F  # noqa: N812

    return F.when(problem.isNotNull(), F.raise_error(problem).cast("boolean")).otherwise(condition)


def _with_rows_that_moved_away(rows: DataFrame, log: LogColumns) -> DataFrame:
    """An update whose before-image has another key becomes two rows: the old key's deletion, and itself."""
    from pyspark.sql import functions as F  # noqa: N812

    if not log.images:
        return rows.withColumn(_LEFT, F.lit(None).cast("boolean"))
    images = {
        key: F.coalesce(F.col(quoted(image)), F.col(quoted(key)))
        for key, image in zip(log.keys, log.images, strict=True)
    }
    differs = F.lit(False)
    for key, image in images.items():
        differs = differs | (image != F.col(quoted(key)))
    moved = F.col(OP).eqNullSafe(UPDATE) & differs
    # `__cdc_left` is true of the deletion, false of an update that came from elsewhere, null of any other row.
    halves = F.when(moved, F.array(F.lit(True), F.lit(False))).otherwise(F.array(F.lit(None).cast("boolean")))
    split = rows.withColumn(_LEFT, F.explode(halves))
    left = F.coalesce(F.col(_LEFT), F.lit(False))
    return split.withColumns(
        {key: F.when(left, image).otherwise(F.col(quoted(key))) for key, image in images.items()}
        | {OP: F.when(left, F.lit(DELETE)).otherwise(F.col(OP))}
    )


def _compared(rows: DataFrame, log: LogColumns) -> DataFrame:
    """Each row beside its predecessor of the same key: one sort of the log, whatever is asked of it."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F  # noqa: N812

    of_key = Window.partitionBy([F.col(quoted(key)) for key in log.keys]).orderBy(*ORDER)
    before = F.lag(F.struct(F.lit(True).alias("there"), OP, *ORDER)).over(of_key)
    rows = rows.withColumn("__cdc_before", before).withColumn(_LAST, F.lead(F.lit(True)).over(of_key).isNull())
    gone = F.col("__cdc_before").isNull() | F.col(f"__cdc_before.{OP}").eqNullSafe(DELETE)
    update = (F.col(OP).eqNullSafe(UPDATE) & F.col(_LEFT).isNull()) | F.coalesce(F.col(_LEFT), F.lit(False))
    same = F.lit(True)
    for column in (PHASE, TIME, SEQUENCE):
        same = same & F.col(column).eqNullSafe(F.col(f"__cdc_before.{column}"))
    return rows.withColumns(
        {_ORPHAN: gone & update, _CONTESTED: F.col("__cdc_before").isNotNull() & same & _files_tell_nothing()}
    )


def _files_tell_nothing() -> Column:
    """Whether a row and the one before it, otherwise equal in order, lie in files whose names do not order them."""
    from pyspark.sql import functions as F  # noqa: N812

    same_file = F.coalesce(F.col(FILE) == F.col(f"__cdc_before.{FILE}"), F.lit(False))
    ordered = F.coalesce(F.col(STAMP) != F.col(f"__cdc_before.{STAMP}"), F.lit(False))
    return ~same_file & ~ordered


def _contest(log: LogColumns) -> Column:
    """The problem of a row that might as well come before its predecessor, as text."""
    from pyspark.sql import functions as F  # noqa: N812

    asked = " and ".join([*([log.timestamp] if log.timestamp else []), *([log.sequence] if log.sequence else [])])
    equal = f"equal in {asked} " if asked else ""
    if log.file is None:
        return F.when(
            F.col(_CONTESTED),
            F.lit(
                f"{log.table}: two rows of one key are {equal}and nothing else orders them; "
                "name a sequence column, or read the files so that each row's file and place in it are known"
            ),
        )
    return F.when(
        F.col(_CONTESTED),
        F.concat(
            F.lit(f"{log.table}: "),
            where_from(FILE, ROW),
            F.lit("the same key is in "),
            F.col(f"__cdc_before.{FILE}"),
            F.lit(
                f", {equal}and the names of the two files do not say which came first (DMS names them "
                "LOAD00000001.parquet and 20240102-030405006.parquet); name a sequence column"
            ),
        ),
    )


def _orphan(log: LogColumns) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    return F.when(
        F.col(_ORPHAN),
        F.concat(
            F.lit(f"{log.table}: "),
            where_from(FILE, ROW),
            F.lit(
                "an update of a key that no earlier row has left: its primary key was changed, or older files are gone"
            ),
        ),
    )
