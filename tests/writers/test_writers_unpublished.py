"""Whatever stops a run before it publishes leaves the target as it was."""

from __future__ import annotations

from typing import Any

import pytest
from writer_lake import ACCOUNT, Lake, new_run_id

from pipeline_runtime.catalog.table import TableIdentity
from pipeline_runtime.catalog.update import set_parameters
from pipeline_runtime.errors import RunInterrupted, WriteFailed
from pipeline_runtime.writers import iceberg

pytestmark = pytest.mark.spark

TWO_DAYS = "SELECT * FROM VALUES (9,'b'),(8,'c') AS v(id, day)"


@pytest.mark.parametrize("partitioned", ["day", ""], ids=["partitioned", "unpartitioned"])
def test_a_discarded_batch_leaves_rows_columns_snapshot_and_parameters(lake: Lake, partitioned: str) -> None:
    lake.create("t", "id bigint, day string", partitioned=partitioned, rows="(1,'a'),(2,'b')")
    identity = TableIdentity(lake.region, ACCOUNT, lake.database, "t")
    set_parameters(lake.glue, identity, {"cordata.freshness_sla": "PT4H"})
    before = lake.seen("t")
    assert before[-1] == {"cordata.freshness_sla": "PT4H"}

    lake.stage(lake.plan("t", *filter(None, [partitioned])), TWO_DAYS).discard()

    assert lake.seen("t") == before
    assert lake.branches("t") == {"main"}
    assert lake.strays("t") == []
    assert lake.audits() == []


def test_discarding_twice_is_silent(lake: Lake, caplog: pytest.LogCaptureFixture) -> None:
    staged = lake.stage(lake.plan("t", "day"), TWO_DAYS)

    staged.discard()
    staged.discard()

    assert caplog.messages == []
    assert lake.existing("t") is None


def test_discarding_reports_a_catalog_out_of_reach_and_hides_no_earlier_error(
    lake: Lake, caplog: pytest.LogCaptureFixture
) -> None:
    staged = lake.stage(lake.plan("t", "day"), TWO_DAYS)
    lake.glue.delete_table(DatabaseName=lake.database, Name="t")

    staged.discard()

    assert [f"branch {staged.branch} was not cleaned up" in message for message in caplog.messages] == [True]


def test_a_row_that_raises_fails_the_write_with_one_line_and_changes_nothing(lake: Lake) -> None:
    lake.create("t", "id bigint, day string", partitioned="day", rows="(1,'a'),(2,'b')")
    before = lake.seen("t")
    select = (
        "SELECT IF(id = 150, CAST(raise_error('score out of range') AS bigint), id) AS id, 'b' AS day "
        "FROM range(0, 200, 1, 4)"
    )

    with pytest.raises(WriteFailed) as failed:
        lake.stage(lake.plan("t", "day"), select)

    assert "score out of range" in str(failed.value)
    assert "\n" not in str(failed.value)
    assert lake.seen("t") == before
    assert lake.branches("t") == {"main"}


def test_a_python_function_that_raises_is_named_by_what_it_said(lake: Lake) -> None:
    from pyspark.sql.functions import udf

    def refuse(number):  # without type hints, from which Spark 4 would infer the kind of function
        raise ValueError(f"no score for {number}")

    frame = lake.spark.range(1).select(udf(refuse, "bigint")("id").alias("id"))

    with pytest.raises(WriteFailed) as failed:
        lake.stage_frame(lake.plan("t"), frame)

    assert str(failed.value).endswith("the write failed, nothing was published: ValueError: no score for 0")
    assert lake.existing("t") is None


def test_a_null_in_a_column_that_must_not_be_null_fails_the_write_and_names_the_column(lake: Lake) -> None:
    lake.create("t", "id bigint NOT NULL, v string", rows="(1,'a')")
    before = lake.seen("t")

    with pytest.raises(WriteFailed, match=r"(?i)null value .*id"):
        lake.stage(lake.plan("t"), "SELECT IF(id < 3, id, NULL) AS id, 'b' AS v FROM range(5)")

    assert lake.seen("t") == before


@pytest.mark.parametrize("ending", ["discarded", "empty", "failed"])
def test_a_first_run_that_publishes_nothing_leaves_no_table(lake: Lake, ending: str) -> None:
    plan = lake.plan("t", "day")
    if ending == "discarded":
        lake.stage(plan, TWO_DAYS).discard()
        assert lake.keys("t") == []
    elif ending == "empty":
        published = lake.publish(plan, f"{TWO_DAYS} WHERE id > 100")
        assert (published.replaced, published.snapshot_id) == (False, None)
        assert lake.keys("t") == []
    else:
        with pytest.raises(WriteFailed):
            lake.stage(plan, "SELECT id, CAST(raise_error('no') AS string) AS day FROM range(1)")

    assert lake.existing("t") is None


def test_a_table_that_someone_else_created_empty_stays_when_nothing_is_published(lake: Lake) -> None:
    lake.create("t", "id bigint, day string", partitioned="day")

    lake.stage(lake.plan("t", "day"), TWO_DAYS).discard()

    assert lake.rows("t") == []


@pytest.mark.parametrize("partitioned", ["day", ""], ids=["partitioned", "unpartitioned"])
def test_reported_an_empty_output_replaces_nothing_and_says_so(lake: Lake, partitioned: str) -> None:
    lake.create("t", "id bigint, day string", partitioned=partitioned, rows="(1,'a'),(2,'b')")
    before = lake.seen("t")

    staged = lake.stage(lake.plan("t", *filter(None, [partitioned])), f"{TWO_DAYS} WHERE id > 100")
    audited = staged.audit_frame().collect()
    published = staged.publish()

    assert (staged.rows, staged.snapshot_id, audited) == (0, None, [])
    assert (published.replaced, published.rows, published.partitions) == (False, 0, 0)
    assert published.snapshot_id == before[2]
    assert lake.seen("t") == before
    assert lake.branches("t") == {"main"}


def test_an_interrupted_write_is_left_alone_since_the_engine_may_not_be_called_any_more(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: Any) -> None:
        raise RunInterrupted("SIGTERM")

    run_id = new_run_id()
    lake.create("t", "id bigint, day string", partitioned="day", rows="(1,'a')")
    before = lake.seen("t")
    monkeypatch.setattr(iceberg, "write_batch", interrupted)

    with pytest.raises(RunInterrupted):
        lake.stage(lake.plan("t", "day"), TWO_DAYS, run_id)

    assert lake.seen("t") == before
    assert lake.branches("t") == {"main", "audit_" + run_id.replace("-", "_")}


def test_a_first_run_that_was_killed_is_known_to_have_published_nothing(lake: Lake) -> None:
    lake.stage(lake.plan("t", "day"), TWO_DAYS, run_id := new_run_id())  # and then the process is gone

    second = lake.stage(lake.plan("t", "day"), TWO_DAYS, run_id)

    assert second.created
    second.discard()
    assert lake.existing("t") is None


def test_two_first_runs_at_once_do_not_take_the_table_from_each_other(lake: Lake) -> None:
    plan = lake.plan("t", "day")
    first = lake.stage(plan, "SELECT 1L AS id, 'a' AS day")
    second = lake.stage(plan, "SELECT 2L AS id, 'b' AS day")

    first.discard()
    second.publish()

    assert lake.rows("t") == [(2, "b")]
