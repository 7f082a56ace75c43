"""Switching partitions: whole or not at all for each, driven to either end from wherever it stopped."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest
from glue_lake import ACCOUNT, Lake

from pipeline_runtime.catalog import partition_switch
from pipeline_runtime.catalog.partition_switch import (
    PartitionMove,
    partition_definitions,
    switch,
    switch_back,
)
from pipeline_runtime.catalog.table import TableIdentity
from pipeline_runtime.errors import CatalogError

Days = dict[str, str]


@pytest.fixture
def days(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> Lake:
    """A table `t` by day, with the days a and b."""
    monkeypatch.setattr(partition_switch, "_PAUSE", 0.0)
    lake.hive_table("t", {"id": "bigint"}, keys={"day": "string"})
    lake.glue.batch_create_partition(
        DatabaseName=lake.database,
        TableName="t",
        PartitionInputList=[
            {"Values": [day], "StorageDescriptor": {"Location": f"s3://x/old/{day}"}, "Parameters": {"by": "them"}}
            for day in "ab"
        ],
    )
    return lake


def identity(lake: Lake) -> TableIdentity:
    return TableIdentity(lake.region, ACCOUNT, lake.database, "t")


def moves(lake: Lake, *names: str) -> list[PartitionMove]:
    before = partition_definitions(lake.glue, identity(lake), [(name,) for name in names])
    return [
        PartitionMove(
            (name,),
            before.get((name,)),
            {"Values": [name], "StorageDescriptor": {"Location": f"s3://x/new/{name}"}, "Parameters": {"by": "us"}},
        )
        for name in names
    ]


def seen(lake: Lake) -> Days:
    """The location of every partition, as any reader of the catalog gets it."""
    pages = lake.glue.get_paginator("get_partitions").paginate(DatabaseName=lake.database, TableName="t")
    return {
        "/".join(found["Values"]): found["StorageDescriptor"]["Location"].removeprefix("s3://x/")
        for page in pages
        for found in page["Partitions"]
    }


def anytime() -> None:
    """Nothing stops the switch."""


@contextmanager
def failing(lake: Lake, operation: str, *days: str, times: int = 1_000) -> Iterator[list[int]]:
    """Answers 200 to the operation, these days failed in it; yields the number of entries of each call."""
    sizes: list[int] = []
    left = [times]
    dropped: list[list[str]] = []
    entries_key, value_key, error_key = {
        "BatchCreatePartition": ("PartitionInputList", "Values", "PartitionValues"),
        "BatchUpdatePartition": ("Entries", "PartitionValueList", "PartitionValueList"),
    }[operation]

    def without(params: dict[str, Any], **_: Any) -> None:
        entries = params[entries_key]
        sizes.append(len(entries))
        dropped[:] = [entry[value_key] for entry in entries if entry[value_key][0] in days] if left[0] > 0 else []
        left[0] -= 1
        params[entries_key] = [entry for entry in entries if entry[value_key] not in dropped] or entries

    def unsent(**_: Any) -> Any:
        return (SimpleNamespace(status_code=200), {}) if len(dropped) == sizes[-1] else None

    def with_errors(parsed: dict[str, Any], **_: Any) -> None:
        detail = {"ErrorCode": "InternalServiceException", "ErrorMessage": "try again"}
        if dropped:
            parsed["Errors"] = [{error_key: values, "ErrorDetail": detail} for values in dropped]

    events = lake.glue.meta.events
    hooks = {"provide-client-params": without, "before-call": unsent, "after-call": with_errors}
    for event, hook in hooks.items():
        events.register(f"{event}.glue.{operation}", hook)
    try:
        yield sizes
    finally:
        for event, hook in hooks.items():
            events.unregister(f"{event}.glue.{operation}", hook)


def test_partitions_are_replaced_and_created_and_no_other_is_touched(days: Lake) -> None:
    assert switch(days.glue, identity(days), moves(days, "b", "c"), anytime) == ()

    assert seen(days) == {"a": "old/a", "b": "new/b", "c": "new/c"}


def test_switching_back_restores_the_whole_definition_and_removes_what_was_created(days: Lake) -> None:
    before = partition_definitions(days.glue, identity(days), [("b",)])
    planned = moves(days, "b", "c")
    switch(days.glue, identity(days), planned, anytime)

    switch_back(days.glue, identity(days), planned, anytime)

    assert seen(days) == {"a": "old/a", "b": "old/b"}
    assert partition_definitions(days.glue, identity(days), [("b",)]) == before


def test_either_way_can_be_gone_again_from_wherever_it_stopped(days: Lake) -> None:
    planned = moves(days, "a", "b", "c")
    switch(days.glue, identity(days), planned[:1], anytime)

    switch(days.glue, identity(days), planned, anytime)
    switch(days.glue, identity(days), planned, anytime)
    assert seen(days) == {"a": "new/a", "b": "new/b", "c": "new/c"}

    switch_back(days.glue, identity(days), planned[1:], anytime)
    switch_back(days.glue, identity(days), planned, anytime)
    assert seen(days) == {"a": "old/a", "b": "old/b"}


def test_a_call_takes_a_hundred_partitions_at_most(days: Lake) -> None:
    names = [f"d{number:03}" for number in range(230)]
    planned = moves(days, *names)

    with failing(days, "BatchCreatePartition") as created:
        switch(days.glue, identity(days), planned, anytime)
    with failing(days, "BatchUpdatePartition") as updated:
        switch(days.glue, identity(days), moves_to(days, "s3://x/newer/", names), anytime)
    switch_back(days.glue, identity(days), moves_to(days, "s3://x/newer/", names, created=True), anytime)

    assert (created, updated) == ([100, 100, 30], [100, 100, 30])
    assert seen(days) == {"a": "old/a", "b": "old/b"}


def moves_to(lake: Lake, prefix: str, names: list[str], *, created: bool = False) -> list[PartitionMove]:
    before = partition_definitions(lake.glue, identity(lake), [(name,) for name in names])
    return [
        PartitionMove(
            (name,),
            None if created else before[(name,)],
            {"Values": [name], "StorageDescriptor": {"Location": f"{prefix}{name}"}},
        )
        for name in names
    ]


@pytest.mark.parametrize(("operation", "day"), [("BatchCreatePartition", "c"), ("BatchUpdatePartition", "b")])
def test_a_partition_that_fails_alone_inside_a_200_is_tried_again(days: Lake, operation: str, day: str) -> None:
    with failing(days, operation, day, times=2):
        switch(days.glue, identity(days), moves(days, "a", "b", "c"), anytime)

    assert seen(days) == {"a": "new/a", "b": "new/b", "c": "new/c"}


def test_a_partition_that_keeps_failing_is_named_with_the_reason(days: Lake) -> None:
    with failing(days, "BatchUpdatePartition", "b"), pytest.raises(CatalogError) as failed:
        switch(days.glue, identity(days), moves(days, "a", "b", "c"), anytime)

    assert f"{days.database}.t: 1 of 3 partitions could not be switched" in str(failed.value)
    assert "[b]: InternalServiceException: try again" in str(failed.value)
    assert seen(days) == {"a": "new/a", "b": "old/b", "c": "new/c"}


def test_a_partition_that_another_writer_changed_meanwhile_is_left_alone_and_returned(days: Lake) -> None:
    planned = moves(days, "a", "b", "c")
    days.glue.batch_update_partition(
        DatabaseName=days.database,
        TableName="t",
        Entries=[
            {
                "PartitionValueList": ["b"],
                "PartitionInput": {"Values": ["b"], "StorageDescriptor": {"Location": "s3://x/theirs/b"}},
            }
        ],
    )

    assert switch(days.glue, identity(days), planned, anytime) == (("b",),)
    assert seen(days) == {"a": "new/a", "b": "theirs/b", "c": "new/c"}
    assert switch_back(days.glue, identity(days), planned, anytime) == (("b",),)
    assert seen(days) == {"a": "old/a", "b": "theirs/b"}


def test_a_lost_answer_is_found_out_about_by_reading(days: Lake) -> None:
    def lose(**_: Any) -> None:
        from botocore.exceptions import ReadTimeoutError

        days.glue.meta.events.unregister("after-call.glue.BatchCreatePartition", lose)
        raise ReadTimeoutError(endpoint_url="https://glue")

    days.glue.meta.events.register("after-call.glue.BatchCreatePartition", lose)
    switch(days.glue, identity(days), moves(days, "c", "d"), anytime)

    assert seen(days) == {"a": "old/a", "b": "old/b", "c": "new/c", "d": "new/d"}


def test_a_permission_that_is_missing_is_said_at_once(days: Lake) -> None:
    calls: list[str] = []

    def deny(**_: Any) -> None:
        from botocore.exceptions import ClientError

        calls.append("update")
        raise ClientError({"Error": {"Code": "AccessDeniedException", "Message": "no"}}, "BatchUpdatePartition")

    days.glue.meta.events.register("before-call.glue.BatchUpdatePartition", deny)
    with pytest.raises(CatalogError, match=r"access denied: cannot switch partitions of .*Grant the job's role"):
        switch(days.glue, identity(days), moves(days, "a"), anytime)

    assert calls == ["update"]


def test_the_switch_stops_before_a_call_where_it_is_told_to(days: Lake) -> None:
    class StopError(Exception):
        pass

    def stop_at(number: int) -> Callable[[], None]:
        calls = iter(range(number))

        def before_call() -> None:
            if next(calls, None) is None:
                raise StopError

        return before_call

    with pytest.raises(StopError):
        switch(days.glue, identity(days), moves(days, "a", "c"), stop_at(1))

    assert seen(days) == {"a": "old/a", "b": "old/b", "c": "new/c"}
