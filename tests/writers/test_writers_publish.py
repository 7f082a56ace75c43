"""Publishing: one commit on main, also when main has moved since the batch was staged."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from writer_lake import Lake, new_run_id

from pipeline_runtime.errors import WriteFailed
from pipeline_runtime.writers.iceberg_table import IcebergTable

pytestmark = pytest.mark.spark


def batch(*rows: tuple[int, str]) -> str:
    return f"SELECT * FROM VALUES {', '.join(map(str, rows))} AS v(id, day)"


@pytest.fixture
def days(lake: Lake) -> Lake:
    """A table `t(id, day)`, partitioned by day: (1,'a'), (2,'b')."""
    lake.create("t", "id bigint, day string", partitioned="day", rows="(1,'a'),(2,'b')")
    return lake


def test_reported_only_the_partitions_that_the_output_touches_are_replaced(days: Lake) -> None:
    published = days.publish(days.plan("t", "day"), batch((9, "b")))

    assert days.rows("t") == [(1, "a"), (9, "b")]
    assert (published.identity.fqn, published.rows, published.partitions) == (f"{days.database}.t", 1, 1)
    table = days.existing("t")
    assert table is not None
    assert (published.replaced, published.snapshot_id) == (True, table.current_snapshot)
    assert days.branches("t") == {"main"}


def test_an_unpartitioned_target_is_replaced_as_a_whole(lake: Lake) -> None:
    lake.create("t", "id bigint, day string", rows="(1,'a'),(2,'b')")

    published = lake.publish(lake.plan("t"), batch((9, "b")))

    assert lake.rows("t") == [(9, "b")]
    assert (published.rows, published.partitions, published.replaced) == (1, 0, True)


@pytest.mark.parametrize("partitioned", ["day", ""], ids=["partitioned", "unpartitioned"])
def test_running_again_gives_the_same_contents(lake: Lake, partitioned: str) -> None:
    by = filter(None, [partitioned])
    run_id = new_run_id()
    lake.publish(lake.plan("t", *by), batch((1, "a"), (2, "b")), run_id)
    first = lake.rows("t")

    lake.publish(lake.plan("t", *filter(None, [partitioned])), batch((1, "a"), (2, "b")), run_id)

    assert lake.rows("t") == first == [(1, "a"), (2, "b")]


def test_the_rows_of_the_null_partition_are_replaced_like_any_other(lake: Lake) -> None:
    lake.create("t", "id bigint, day string", partitioned="day", rows="(1,NULL),(2,'b')")

    lake.publish(lake.plan("t", "day"), "SELECT 7L AS id, CAST(NULL AS string) AS day")

    assert lake.rows("t") == [(2, "b"), (7, None)]


def test_two_runs_on_different_partitions_both_publish(days: Lake) -> None:
    plan = days.plan("t", "day")
    first = days.stage(plan, batch((10, "a")))
    second = days.stage(plan, batch((20, "c")))

    first.publish()
    published = second.publish()

    assert days.rows("t") == [(10, "a"), (2, "b"), (20, "c")]
    table = days.existing("t")
    assert table is not None
    assert published.snapshot_id == table.current_snapshot
    assert days.branches("t") == {"main"}


def test_a_batch_picked_onto_a_moved_main_can_be_recognised_by_its_record(days: Lake) -> None:
    staged = days.stage(days.plan("t", "day"), batch((10, "a")))
    days.elsewhere(f"INSERT INTO {days.name('t')} VALUES (3,'c')")

    published = staged.publish()

    snapshot = days.spark.table(f"{days.name('t')}.snapshots").where(f"snapshot_id = {published.snapshot_id}").first()
    assert snapshot.summary["source-snapshot-id"] == str(staged.record()["snapshot_id"])
    assert days.rows("t") == [(10, "a"), (2, "b"), (3, "c")]


def test_a_compaction_of_other_partitions_meanwhile_does_not_stop_the_batch(days: Lake) -> None:
    days.elsewhere(f"INSERT INTO {days.name('t')} VALUES (3,'b')")
    staged = days.stage(days.plan("t", "day"), batch((10, "a")))
    days.elsewhere(
        f"CALL glue_catalog.system.rewrite_data_files(table => '{days.database}.t', where => 'day = \"b\"', "
        "options => map('min-input-files', '2'))"
    )

    staged.publish()

    assert days.rows("t") == [(10, "a"), (2, "b"), (3, "b")]


def test_when_the_same_partition_changed_meanwhile_the_audited_rows_replace_it(
    days: Lake, caplog: pytest.LogCaptureFixture
) -> None:
    staged = days.stage(days.plan("t", "day"), batch((10, "a"), (11, "a")))
    days.elsewhere(f"INSERT INTO {days.name('t')} VALUES (3,'a'),(4,'c')")

    published = staged.publish()

    assert days.rows("t") == [(10, "a"), (11, "a"), (2, "b"), (4, "c")]
    assert (published.rows, published.partitions) == (2, 1)
    assert days.branches("t") == {"main"}
    assert [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING] == [
        f"{days.database}.t: what the batch replaces changed meanwhile; the audited rows are written again"
    ]


def test_an_unpartitioned_target_that_changed_meanwhile_ends_with_the_audited_rows(lake: Lake) -> None:
    lake.create("t", "id bigint, token string", rows="(1,'a')")
    staged = lake.stage(lake.plan("t"), "SELECT id, uuid() AS token FROM range(3)")
    audited = sorted(tuple(row) for row in staged.audit_frame().collect())
    lake.elsewhere(f"INSERT INTO {lake.name('t')} VALUES (9,'z')")

    staged.publish()

    assert lake.rows("t") == audited


def test_two_first_runs_at_once_both_publish(lake: Lake) -> None:
    plan = lake.plan("t", "day")
    first, second = lake.stage(plan, batch((1, "a"))), lake.stage(plan, batch((2, "b")))

    first.publish()
    second.publish()

    assert lake.rows("t") == [(1, "a"), (2, "b")]


def test_a_partition_that_never_stops_changing_fails_clearly_and_keeps_the_others_rows(
    days: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    staged = days.stage(days.plan("t", "day"), batch((10, "a")))
    call = IcebergTable.call
    others = iter(range(100, 200))

    def after_another_commit(table: IcebergTable, procedure: str, **arguments: Any) -> None:
        if procedure == "fast_forward":
            days.elsewhere(f"INSERT INTO {days.name('t')} VALUES ({next(others)},'a')")
        call(table, procedure, **arguments)

    monkeypatch.setattr(IcebergTable, "call", after_another_commit)
    with pytest.raises(WriteFailed, match=r"others kept changing .* nothing was published\. Run again"):
        staged.publish()

    assert days.rows("t") == [(1, "a"), (100, "a"), (101, "a"), (2, "b")]
    staged.discard()
    assert days.branches("t") == {"main"}


def test_a_commit_whose_answer_is_lost_still_counts_as_published(days: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    from py4j.protocol import Py4JError

    staged = days.stage(days.plan("t", "day"), batch((10, "a")))
    call = IcebergTable.call

    def answer_lost(table: IcebergTable, procedure: str, **arguments: Any) -> None:
        call(table, procedure, **arguments)
        raise Py4JError("Connection reset")

    monkeypatch.setattr(IcebergTable, "call", answer_lost)

    assert staged.publish().snapshot_id == staged.snapshot_id
    assert days.rows("t") == [(10, "a"), (2, "b")]


def test_a_catalog_that_refuses_the_commit_fails_the_publish(days: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    from pyspark.errors import PySparkException

    staged = days.stage(days.plan("t", "day"), batch((10, "a")))
    before = days.seen("t")

    def refused(*_: Any, **__: Any) -> None:
        raise PySparkException("AccessDeniedException: not authorized to perform glue:UpdateTable")

    monkeypatch.setattr(IcebergTable, "call", refused)
    with pytest.raises(WriteFailed, match=r"publishing failed, nothing was published: .*glue:UpdateTable"):
        staged.publish()

    staged.discard()
    assert days.seen("t") == before


def test_rows_that_cannot_be_dropped_from_the_branch_afterwards_are_published_all_the_same(
    days: Lake, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from pyspark.errors import PySparkException

    from pipeline_runtime.writers import iceberg

    def refused(*_: Any) -> None:
        raise PySparkException("throttled")

    staged = days.stage(days.plan("t", "day"), batch((10, "a")))
    monkeypatch.setattr(iceberg, "remove_batch", refused)

    assert staged.publish().replaced
    assert caplog.messages == [f"{days.database}.t is published, but branch {staged.branch} was not dropped: throttled"]
