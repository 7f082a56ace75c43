"""A parquet target's quarantine: a parquet table beside it, one partition a run."""

from __future__ import annotations

import pytest
from parquet_lake import ParquetLake
from writer_lake import new_run_id

from pipeline_runtime.errors import OutputRefused
from pipeline_runtime.writers.plan import Published
from pipeline_runtime.writers.quarantine import write_quarantine

pytestmark = pytest.mark.spark


def quarantine(lake: ParquetLake, select: str, run_id: str) -> Published:
    """Stages the rows for `t`, quarantines and discards them, as a run whose suite failed does."""
    staged = lake.stage(lake.plan("t", "day"), select, run_id)
    kept = write_quarantine(lake.tools, staged, lake.quarantine_plan("t", "day"), run_id)
    staged.discard()
    return kept


def test_the_audited_rows_go_to_a_parquet_table_beside_the_target(parquet: ParquetLake) -> None:
    parquet.publish(parquet.plan("t", "day"), "SELECT 1L AS id, 'a' AS day")
    before = parquet.seen("t")
    run_id = new_run_id()

    kept = quarantine(parquet, "SELECT 2L AS id, 'a' AS day", run_id)

    assert (kept.identity.table, kept.rows, kept.partitions, kept.replaced) == ("t__quarantine", 1, 1, True)
    assert parquet.shown("t__quarantine") == {(run_id,): [(2, "a")]}
    assert parquet.seen("t") == before
    assert parquet.records() == []
    [place] = {found["StorageDescriptor"]["Location"] for found in parquet.partitions("t__quarantine").values()}
    assert place.startswith(parquet.location("t") + "__quarantine/_runs/")


def test_the_quarantine_follows_a_product_that_gains_and_loses_columns(parquet: ParquetLake) -> None:
    first, second = new_run_id(), new_run_id()
    quarantine(parquet, "SELECT 1L AS id, 'a' AS day, 'x' AS note", first)
    quarantine(parquet, "SELECT 2L AS id, 'a' AS day, array(0.5D) AS scores", second)

    table = parquet.definition("t__quarantine")
    assert table is not None
    assert [(column["Name"], column["Type"]) for column in table["StorageDescriptor"]["Columns"]] == [
        ("id", "bigint"),
        ("note", "string"),
        ("day", "string"),
        ("scores", "array<double>"),
    ]
    assert parquet.shown("t__quarantine") == {
        (first,): [(1, "x", "a")],
        (second,): [(2, None, "a", [0.5])],
    }


def test_rows_that_no_longer_fit_the_quarantine_are_refused_by_column(parquet: ParquetLake) -> None:
    quarantine(parquet, "SELECT 1L AS id, 'a' AS day", new_run_id())
    before = parquet.seen("t__quarantine")

    with pytest.raises(OutputRefused, match=r"t__quarantine: .*~ id: string does not fit bigint"):
        quarantine(parquet, "SELECT 'one' AS id, 'a' AS day", new_run_id())

    assert parquet.seen("t__quarantine") == before
