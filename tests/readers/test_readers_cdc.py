"""Collapsing a change log: which row is the last, what is refused, what is counted."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from pipeline_runtime.errors import ChangeLogRefused
from pipeline_runtime.readers.cdc import ORPHAN_UPDATES, collapse_cdc

pytestmark = pytest.mark.spark

NOON = "2024-01-01 12:00:00"
FIRST, SECOND = "s3://lake/20240101-120000000.parquet", "s3://lake/20240102-000000000.parquet"
LOAD_9, LOAD_A = "s3://lake/LOAD00000009.parquet", "s3://lake/LOAD0000000A.parquet"
LOGGED = "Op string, ts string, id int, v string, file string, row int"


def rows(frame: Any) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in frame.collect())


def left(spark: Any, log: list[tuple[Any, ...]], columns: str = LOGGED, **told: Any) -> list[tuple[Any, ...]]:
    """What the log leaves; the rows are given in reverse, so that none is last by its place in the frame."""
    told = {"keys": ["id"], "timestamp": "ts", "position": ("file", "row")} | told
    return rows(collapse_cdc(spark.createDataFrame(log[::-1], columns), **told))


def failure(spark: Any, log: list[tuple[Any, ...]], columns: str = LOGGED, **told: Any) -> str:
    """What the query says when it fails."""
    from pipeline_runtime.engine.spark_error import failures, short_message

    with pytest.raises(failures()) as caught:
        left(spark, log, columns, **told)
    return short_message(caught.value)


def test_reported_dms_1_changes_that_share_a_timestamp_are_ordered_by_their_place_in_the_file(
    spark: Any, tmp_path: Any
) -> None:
    log = [
        ("I", 1, "a"),
        ("U", 1, "b"),
        ("D", 1, None),
        *(("U", 2, value) for value in ("63", "64", "65")),
    ]
    frame = spark.createDataFrame(
        [(*row, datetime(2024, 1, 1, tzinfo=UTC)) for row in log], "Op string, id int, v string, ts timestamp"
    )
    frame.coalesce(1).write.parquet(str(tmp_path / "claims"))
    read = spark.read.parquet(str(tmp_path / "claims"))
    for partitions in (1, 5):
        shuffled = read.select("*", "_metadata.file_path", "_metadata.row_index").repartition(partitions, "v")
        found = collapse_cdc(shuffled, keys=["id"], timestamp="ts", position=("file_path", "row_index"))
        assert rows(found) == [(2, "65")]
    assert rows(collapse_cdc(read, keys=["id"], timestamp="ts")) == [(2, "65")]
    assert rows(collapse_cdc(read, keys=["id"]).select("id", "v")) == [(2, "65")]


def test_reported_dms_1_changes_that_share_a_timestamp_are_ordered_by_their_sequence(spark: Any) -> None:
    log = [("I", NOON, 1, "a", "9"), ("U", NOON, 1, "b", "10"), ("U", NOON, 1, "c", "0100"), ("D", NOON, 2, None, "8")]
    columns = "Op string, ts string, id int, v string, seq string"
    assert left(spark, log, columns, sequence="SEQ", position=None) == [(1, "c")]


def test_reported_dms_1_without_anything_to_break_the_tie_the_log_is_refused(spark: Any) -> None:
    log = [("I", NOON, 1, "a"), ("U", NOON, 1, "b"), ("I", NOON, 2, "c")]
    columns = "Op string, ts string, id int, v string"
    message = failure(spark, log, columns, position=None, table="policy_raw.claims")
    assert "policy_raw.claims: two rows of one key are equal in ts and nothing else orders them" in message
    assert left(spark, log[1:], columns, position=None) == [(1, "b"), (2, "c")]


def test_reported_dms_3_a_full_load_has_no_op_and_is_older_than_any_change(spark: Any) -> None:
    log = [
        (None, None, 1, "a", LOAD_9, 0),
        (None, None, 2, "b", LOAD_9, 1),
        ("U", NOON, 1, "z", SECOND, 0),
        ("D", NOON, 2, None, SECOND, 1),
    ]
    assert left(spark, log) == [(1, "z")]
    assert left(spark, log, LOGGED.replace("Op", "op")) == [(1, "z")]
    assert left(spark, [row[2:] for row in log[:2]], "id int, v string, file string, row int") == [(1, "a"), (2, "b")]


def test_reported_dms_3_an_unknown_op_is_an_error_with_its_value(spark: Any) -> None:
    message = failure(spark, [("I", NOON, 1, "a", FIRST, 0), ("X", NOON, 2, "b", FIRST, 1)], table="policy_raw.claims")
    assert "policy_raw.claims: 20240101-120000000.parquet row 1: Op is 'X'; DMS writes I, U or D" in message


def test_reported_dms_4_a_change_supersedes_a_full_load_whose_stamp_is_later(spark: Any) -> None:
    log = [
        ("I", "2024-01-01 12:00:05", 1, "loaded", LOAD_9, 0),
        ("I", "2024-01-01 12:00:05", 2, "loaded", LOAD_A, 0),
        ("U", NOON, 1, "changed", FIRST, 0),
        ("D", NOON, 2, None, FIRST, 1),
    ]
    assert left(spark, log) == [(1, "changed")]


def test_reported_dms_4_of_two_full_load_files_the_one_with_the_higher_counter_is_later(spark: Any) -> None:
    log = [(None, None, 1, "nine", LOAD_9, 5), (None, None, 1, "ten", LOAD_A, 0)]
    assert left(spark, log) == [(1, "ten")]
    # AWS's own manual shows counters of five digits as well.
    log = [(None, None, 1, "old", "LOAD0000F.parquet", 5), (None, None, 1, "new", "LOAD00000010.parquet", 0)]
    assert left(spark, log) == [(1, "new")]


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("2024-01-01 00:00:00.10", "2024-01-01 00:00:00.9"),
        ("2024-01-01T00:00:00Z", "2024-01-01 00:00:00.5"),
        ("2024-01-01 00:00:00.9", "2024-01-01T00:00:00.95Z"),
        ("2024-01-01 03:00:00+02:00", "2024-01-01 02:00:00"),
    ],
)
def test_reported_dms_4_timestamps_that_are_text_are_compared_as_times(spark: Any, earlier: str, later: str) -> None:
    # The later change lies in the earlier file, so that nothing but its timestamp puts it last.
    assert left(spark, [("U", earlier, 1, "old", SECOND, 0), ("U", later, 1, "new", FIRST, 0)]) == [(1, "new")]
    assert left(spark, [("U", later, 1, "new", SECOND, 0), ("U", earlier, 1, "old", FIRST, 0)]) == [(1, "new")]


def test_text_times_are_utc_whatever_the_sessions_zone_so_a_clock_change_reorders_nothing(spark: Any) -> None:
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "Europe/Madrid")
    try:  # 02:30 does not exist in Madrid on that day and would become 03:30
        log = [("U", "2024-03-31 02:30:00", 1, "old", SECOND, 0), ("U", "2024-03-31 03:10:00", 1, "new", FIRST, 0)]
        assert left(spark, log) == [(1, "new")]
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)


@pytest.mark.parametrize("text", [None, "yesterday", "12:30", "2024", "2024-13-01 00:00:00"])
def test_a_change_whose_timestamp_is_no_moment_has_no_place_and_is_refused(spark: Any, text: str | None) -> None:
    message = failure(spark, [("U", text, 1, "a", FIRST, 7)])
    shown = "null" if text is None else f"'{text}'"
    assert f"20240101-120000000.parquet row 7: commit timestamp ts of a change is {shown}, not a date with" in message


def test_a_change_without_its_sequence_has_no_place_and_is_refused(spark: Any) -> None:
    columns = "Op string, ts string, id int, v string, seq string"
    message = failure(spark, [("U", NOON, 1, "a", "binlog.7:9")], columns, sequence="seq", position=None)
    assert "sequence column seq of a change is 'binlog.7:9', not a whole number" in message


def test_sequences_may_be_numbers_or_longer_than_any_number_type(spark: Any) -> None:
    columns = "Op string, ts string, id int, v string, seq "
    numbers = [("U", NOON, 1, "old", Decimal(9)), ("U", NOON, 1, "new", Decimal(10))]
    assert left(spark, numbers, columns + "decimal(38,0)", sequence="seq", position=None) == [(1, "new")]
    long = [("U", NOON, 1, "old", "9" * 40), ("U", NOON, 1, "new", "1" + "0" * 40)]
    assert left(spark, long, columns + "string", sequence="seq", position=None) == [(1, "new")]
    with pytest.raises(ChangeLogRefused, match="sequence column seq is double; what orders changes is a whole number"):
        left(spark, [("U", NOON, 1, "a", 1.5)], columns + "double", sequence="seq", position=None)


def test_reported_dms_5_a_before_image_takes_the_row_that_moved_away(spark: Any) -> None:
    columns = (
        "Op string, order_id int, product_id int, qty int, BI_order_id int, bi_product_id int, file string, row int"
    )
    log = [
        ("I", 30000, 1, 12, None, None, FIRST, 0),
        ("U", 30000, 1, 1, 30000, 1, FIRST, 1),
        ("U", 30000, 77, 1, 30000, 1, FIRST, 2),
    ]
    told = {"keys": ["order_id", "product_id"], "timestamp": None, "before_prefix": "BI_", "strict": True}
    assert left(spark, log, columns, **told) == [(30000, 77, 1)]


def test_rows_that_change_places_by_way_of_a_third_key_each_end_where_they_went(spark: Any) -> None:
    columns = "Op string, id int, v string, BI_id int, file string, row int"
    log = [
        (None, 1, "one", None, LOAD_9, 0),
        (None, 2, "two", None, LOAD_9, 1),
        ("U", 3, "one", 1, FIRST, 0),
        ("U", 1, "two", 2, FIRST, 1),
        ("U", 2, "one", 3, FIRST, 2),
    ]
    assert left(spark, log, columns, timestamp=None, before_prefix="BI_", strict=True) == [(1, "two"), (2, "one")]


MOVED_UNSEEN = [
    ("I", NOON, 1, "a", FIRST, 0),
    ("U", NOON, 1, "b", FIRST, 1),
    ("U", NOON, 77, "b", FIRST, 2),
    ("D", NOON, 1, None, SECOND, 0),
    ("U", NOON, 1, "c", SECOND, 1),
]


def test_reported_dms_5_without_before_images_an_update_of_a_key_that_is_not_there_is_counted(spark: Any) -> None:
    from pyspark.sql import Observation

    seen = Observation("cdc")
    frame = spark.createDataFrame(MOVED_UNSEEN, LOGGED)
    found = collapse_cdc(frame, keys=["id"], position=("file", "row"), timestamp="ts", observation=seen)
    assert rows(found) == [(1, "c"), (77, "b")]
    assert seen.get == {ORPHAN_UPDATES: 2}


def test_reported_dms_5_in_strict_mode_an_update_of_a_key_that_is_not_there_fails(spark: Any) -> None:
    assert left(spark, MOVED_UNSEEN[:2], strict=True) == [(1, "b")]
    message = failure(spark, MOVED_UNSEEN[:3], strict=True)
    assert "20240101-120000000.parquet row 2: an update of a key that no earlier row has left" in message
    # Also where a later row would settle the key all the same.
    assert "row 2: an update" in failure(spark, [*MOVED_UNSEEN[:3], ("U", NOON, 77, "d", SECOND, 3)], strict=True)


def test_an_update_with_a_before_image_of_a_row_that_never_came_is_counted_once(spark: Any) -> None:
    from pyspark.sql import Observation

    seen = Observation("cdc")
    log = [("U", 5, "x", 4, FIRST, 0), ("U", 5, "y", 5, FIRST, 1)]
    frame = spark.createDataFrame(log, "Op string, id int, v string, BI_id int, file string, row int")
    found = collapse_cdc(frame, keys=["id"], before_prefix="BI_", position=("file", "row"), observation=seen)
    assert rows(found) == [(5, "y")]
    assert seen.get == {ORPHAN_UPDATES: 1}


def test_a_row_that_is_inserted_after_its_deletion_is_there(spark: Any) -> None:
    log = [("I", NOON, 1, "a", FIRST, 0), ("D", NOON, 1, None, FIRST, 1), ("I", NOON, 1, "b", FIRST, 2)]
    assert left(spark, log) == [(1, "b")]
    assert left(spark, [*log, ("D", NOON, 1, "b", SECOND, 0)]) == []


def test_technical_columns_are_left_out_and_business_columns_that_look_like_them_stay(spark: Any) -> None:
    columns = "Op string, ts string, seq int, id int, BI_id int, bi_score int, file string, row int"
    frame = spark.createDataFrame([("U", NOON, 1, 1, 1, 99, FIRST, 0)], columns)
    found = collapse_cdc(
        frame, keys=["ID"], timestamp="TS", sequence="seq", before_prefix="BI_", position=("file", "row")
    )
    assert found.columns == ["id", "bi_score"]
    assert rows(found) == [(1, 99)]


def test_files_that_dms_did_not_name_order_nothing_between_them(spark: Any) -> None:
    one, other = "s3://lake/part-00000.parquet", "s3://lake/part-00001.parquet"
    within = [("I", NOON, 1, "a", one, 0), ("U", NOON, 1, "b", one, 1), ("U", NOON, 2, "c", other, 0)]
    assert left(spark, within) == [(1, "b"), (2, "c")]
    message = failure(spark, [*within, ("U", NOON, 1, "d", other, 1)])
    assert "part-00001.parquet row 1: the same key is in s3://lake/part-00000.parquet, equal in ts" in message
    assert left(spark, [*within, ("U", "2024-01-01 12:00:00.1", 1, "d", other, 1)]) == [(1, "d"), (2, "c")]


def test_a_change_in_a_full_load_file_is_refused(spark: Any) -> None:
    message = failure(spark, [("D", NOON, 1, None, LOAD_A, 3)])
    assert "LOAD0000000A.parquet row 3: Op is 'D' in a LOAD file; a full load only inserts" in message


def test_a_row_without_its_key_is_refused(spark: Any) -> None:
    assert "row 4: key column id is null" in failure(spark, [("I", NOON, None, "a", FIRST, 4)])


def test_a_log_that_nothing_orders_is_refused_before_any_query(spark: Any) -> None:
    frame = spark.createDataFrame([("I", 1)], "Op string, id int")
    with pytest.raises(ChangeLogRefused, match=r"policy_raw\.claims: nothing orders its changes\. Name the column of"):
        collapse_cdc(frame, keys=["id"], table="policy_raw.claims")


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ({"keys": ["claim"]}, r"key column claim is not in the change log; it has Op, ts, id, v, file, row"),
        ({"keys": []}, "at least one key column"),
        ({"timestamp": "at"}, "commit timestamp at is not in the change log"),
        ({"sequence": "scn"}, "sequence column scn is not in the change log"),
        ({"before_prefix": "BI_"}, "before-image BI_v is not in the change log"),
        ({"keys": ["ts"]}, "ts cannot be both a key and what orders the changes"),
        ({"timestamp": "id"}, "commit timestamp id is int, and whether it counts seconds or less nobody says"),
    ],
)
def test_columns_that_are_not_there_or_cannot_order_are_named(spark: Any, told: dict[str, Any], message: str) -> None:
    with pytest.raises(ChangeLogRefused, match=message):
        left(spark, [("I", NOON, 1, "a", FIRST, 0)], **({"keys": ["v"]} | told))


def test_columns_that_differ_only_in_case_are_refused(spark: Any) -> None:
    frame = spark.createDataFrame([("I", "I", 1)], "Op string, op string, id int")
    with pytest.raises(ChangeLogRefused, match=r"column Op is there 2 times \(Op, op\)"):
        collapse_cdc(frame, keys=["id"])


def test_an_empty_log_leaves_nothing(spark: Any) -> None:
    from pyspark.sql import Observation

    seen = Observation("cdc")
    frame = spark.createDataFrame([], LOGGED)
    found = collapse_cdc(frame, keys=["id"], timestamp="ts", position=("file", "row"), observation=seen)
    assert rows(found) == []
    assert seen.get == {ORPHAN_UPDATES: 0}


def test_columns_that_no_step_asks_for_are_not_read_from_the_files(spark: Any, tmp_path: Any) -> None:
    path = str(tmp_path / "claims")
    spark.createDataFrame([("I", 1, "wide", "v")], "Op string, id int, wide string, v string").write.parquet(path)
    found = collapse_cdc(spark.read.parquet(path), keys=["id"]).select("v")
    plan = found._jdf.queryExecution().executedPlan().toString()
    assert "wide" not in plan
    assert plan.count("Exchange") == 1
    assert plan.count("Sort [") == 1
