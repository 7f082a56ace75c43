"""A batch in quarantine: kept beside the target, one partition a run."""

from __future__ import annotations

import pytest
from writer_lake import Lake, new_run_id

from pipeline_runtime.errors import OutputRefused
from pipeline_runtime.writers.plan import Published
from pipeline_runtime.writers.quarantine import write_quarantine

pytestmark = pytest.mark.spark


def quarantine(lake: Lake, select: str, run_id: str) -> Published:
    """Stages the rows for `t`, quarantines and discards them, as a run whose suite failed does."""
    staged = lake.stage(lake.plan("t", "day"), select, run_id)
    kept = write_quarantine(lake.tools, staged, lake.quarantine_plan("t", "day"), run_id)
    staged.discard()
    return kept


def test_the_audited_rows_go_to_the_quarantine_and_the_target_stays_as_it_was(lake: Lake) -> None:
    lake.create("t", "id bigint, day string", partitioned="day", rows="(1,'a')")
    before = lake.seen("t")
    run_id = new_run_id()
    staged = lake.stage(lake.plan("t", "day"), "SELECT id, uuid() AS day FROM range(3)", run_id)
    audited = sorted(tuple(row) for row in staged.audit_frame().collect())

    kept = write_quarantine(lake.tools, staged, lake.quarantine_plan("t", "day"), run_id)
    staged.discard()

    assert (kept.identity.table, kept.rows, kept.partitions, kept.replaced) == ("t__quarantine", 3, 1, True)
    assert lake.rows("t__quarantine") == [(*row, run_id) for row in audited]
    assert lake.seen("t") == before
    table = lake.existing("t__quarantine")
    assert table is not None
    assert (table.location, table.partition_columns) == (lake.location("t") + "__quarantine", ("run_id",))


def test_each_run_has_its_partition_and_a_repeated_run_replaces_only_its_own(lake: Lake) -> None:
    first, second = new_run_id(), new_run_id()
    quarantine(lake, "SELECT 1L AS id, 'a' AS day", first)
    quarantine(lake, "SELECT 2L AS id, 'a' AS day", second)
    quarantine(lake, "SELECT 3L AS id, 'b' AS day", second)

    assert lake.rows("t__quarantine", "run_id, id, day") == sorted([(first, 1, "a"), (second, 3, "b")])
    assert lake.existing("t") is None


def test_the_quarantine_follows_a_product_that_gains_and_loses_columns(lake: Lake) -> None:
    first, second = new_run_id(), new_run_id()
    quarantine(lake, "SELECT 1L AS id, 'a' AS day, 'x' AS note", first)
    quarantine(lake, "SELECT 2L AS id, 'a' AS day, 0.5D AS score", second)

    assert lake.rows("t__quarantine", "id, note, score") == [(1, "x", None), (2, None, 0.5)]


def test_nothing_is_kept_of_an_empty_batch(lake: Lake) -> None:
    kept = quarantine(lake, "SELECT id, 'a' AS day FROM range(0)", new_run_id())

    assert (kept.rows, kept.replaced) == (0, False)
    assert lake.existing("t__quarantine") is None


def test_a_product_with_a_run_id_of_its_own_is_refused_with_a_remedy(lake: Lake) -> None:
    with pytest.raises(OutputRefused, match=r"has a column run_id of its own.*Rename it"):
        quarantine(lake, "SELECT 1L AS Run_Id, 'a' AS day", new_run_id())


def test_rows_that_no_longer_fit_the_quarantine_are_refused_by_column(lake: Lake) -> None:
    quarantine(lake, "SELECT 1L AS id, 'a' AS day", new_run_id())
    before = lake.seen("t__quarantine")

    with pytest.raises(OutputRefused, match=r"t__quarantine: .*~ id: string does not fit bigint"):
        quarantine(lake, "SELECT 'one' AS id, 'a' AS day", new_run_id())

    assert lake.seen("t__quarantine") == before
