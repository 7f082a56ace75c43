"""A parquet publish that stops halfway: every partition is old or new, whole, and the next run settles it."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from parquet_lake import ParquetLake
from writer_lake import new_run_id

from pipeline_runtime.catalog import partition_switch
from pipeline_runtime.errors import EvidenceFailed, WriteFailed
from pipeline_runtime.evidence.runs import EventKind, RunEvidence
from pipeline_runtime.writers import abandoned, parquet_settle
from pipeline_runtime.writers.parquet_ledger import record_of_publish

pytestmark = pytest.mark.spark

OLD = {("a",): [(1,)], ("b",): [(2,)], ("c",): [(3,)]}
NEW = {("a",): [(10,)], ("b",): [(20,)], ("c",): [(3,)], ("d",): [(40,)]}
BATCH = "SELECT * FROM VALUES (10L,'a'),(20L,'b'),(40L,'d') AS v(id, day)"


class KilledError(BaseException):
    """The process is gone: nothing of ours runs after it."""


@pytest.fixture
def days(parquet: ParquetLake, monkeypatch: pytest.MonkeyPatch) -> ParquetLake:
    """A published table `t` with the days a, b and c."""
    monkeypatch.setattr(partition_switch, "_PAUSE", 0.0)
    parquet.publish(parquet.plan("t", "day"), "SELECT * FROM VALUES (1L,'a'),(2L,'b'),(3L,'c') AS v(id, day)")
    return parquet


@contextmanager
def at_call(lake: ParquetLake, operation: str, act: Callable[..., Any], *, before: bool = True) -> Iterator[None]:
    """Runs `act` before or after each of these calls to Glue; it may raise or answer."""
    event = f"{'before' if before else 'after'}-call.glue.{operation}"
    lake.glue.meta.events.register(event, act)
    try:
        yield
    finally:
        lake.glue.meta.events.unregister(event, act)


def kill(**_: Any) -> None:
    raise KilledError


def refuse(**_: Any) -> Any:
    """A 200 answer in which every partition failed."""
    detail = {"ErrorCode": "InternalServiceException", "ErrorMessage": "not today"}
    errors = [{"PartitionValueList": [day], "ErrorDetail": detail} for day in "ab"]
    return SimpleNamespace(status_code=200), {"Errors": errors}


def killed_while_publishing(lake: ParquetLake, operation: str, *, before: bool) -> str:
    """A run that is killed at its first such call; its id."""
    run_id = new_run_id()
    staged = lake.stage(lake.plan("t", "day"), BATCH, run_id)
    with at_call(lake, operation, kill, before=before), pytest.raises(KilledError):
        staged.publish()
    return run_id


def next_run(lake: ParquetLake) -> None:
    """A run that stages something and publishes nothing."""
    lake.stage(lake.plan("t", "day"), "SELECT 9L AS id, 'z' AS day").discard()


def report(lake: ParquetLake, run_id: str, event_type: str) -> None:
    """The run's terminal event, as the closer would claim it."""
    RunEvidence(lake.evidence, run_id).claim(EventKind.TERMINAL, json.dumps({"eventType": event_type}).encode())


def test_at_every_call_each_partition_shows_its_old_rows_or_its_new_ones_whole(days: ParquetLake) -> None:
    moments: list[dict[Any, Any]] = []
    staged = days.stage(days.plan("t", "day"), BATCH)

    with _watching(days, moments):
        staged.publish()

    assert len(moments) >= 4
    for shown in moments:
        assert set(shown) >= set(OLD)
        for values, rows in shown.items():
            assert rows in (OLD.get(values), NEW[values])
    assert days.shown("t") == NEW


@contextmanager
def _watching(lake: ParquetLake, moments: list[dict[Any, Any]]) -> Iterator[None]:
    def look(**_: Any) -> None:
        moments.append(lake.shown("t"))

    names = ("BatchCreatePartition", "BatchUpdatePartition", "UpdateTable")
    hooks = [f"{when}-call.glue.{name}" for name in names for when in ("before", "after")]
    for hook in hooks:
        lake.glue.meta.events.register(hook, look)
    try:
        yield
    finally:
        for hook in hooks:
            lake.glue.meta.events.unregister(hook, look)


def test_a_switch_that_fails_in_the_middle_is_undone_and_says_why(days: ParquetLake) -> None:
    before = days.seen("t")
    staged = days.stage(days.plan("t", "day"), BATCH)

    with at_call(days, "BatchUpdatePartition", refuse), pytest.raises(WriteFailed) as failed:
        staged.publish()
    staged.discard()

    assert "publishing failed, nothing was published" in str(failed.value)
    assert "2 of 3 partitions could not be switched" in str(failed.value)
    assert "[a]: InternalServiceException: not today" in str(failed.value)
    assert days.seen("t") == before
    assert days.records() == []


def test_files_that_a_reader_may_have_seen_stay_after_an_undone_switch(days: ParquetLake) -> None:
    seen: list[str] = []

    def look_then_refuse(**_: Any) -> Any:
        seen.append(days.partitions("t")[("d",)]["StorageDescriptor"]["Location"])
        return refuse()

    staged = days.stage(days.plan("t", "day"), BATCH)
    with at_call(days, "BatchUpdatePartition", look_then_refuse), pytest.raises(WriteFailed):
        staged.publish()
    staged.discard()
    next_run(days)

    assert ("d",) not in days.shown("t")
    assert days.rows_at(seen[0]) == [(40,)]


def test_a_switch_that_can_neither_be_finished_nor_undone_is_left_to_the_next_run(days: ParquetLake) -> None:
    staged = days.stage(days.plan("t", "day"), BATCH)

    with (
        at_call(days, "BatchUpdatePartition", refuse),
        at_call(days, "BatchDeletePartition", refuse),
        pytest.raises(WriteFailed, match=r"publishing failed halfway .* could not be undone .*the next run"),
    ):
        staged.publish()
    staged.discard()
    assert days.shown("t") == {**OLD, ("d",): [(40,)]}

    next_run(days)
    assert days.shown("t") == NEW
    assert days.records() == []


@pytest.mark.parametrize(
    ("operation", "before"),
    [
        ("BatchCreatePartition", True),
        ("BatchCreatePartition", False),
        ("BatchUpdatePartition", False),
        ("UpdateTable", True),
        ("UpdateTable", False),
    ],
)
def test_a_run_that_is_killed_while_publishing_is_finished_by_the_next_one(
    days: ParquetLake, operation: str, before: bool
) -> None:
    run_id = killed_while_publishing(days, operation, before=before)
    identity = days.plan("t", "day").identity
    halfway = days.shown("t")
    assert all(rows in (OLD.get(values), NEW[values]) for values, rows in halfway.items())
    published = record_of_publish(days.evidence, days.glue, identity, run_id)
    assert (published is not None) == (operation == "UpdateTable" and not before)

    next_run(days)

    assert days.shown("t") == NEW
    assert days.records() == []
    record = record_of_publish(days.evidence, days.glue, identity, run_id)
    assert record is not None
    assert (record.rows, record.partitions) == (3, 3)


@pytest.mark.parametrize("event_type", ["FAIL", "COMPLETE"])
def test_a_killed_run_ends_as_it_was_reported(days: ParquetLake, event_type: str) -> None:
    run_id = killed_while_publishing(days, "BatchUpdatePartition", before=True)
    report(days, run_id, event_type)

    next_run(days)

    assert days.shown("t") == (OLD if event_type == "FAIL" else NEW)
    assert days.records() == []
    table = days.definition("t")
    assert table is not None
    assert (table["Parameters"]["cordata.run_id"] == run_id) == (event_type == "COMPLETE")


@pytest.mark.parametrize("before", [True, False])
def test_an_unpartitioned_target_is_switched_in_one_update(parquet: ParquetLake, before: bool) -> None:
    parquet.publish(parquet.plan("t"), "SELECT 1L AS id")
    run_id = new_run_id()
    staged = parquet.stage(parquet.plan("t"), "SELECT 2L AS id", run_id)

    with at_call(parquet, "UpdateTable", kill, before=before), pytest.raises(KilledError):
        staged.publish()
    assert parquet.shown("t") == {(): [(1,)] if before else [(2,)]}

    parquet.stage(parquet.plan("t"), "SELECT 9L AS id").discard()
    assert parquet.shown("t") == {(): [(2,)]}
    assert record_of_publish(parquet.evidence, parquet.glue, staged.plan.identity, run_id) is not None


def test_an_unpartitioned_publish_that_fails_leaves_location_statistics_and_run(parquet: ParquetLake) -> None:
    parquet.publish(parquet.plan("t"), "SELECT 1L AS id")
    before = parquet.seen("t")

    def other_writer(**_: Any) -> None:
        from botocore.exceptions import ClientError

        raise ClientError({"Error": {"Code": "InvalidInputException", "Message": "no"}}, "UpdateTable")

    staged = parquet.stage(parquet.plan("t"), "SELECT 2L AS id")
    with at_call(parquet, "UpdateTable", other_writer), pytest.raises(WriteFailed, match="InvalidInputException"):
        staged.publish()
    staged.discard()

    assert parquet.seen("t") == before


def test_a_partition_that_another_writer_replaces_during_the_switch_is_theirs(days: ParquetLake) -> None:
    theirs = {"Values": ["b"], "StorageDescriptor": {"Location": "s3://test-lake/theirs/b"}}

    def replace_b(**_: Any) -> None:
        days.glue.meta.events.unregister("before-call.glue.BatchGetPartition", second_look)
        days.glue.batch_update_partition(
            DatabaseName=days.database,
            TableName="t",
            Entries=[{"PartitionValueList": ["b"], "PartitionInput": theirs}],
        )

    looks: list[int] = []

    def second_look(**_: Any) -> None:
        looks.append(1)
        if len(looks) == 2:
            replace_b()

    staged = days.stage(days.plan("t", "day"), BATCH)
    days.glue.meta.events.register("before-call.glue.BatchGetPartition", second_look)
    with pytest.raises(WriteFailed, match=r"another writer changed partition \[b\] of .*\.t meanwhile"):
        staged.publish()

    assert days.partitions("t")[("b",)]["StorageDescriptor"]["Location"] == "s3://test-lake/theirs/b"
    assert days.shown("t") == {**OLD, ("b",): []}


def test_a_run_that_was_taken_for_dead_stops_and_leaves_the_table_to_the_other(days: ParquetLake) -> None:
    staged = days.stage(days.plan("t", "day"), BATCH)

    def other_run(**_: Any) -> None:
        days.glue.meta.events.unregister("after-call.glue.BatchCreatePartition", other_run)
        next_run(days)

    days.glue.meta.events.register("after-call.glue.BatchCreatePartition", other_run)
    with pytest.raises(WriteFailed, match=r"took run .* for dead and settled it as published"):
        staged.publish()
    staged.discard()

    assert days.shown("t") == NEW


def test_nothing_is_switched_where_no_record_of_it_can_be_kept(
    days: ParquetLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = days.seen("t")
    staged = days.stage(days.plan("t", "day"), BATCH)

    def full(*_: Any) -> None:
        raise EvidenceFailed("evidence: no space")

    with monkeypatch.context() as patched:
        patched.setattr(type(days.evidence), "put", full)
        with pytest.raises(WriteFailed, match="nothing was published: evidence: no space"):
            staged.publish()
    staged.discard()

    assert days.seen("t") == before


def test_superseded_files_stay_for_their_readers_and_go_after_the_grace_period(
    days: ParquetLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = {values: found["StorageDescriptor"]["Location"] for values, found in days.partitions("t").items()}
    days.publish(days.plan("t", "day"), BATCH)
    next_run(days)
    assert days.rows_at(old[("a",)]) == [(1,)]

    monkeypatch.setattr(parquet_settle, "GRACE", timedelta(0))
    next_run(days)

    assert days.files_at(old[("a",)]) == {}
    assert days.files_at(old[("b",)]) == {}
    assert days.shown("t") == NEW
    assert days.evidence.keys("superseded/") == []


def test_files_that_someone_put_back_into_use_are_not_removed(
    days: ParquetLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = days.partitions("t")[("a",)]
    days.publish(days.plan("t", "day"), BATCH)
    definition = {key: old[key] for key in ("Values", "StorageDescriptor", "Parameters")}
    days.glue.batch_update_partition(
        DatabaseName=days.database,
        TableName="t",
        Entries=[{"PartitionValueList": ["a"], "PartitionInput": definition}],
    )

    monkeypatch.setattr(parquet_settle, "GRACE", timedelta(0))
    next_run(days)

    assert days.shown("t") == {**NEW, ("a",): [(1,)]}


def test_files_that_no_run_of_ours_wrote_are_never_removed(
    parquet: ParquetLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    parquet.define("t", {"id": "bigint", "day": "string"}, "day")
    theirs = f"{parquet.location('t')}/day=a"
    parquet.s3.put_object(Bucket="test-lake", Key=f"{theirs.removeprefix('s3://test-lake/')}/theirs", Body=b"x")
    parquet.glue.create_partition(
        DatabaseName=parquet.database,
        TableName="t",
        PartitionInput={"Values": ["a"], "StorageDescriptor": {"Location": theirs}},
    )

    parquet.publish(parquet.plan("t", "day"), "SELECT 1L AS id, 'a' AS day")
    monkeypatch.setattr(parquet_settle, "GRACE", timedelta(0))
    next_run(parquet)

    assert parquet.shown("t") == {("a",): [(1,)]}
    assert list(parquet.files_at(theirs).values()) == [b"x"]


def test_the_files_of_a_process_that_is_gone_go_with_the_next_run(days: ParquetLake) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", "from pipeline_runtime.writers.owner import this_process; print(this_process())"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    staged = replace(days, owner=ended).stage(days.plan("t", "day"), BATCH)  # and then the process is gone

    next_run(days)

    assert [days.files_at(place) for place in staged.locations] == [{}, {}, {}]
    assert days.records() == []
    assert days.shown("t") == OLD


@pytest.mark.parametrize("sign", ["reported", "a day old"])
def test_the_files_of_a_run_elsewhere_stay_until_it_is_known_to_have_ended(
    days: ParquetLake, monkeypatch: pytest.MonkeyPatch, sign: str
) -> None:
    run_id = new_run_id()
    staged = replace(days, owner="another-machine/1/2/3").stage(days.plan("t", "day"), BATCH, run_id)

    next_run(days)
    assert days.rows_at(staged.locations[0]) == [(10,)], "it may be validating at this moment"

    if sign == "reported":
        report(days, run_id, "FAIL")
    else:
        monkeypatch.setattr(abandoned, "ABANDONED_AFTER", timedelta(0))
    next_run(days)
    assert [days.files_at(place) for place in staged.locations] == [{}, {}, {}]


def test_a_run_that_starts_again_under_its_id_begins_with_an_empty_folder(days: ParquetLake) -> None:
    run_id = new_run_id()
    days.stage(days.plan("t", "day"), BATCH, run_id)  # and then the process is gone

    days.publish(days.plan("t", "day"), "SELECT 50L AS id, 'a' AS day", run_id)

    assert days.shown("t") == {**OLD, ("a",): [(50,)]}


def test_a_run_that_starts_again_after_it_published_writes_beside_what_is_in_use(days: ParquetLake) -> None:
    run_id = killed_while_publishing(days, "UpdateTable", before=False)

    days.publish(days.plan("t", "day"), "SELECT 50L AS id, 'a' AS day", run_id)

    assert days.shown("t") == {**NEW, ("a",): [(50,)]}
    assert f"/_runs/{run_id}.2/" in days.partitions("t")[("a",)]["StorageDescriptor"]["Location"]


def test_the_table_of_a_killed_first_run_is_known_to_hold_nothing(parquet: ParquetLake) -> None:
    parquet.stage(parquet.plan("t", "day"), BATCH, run_id := new_run_id())  # and then the process is gone
    assert parquet.shown("t") == {}

    second = parquet.stage(parquet.plan("t", "day"), BATCH, run_id)

    assert second.created
    second.discard()
    assert parquet.definition("t") is None


def test_what_cannot_be_removed_is_a_warning_and_tried_again(
    days: ParquetLake, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(parquet_settle, "GRACE", timedelta(0))
    days.publish(days.plan("t", "day"), BATCH)

    def keep(**_: Any) -> Any:
        errors = [{"Key": "k", "Code": "AccessDenied", "Message": "kept"}]
        return SimpleNamespace(status_code=200), {"Errors": errors}

    days.s3.meta.events.register("before-call.s3.DeleteObjects", keep)
    with caplog.at_level(logging.WARNING):
        days.stage(days.plan("t", "day"), "SELECT 9L AS id, 'z' AS day")
    days.s3.meta.events.unregister("before-call.s3.DeleteObjects", keep)
    assert any("superseded files were not removed" in message for message in caplog.messages)

    next_run(days)
    assert days.shown("t") == NEW
    assert all("/_runs/" in key for key in days.keys("t"))


def test_a_record_that_cannot_be_read_stops_the_run_and_is_named(days: ParquetLake) -> None:
    killed_while_publishing(days, "BatchCreatePartition", before=True)
    [key] = days.records()
    days.evidence.put(key, b"{")

    with pytest.raises(EvidenceFailed, match=r"journals/.*is no record of a parquet publish"):
        next_run(days)

    assert days.shown("t") == OLD
