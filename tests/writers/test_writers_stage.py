"""A staged batch: written where no reader sees it, and read back exactly as written."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest
from writer_lake import Lake, in_order, new_run_id

from pipeline_runtime.errors import OutputRefused

pytestmark = pytest.mark.spark


def test_a_staged_batch_is_audited_before_any_reader_sees_it(lake: Lake) -> None:
    lake.create("t", "id bigint, day string", partitioned="day", rows="(1,'a'),(2,'b')")
    before = lake.seen("t")

    staged = lake.stage(lake.plan("t", "day"), "SELECT * FROM VALUES (9,'b'),(8,'c') AS v(id, day)")

    assert (staged.rows, staged.partitions) == (2, 2)
    assert in_order(staged.audit_frame()) == [(8, "c"), (9, "b")]
    assert lake.seen("t") == before
    staged.discard()


def test_the_audit_of_an_unpartitioned_target_is_its_whole_new_content(lake: Lake) -> None:
    lake.create("t", "id bigint, v string", rows="(1,'old')")

    staged = lake.stage(lake.plan("t"), "SELECT * FROM VALUES (2,'new'),(3,'new') AS v(id, v)")

    assert (staged.rows, staged.partitions) == (2, 0)
    assert in_order(staged.audit_frame()) == [(2, "new"), (3, "new")]
    staged.discard()


def test_partitions_of_every_kind_and_null_are_audited_exactly(lake: Lake) -> None:
    types = "day date, at timestamp, shop string, level int, price decimal(6,2), id bigint"
    keys = "day, at, shop, level, price"
    old = "(DATE'2026-01-01', TIMESTAMP'2026-01-01 00:00:00', 'x', 1, 1.00, 1), (NULL, NULL, NULL, NULL, NULL, 2)"
    lake.create("t", types, partitioned=keys, rows=old + ", (NULL, NULL, 'x', NULL, NULL, 3)")
    select = (
        "SELECT day, at, shop, level, CAST(price AS DECIMAL(6,2)) AS price, id FROM VALUES"
        " (NULL, NULL, NULL, NULL, NULL, 20),"
        " (DATE'2026-03-29', TIMESTAMP'2026-03-29 02:30:00.123456', 'it''s', -1, 0.10, 21),"
        " (DATE'2026-03-29', TIMESTAMP'2026-03-29 02:30:00.123456', NULL, -1, 0.10, 22)"
        " AS v(day, at, shop, level, price, id)"
    )

    staged = lake.stage(lake.plan("t", *keys.split(", ")), select)

    audited = staged.audit_frame()
    assert {row.id for row in audited.collect()} == {20, 21, 22}
    assert {row.price for row in audited.collect()} == {None, Decimal("0.10")}
    staged.publish()
    assert lake.rows("t", "id") == [(1,), (20,), (21,), (22,), (3,)]


def test_what_is_validated_is_what_is_published_also_with_random_values(lake: Lake) -> None:
    staged = lake.stage(lake.plan("t", "day"), "SELECT uuid() AS token, id % 2 AS day FROM range(20)")

    audited = in_order(staged.audit_frame())
    staged.publish()

    assert lake.rows("t") == audited


def test_a_first_run_creates_the_table_with_columns_that_may_be_null(lake: Lake) -> None:
    select = (
        "SELECT 1L AS id, named_struct('a', 1, 'with space', 'x') AS s, array('p') AS tags, DATE'2026-01-01' AS day"
    )

    staged = lake.stage(lake.plan("t", "day"), select)
    staged.publish()

    table = lake.existing("t")
    assert table is not None
    assert [(column.name, column.type, column.nullable) for column in table.schema] == [
        ("id", "bigint", True),
        ("s", "struct<a:int,`with space`:string>", True),
        ("tags", "array<string>", True),
        ("day", "date", True),
    ]
    assert (table.location, table.partition_columns) == (lake.location("t"), ("day",))
    assert lake.rows("t", "id, s.a, tags[0]") == [(1, 1, "p")]


def test_columns_are_matched_by_name_and_widened_to_the_tables_types(lake: Lake) -> None:
    lake.create("t", "id bigint, amount decimal(18,2), note string")

    lake.publish(lake.plan("t"), "SELECT 'n' AS NOTE, CAST(1.5 AS DECIMAL(10,2)) AS amount, CAST(7 AS INT) AS id")

    assert lake.rows("t") == [(7, Decimal("1.50"), "n")]


def test_output_that_does_not_fit_is_refused_before_the_table_is_touched(lake: Lake) -> None:
    lake.create("t", "id bigint, day string", partitioned="day", rows="(1,'a')")
    before = lake.existing("t")

    with pytest.raises(OutputRefused, match=r"\+ merchant \(string\), not in the table"):
        lake.stage(lake.plan("t", "day"), "SELECT 1L AS id, 'a' AS day, 'm' AS merchant")

    assert lake.existing("t") == before


def test_a_table_that_is_partitioned_otherwise_is_refused(lake: Lake) -> None:
    lake.create("t", "id bigint, at timestamp", partitioned="days(at)")

    with pytest.raises(OutputRefused, match=r"partition_by is \[at\], the table is partitioned by \[day\(at\)\]"):
        lake.stage(lake.plan("t", "at"), "SELECT 1L AS id, TIMESTAMP'2026-01-01 00:00:00' AS at")


def test_files_of_an_earlier_partitioning_are_refused_since_they_would_survive_a_replacement(lake: Lake) -> None:
    lake.create("t", "id bigint, day string", rows="(1,'a')")
    lake.spark.sql(f"ALTER TABLE {lake.name('t')} ADD PARTITION FIELD day")

    with pytest.raises(OutputRefused, match=r"holds files of an earlier partitioning.*rewrite_data_files"):
        lake.stage(lake.plan("t", "day"), "SELECT 2L AS id, 'a' AS day")


@pytest.mark.parametrize("partitioned", ["datekey, event", ""], ids=["partitioned", "unpartitioned"])
def test_reported_unsorted_rows_from_many_tasks_make_few_files(lake: Lake, partitioned: str) -> None:
    properties = "'write.distribution-mode'='none', 'write.spark.fanout.enabled'='false'"
    lake.create("t", "id bigint, datekey int, event string", partitioned=partitioned, properties=properties)
    frame = lake.spark.range(0, 10_000, 1, 50).selectExpr(
        "id", "CAST(id % 3 AS INT) AS datekey", "IF(id % 3 = 0, 'a', 'b') AS event"
    )

    staged = lake.stage_frame(lake.plan("t", *filter(None, partitioned.split(", "))), frame)

    files = staged.audit_frame().selectExpr("_file").distinct().count()
    assert staged.rows == 10_000
    assert files <= (3 if partitioned else 2)
    staged.discard()


def test_the_record_says_what_is_about_to_be_published(lake: Lake) -> None:
    lake.create("t", "id bigint", rows="(1)")
    run_id = new_run_id()

    staged = lake.stage(lake.plan("t"), "SELECT 5L AS id", run_id)

    record = json.loads(json.dumps(staged.record()))
    base = lake.existing("t")
    assert base is not None
    assert record == {
        "table": f"{lake.database}.t",
        "run_id": run_id,
        "branch": "audit_" + run_id.replace("-", "_"),
        "base_snapshot_id": base.current_snapshot,
        "snapshot_id": staged.snapshot_id,
        "rows": 1,
        "partitions": 0,
        "created": False,
    }
    assert staged.publish().snapshot_id == record["snapshot_id"]
    summary = lake.spark.table(f"{lake.name('t')}.snapshots").where(f"snapshot_id = {record['snapshot_id']}").first()
    assert summary.summary["cordata.run_id"] == run_id
