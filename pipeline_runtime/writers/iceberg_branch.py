"""A run's audit branch: where a batch is written and read back before main shows it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import and_, or_
from typing import TYPE_CHECKING

from pipeline_runtime.engine.catalogs import quoted
from pipeline_runtime.engine.spark_4 import reader_at
from pipeline_runtime.writers.iceberg_table import MAIN, IcebergTable, Snapshot
from pipeline_runtime.writers.plan import Later

if TYPE_CHECKING:
    from datetime import datetime

    from pyspark.sql import Column, DataFrame

__all__ = [
    "AGAIN",
    "RUN_ID",
    "branch_name",
    "create_branch",
    "drop_branch",
    "drop_branches",
    "later_commits",
    "other_audits",
    "read_batch",
    "run_id_of",
    "write_batch",
]

#: Key in the snapshot summary of what a run staged.
RUN_ID = "cordata.run_id"
#: Ends the name of a run's second branch, for rows that had to be written once more.
AGAIN = "_again"
_PREFIX = "audit_"
_RETAIN = "RETAIN 7 DAYS"

_PartitionKey = tuple[str | None, ...]


def branch_name(run_id: str) -> str:
    """`audit_<run id>`, with underscores: Iceberg appends the name to the table's as an identifier."""
    return _PREFIX + run_id.replace("-", "_")


def create_branch(table: IcebergTable, branch: str) -> Snapshot:
    """A branch at main as it is now. Returns the snapshot it starts from: an empty one on an empty table."""
    table.refresh()
    main = table.head()
    start = f"AS OF VERSION {main.id} " if main is not None else ""
    table.spark.sql(f"ALTER TABLE {table.name} CREATE BRANCH {quoted(branch)} {start}{_RETAIN}")
    table.refresh()
    base = table.head(branch)
    if base is None:
        raise RuntimeError(f"{table.name}: Iceberg created branch {branch} without a snapshot")
    return base


def drop_branches(table: IcebergTable, run_id: str) -> frozenset[int]:
    """Drop every branch of this run; none is fine. Returns the snapshots that only those branches showed."""
    table.refresh()
    own = [branch for branch in table.branches if _is_of(branch, run_id)]
    only_theirs = frozenset(each for branch in own for each in table.ahead_of_main(branch))
    for branch in own:
        drop_branch(table, branch)
    return only_theirs


def drop_branch(table: IcebergTable, branch: str) -> None:
    """Drop one audit branch; none is fine."""
    if branch == MAIN:
        raise ValueError("main is not an audit branch")
    table.spark.sql(f"ALTER TABLE {table.name} DROP BRANCH IF EXISTS {quoted(branch)}")


def run_id_of(branch: str) -> str:
    """The run whose audit branch it is."""
    return branch.removeprefix(_PREFIX).removesuffix(AGAIN).replace("_", "-")


def other_audits(table: IcebergTable, run_id: str) -> tuple[str, ...]:
    """The audit branches of other runs."""
    return tuple(name for name in table.branches if name.startswith(_PREFIX) and not _is_of(name, run_id))


def write_batch(table: IcebergTable, frame: DataFrame, branch: str, base: Snapshot, run_id: str) -> Snapshot | None:
    """Write the frame to the branch, replacing the partitions it touches, or all rows of an unpartitioned table.

    Computes the frame once. Returns the commit; None where the frame held no row, whatever Iceberg
    committed for it.
    """
    from pyspark.sql import functions as F  # noqa: N812 - the name the whole of Spark's documentation uses

    partitioned = bool(table.partitioning)
    # Hash distribution by partition, sorted within a task: few files, and never a writer that meets a
    # partition twice, whatever the table's own properties say. An unpartitioned table has nothing to hash
    # by, so Spark evens out the sizes instead.
    writer = (
        (frame if partitioned else frame.hint("rebalance"))
        .writeTo(f"{table.name}.{quoted('branch_' + branch)}")
        .option("distribution-mode", "hash")
        .option("fanout-enabled", "false")
        .option(f"snapshot-property.{RUN_ID}", run_id)
    )
    if partitioned:
        writer.overwritePartitions()
    else:
        writer.overwrite(F.lit(True))
    table.refresh()
    head = table.head(branch)
    if head is None or head.id == base.id or head.count("added-records") == 0:
        return None
    return head


def read_batch(table: IcebergTable, batch: Snapshot | None) -> DataFrame:
    """Exactly the rows that the commit wrote, in the table's columns; no row for None.

    Read from the snapshot, so that the rows stay readable when the branch is gone.
    """
    from pyspark.sql import functions as F  # noqa: N812

    if batch is None:
        return table.spark.table(table.name).where(F.lit(False))
    rows = reader_at(table.spark, batch.id).table(table.name)
    if not table.partitioning:
        return rows
    return rows.where(_in_partitions(rows, [field.column for field in table.partitioning], _touched(table, batch)))


def later_commits(table: IcebergTable, batch: Snapshot, moment: datetime) -> tuple[Later, ...]:
    """Main's commits after that moment that wrote to what the batch replaces, oldest first."""
    replaced = set(_touched(table, batch)) if table.partitioning else None
    found = []
    for snapshot in table.since(None):
        if snapshot.committed_at <= moment:
            break
        if not snapshot.brings_rows:
            continue
        written = _touched(table, snapshot) if replaced is not None else []
        shared = tuple(key for key in written if replaced is not None and key in replaced)
        if shared or replaced is None:
            found.append(Later(snapshot.summary.get(RUN_ID), snapshot.committed_at, shared))
    return tuple(reversed(found))


def _touched(table: IcebergTable, batch: Snapshot) -> list[_PartitionKey]:
    """The partitions that hold the commit's files, values as text (exact for every type that can partition)."""
    entries = reader_at(table.spark, batch.id).table(f"{table.name}.entries")
    added = entries.where(f"status = 1 AND snapshot_id = {batch.id}")
    values = [f"CAST(data_file.partition.{quoted(field.name)} AS string)" for field in table.partitioning]
    return [tuple(row) for row in added.selectExpr(*values).distinct().collect()]


def _in_partitions(rows: DataFrame, columns: Sequence[str], keys: Sequence[_PartitionKey]) -> Column:
    """One condition that Iceberg can prune files by: values of the last column, grouped by the others' values."""
    from pyspark.sql import functions as F  # noqa: N812

    types = {field.name: field.dataType for field in rows.schema}

    def among(column: str, values: Sequence[str | None]) -> Column:
        known = [F.lit(value).cast(types[column]) for value in values if value is not None]
        held = F.col(quoted(column))
        conditions = [held.isin(known)] if known else []
        return reduce(or_, [*conditions, *([held.isNull()] if None in values else [])])

    groups: dict[_PartitionKey, list[str | None]] = {}
    for key in keys:
        groups.setdefault(key[:-1], []).append(key[-1])
    alternatives = [
        reduce(
            and_,
            [
                *(among(column, [value]) for column, value in zip(columns[:-1], others, strict=True)),
                among(columns[-1], lasts),
            ],
        )
        for others, lasts in groups.items()
    ]
    return reduce(or_, alternatives)


def _is_of(branch: str, run_id: str) -> bool:
    own = branch_name(run_id)
    return branch == own or branch.startswith(f"{own}_")
