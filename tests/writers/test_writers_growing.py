"""A run that brings columns which its contract declares: judged first, then the table gets them with the rows."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any

import pytest
from parquet_lake import ParquetLake
from writer_lake import Lake, in_order, new_run_id

from pipeline_runtime.errors import OutputRefused, WriteFailed
from pipeline_runtime.writers.plan import TargetPlan

pytestmark = pytest.mark.spark

FIRST = "SELECT * FROM VALUES (1L,'a'),(2L,'b') AS v(id, day)"
GROWN = "SELECT * FROM VALUES (9L,'x','b') AS v(id, note, day)"
COLUMNS = ["id", "day", "note"]


def growing(lake: Lake, *declared: str) -> TargetPlan:
    """The plan of a pipeline whose contract declares these columns."""
    return replace(lake.plan("t", "day"), declared=declared or ("id", "note", "day"))


@pytest.fixture(params=["iceberg", "parquet"])
def days(request: pytest.FixtureRequest, lake: Lake, parquet: ParquetLake) -> Any:
    """A table `t(id, day)`, partitioned by day: (1,'a'), (2,'b')."""
    it = lake if request.param == "iceberg" else parquet
    it.publish(it.plan("t", "day"), FIRST)
    return it


def columns(lake: Lake) -> list[str]:
    existing = lake.existing("t")
    assert existing is not None
    return [column.name for column in existing.schema]


def shown(lake: Any) -> list[tuple[Any, ...]]:
    """id, note where there is one, day."""
    if isinstance(lake, ParquetLake):
        return sorted((*row, *values) for values, rows in lake.shown("t").items() for row in rows)
    return sorted(lake.rows("t", "id, note, day" if "note" in columns(lake) else "id, day"))


def test_until_it_is_published_the_batch_and_its_column_are_nowhere_to_be_seen(days):
    before = days.seen("t")

    staged = days.stage(growing(days), GROWN)

    assert (staged.rows, staged.partitions, staged.is_empty) == (1, 1, False)
    assert [{**row.asDict()} for row in staged.audit_frame().collect()] == [{"id": 9, "note": "x", "day": "b"}]
    assert days.seen("t") == before

    staged.discard()
    staged.discard()

    assert days.seen("t") == before
    if days.kind == "iceberg":
        assert (days.branches("t"), days.audits(), days.strays("t")) == ({"main"}, [], [])


def test_publishing_adds_the_column_and_replaces_what_the_output_touches(days):
    published = days.publish(growing(days), GROWN)

    assert (published.rows, published.partitions, published.replaced) == (1, 1, True)
    assert sorted(columns(days)) == sorted(COLUMNS)
    rows = shown(days)
    assert (9, "x", "b") in rows
    assert len(rows) == 2, "partition a is as it was"
    if days.kind == "iceberg":
        assert rows == [(1, None, "a"), (9, "x", "b")]
        assert days.branches("t") == {"main"}
        assert published.snapshot_id == days.existing("t").current_snapshot


@pytest.mark.slow
def test_the_next_run_finds_the_column_there(days):
    days.publish(growing(days), GROWN)
    days.publish(growing(days), "SELECT * FROM VALUES (8L,'y','b') AS v(id, note, day)")
    assert (8, "y", "b") in shown(days)


@pytest.mark.slow
def test_running_again_under_the_same_id_gives_the_same_rows(days):
    run_id = new_run_id()
    days.publish(growing(days), GROWN, run_id)
    first = shown(days)
    days.publish(growing(days), GROWN, run_id)
    assert shown(days) == first


def test_an_empty_output_adds_no_column(days):
    before = days.seen("t")
    published = days.publish(growing(days), GROWN + " WHERE id < 0")
    assert published.replaced is False
    assert days.seen("t") == before


def test_a_column_that_no_contract_declares_is_still_refused(days):
    before = days.seen("t")
    with pytest.raises(OutputRefused, match=r"\+ note \(string\), not in the table"):
        days.stage(growing(days, "id", "day"), GROWN)
    assert days.seen("t") == before


@pytest.mark.slow
def test_a_declared_column_excuses_no_missing_one(days):
    with pytest.raises(OutputRefused, match=r"- id \(bigint\), not in the output"):
        days.stage(growing(days), "SELECT 'x' AS note, 'b' AS day")


def test_what_is_audited_is_what_is_published_also_with_random_values(lake):
    lake.publish(lake.plan("t", "day"), FIRST)
    staged = lake.stage(growing(lake), "SELECT id, uuid() AS note, day FROM (SELECT 9L AS id, 'b' AS day)")
    audited = in_order(staged.audit_frame().select("note"))
    staged.publish()
    assert [(note,) for id_, note, _ in lake.rows("t", "id, note, day") if id_ == 9] == audited


def test_a_write_that_fails_after_the_column_was_added_takes_it_back(lake):
    lake.publish(lake.plan("t", "day"), FIRST)
    staged = lake.stage(growing(lake), GROWN)
    lake.elsewhere(f"ALTER TABLE {lake.name('t')} SET TBLPROPERTIES ('write.data.path' = 's3://no-such-bucket/t')")
    rows, schema, snapshot, ours = lake.seen("t")

    with pytest.raises(WriteFailed, match="the write failed, nothing was published"):
        staged.publish()
    staged.discard()

    after = lake.seen("t")
    assert (after[0], list(map(str, after[1])), after[2], after[3]) == (rows, list(map(str, schema)), snapshot, ours)
    assert lake.branches("t") == {"main"}


def test_a_switch_that_fails_takes_the_column_back(parquet, caplog):
    parquet.publish(parquet.plan("t", "day"), FIRST)
    before = parquet.seen("t")
    staged = parquet.stage(growing(parquet), GROWN)
    glue = parquet.glue

    def refuse(**_: Any) -> None:
        from botocore.exceptions import ClientError

        raise ClientError({"Error": {"Code": "InternalServiceException", "Message": "later"}}, "BatchUpdatePartition")

    glue.meta.events.register_first("before-call.glue.BatchUpdatePartition", refuse)
    try:
        with caplog.at_level(logging.ERROR), pytest.raises(WriteFailed, match="nothing was published"):
            staged.publish()
    finally:
        glue.meta.events.unregister("before-call.glue.BatchUpdatePartition", refuse)
    staged.discard()

    assert parquet.seen("t") == before
