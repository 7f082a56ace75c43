"""A follower that was killed: nothing tells of it but its silence, and it gets its one terminal event all the same."""

from __future__ import annotations

import json
import uuid
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from pipeline_runtime.closer import handler as closer
from pipeline_runtime.lineage.values import utc_text

pytestmark = pytest.mark.lengthy

FINISHED = {"Status": "stopped", "StopReason": "Stop Reason FULL_LOAD_ONLY_FINISHED"}


def counted(**counters: int) -> dict[str, Any]:
    return {"SchemaName": "public", "TableName": "claim", "TableState": "Table completed", **counters}


def killed(task: Any) -> str:
    """The id of a run that was killed while it followed its task."""
    run = str(uuid.uuid4())
    task.plays({"Status": "running", "Statistics": [counted(Inserts=2)]})
    process = task.begin(run, "--pause", "0.05")
    process.kill()
    process.communicate(timeout=30)
    assert task.received(run) == ["START"]
    return run


def signs(task: Any) -> list[Path]:
    return list((task.folder / "evidence" / "following").glob("*.json"))


def passes_an_hour(task: Any) -> None:
    """As if each follower had last been seen an hour ago."""
    for sign in signs(task):
        record = json.loads(sign.read_bytes())
        record["seen_at"] = utc_text(datetime.fromisoformat(record["seen_at"]) - timedelta(hours=1))
        sign.write_text(json.dumps(record))


def swept(task: Any, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What the closer's sweep did about batches."""
    job = f"job-{uuid.uuid4().hex[:8]}"
    task.cloud.client("glue").create_job(Name=job, Role="r", Command={"Name": "glueetl"})
    monkeypatch.setenv("CORDATA_EVIDENCE", str(task.folder / "evidence"))
    monkeypatch.setenv("CORDATA_LINEAGE_URL", task.cloud.adapter)
    monkeypatch.setenv("CORDATA_CLOSER_JOBS", job)
    closer._connected.cache_clear()
    try:
        found: list[dict[str, Any]] = closer.handler({"sweep": True}, None)["runs"]
    finally:
        closer._connected.cache_clear()
    return found


def test_the_next_batch_of_the_task_closes_it_and_counts_what_it_had_landed(replicated: Any) -> None:
    task = replicated("cdc")
    lost, following = killed(task), str(uuid.uuid4())
    passes_an_hour(task)

    outcome = task.ingest("--for", "PT1S", "--run-id", following)

    assert outcome.code == 0, outcome.out + outcome.err
    assert f"run {lost} of this task never said how it ended; it is closed as FAIL" in outcome.out
    assert task.received(lost) == ["START", "FAIL"]
    assert "following arn:aws:dms:" in task.event(lost)["run"]["facets"]["errorMessage"]["message"]
    assert task.received(following) == ["START", "COMPLETE"]
    assert task.event(following)["outputs"][0]["outputFacets"]["outputStatistics"]["rowCount"] == 2
    assert signs(task) == []


def test_one_that_was_seen_of_late_is_left_alone(replicated: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    task = replicated("cdc")
    lost = killed(task)

    assert swept(task, monkeypatch) == []
    assert task.ingest("--for", "PT1S").code == 0

    assert task.received(lost) == ["START"]


def test_a_follower_of_another_task_is_not_the_next_batchs_to_close(replicated: Any) -> None:
    task, other = replicated("cdc"), replicated()
    lost = killed(task)
    passes_an_hour(task)
    other.plays({**FINISHED, "Statistics": [counted(FullLoadRows=3)]})

    assert other.ingest().code == 0

    assert task.received(lost) == ["START"]


def test_the_closers_sweep_closes_it_once(replicated: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    task = replicated("cdc")
    lost = killed(task)
    passes_an_hour(task)

    (said,) = swept(task, monkeypatch)

    assert (said["runId"], said["task"], said["action"], said["undelivered"]) == (lost, task.arn, "FAIL", [])
    assert task.received(lost) == ["START", "FAIL"]
    assert swept(task, monkeypatch) == []
    assert task.received(lost) == ["START", "FAIL"]


def test_a_lost_one_whose_end_cannot_be_delivered_is_tried_again(
    replicated: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = replicated("cdc")
    lost = killed(task)
    passes_an_hour(task)
    adapter = task.cloud.adapter
    object.__setattr__(task.cloud, "adapter", "http://127.0.0.1:9/lineage")
    try:
        (said,) = swept(task, monkeypatch)
    finally:
        object.__setattr__(task.cloud, "adapter", adapter)
    assert said["undelivered"]
    assert task.event(lost)["eventType"] == "FAIL"

    assert swept(task, monkeypatch)[0]["undelivered"] == []
    assert task.received(lost) == ["START", "FAIL"]


def test_one_that_lives_and_was_taken_for_lost_does_not_count_its_batch(
    replicated: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    task, run = replicated("cdc"), str(uuid.uuid4())
    task.plays({"Status": "running", "Statistics": [counted(Inserts=2)]})
    process = task.begin(run, "--pause", "0.05")
    passes_an_hour(task)
    assert swept(task, monkeypatch)[0]["runId"] == run

    task.plays({"Status": "running"}, {"Status": "stopped", "StopReason": "Stop Reason STOPPED_AT_SERVER_TIME"})
    said, _ = process.communicate(timeout=60)

    assert process.returncode == 1
    assert "the run was taken for lost, and closed as FAIL" in said
    # It sends what the closer has claimed again, byte for byte: a duplicate, which DataZone takes once.
    assert set(task.received(run)) == {"START", "FAIL"}
    assert not (task.folder / "evidence" / "ingestion").exists()
