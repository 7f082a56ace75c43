"""What a killed run leaves on an Iceberg table is removed by the next run, and nothing else is."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from datetime import timedelta

import pytest
from writer_lake import Lake, new_run_id

from pipeline_runtime.engine.catalogs import RUN_TAG, catalog_settings, tagging
from pipeline_runtime.errors import EvidenceFailed, WriteFailed
from pipeline_runtime.evidence.runs import EventKind, RunEvidence
from pipeline_runtime.writers import abandoned

pytestmark = pytest.mark.spark

TWO_DAYS = "SELECT * FROM VALUES (9,'b'),(8,'c') AS v(id, day)"
ELSEWHERE = "another-machine/1/2/3"


@pytest.fixture(scope="module")
def ended() -> str:
    """The name of a process that has ended."""
    code = "from pipeline_runtime.writers.owner import this_process; print(this_process())"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture
def days(lake: Lake) -> Lake:
    lake.create("t", "id bigint, day string", partitioned="day", rows="(1,'a')")
    return lake


def next_run(lake: Lake) -> None:
    lake.stage(lake.plan("t", "day"), TWO_DAYS).discard()


def put(lake: Lake, name: str, run_id: str | None) -> str:
    """An object below the table's location, as Iceberg writes one for that run."""
    tagged = {"Tagging": f"{RUN_TAG}={run_id}"} if run_id else {}
    key = f"{lake.database}/t/data/{name}.parquet"
    lake.s3.put_object(Bucket="test-lake", Key=key, Body=b"rows", **tagged)
    return key


def test_the_branch_of_a_process_that_is_gone_goes_with_the_next_run(days: Lake, ended: str) -> None:
    before = days.seen("t")
    killed = replace(days, owner=ended).stage(days.plan("t", "day"), TWO_DAYS)
    assert len(days.audits()) == 1

    next_run(days)

    assert killed.branch not in days.branches("t")
    assert days.seen("t") == before
    assert (days.audits(), days.strays("t")) == ([], [])


def test_files_of_a_killed_run_that_no_commit_names_go_and_those_of_writers_at_work_stay(
    days: Lake, ended: str
) -> None:
    run_id = new_run_id()
    replace(days, owner=ended).stage(days.plan("t", "day"), TWO_DAYS, run_id)
    own, other, foreign = put(days, "own", run_id), put(days, "other", new_run_id()), put(days, "foreign", None)

    next_run(days)

    assert own not in days.keys("t")
    assert days.strays("t") == sorted([other, foreign])
    assert days.rows("t") == [(1, "a")]


def test_files_that_a_killed_run_published_stay(days: Lake, ended: str) -> None:
    run_id = new_run_id()
    killed = replace(days, owner=ended).stage(days.plan("t", "day"), TWO_DAYS, run_id)
    for key in days.keys("t"):
        days.s3.put_object_tagging(Bucket="test-lake", Key=key, Tagging={"TagSet": [{"Key": RUN_TAG, "Value": run_id}]})
    days.spark.sql(
        f"CALL glue_catalog.system.fast_forward('{days.database}.t', 'main', '{killed.branch}')"
    )  # and then the process is gone

    next_run(days)

    assert days.rows("t") == [(1, "a"), (8, "c"), (9, "b")]
    assert days.branches("t") == {"main"}
    assert (days.audits(), days.strays("t")) == ([], [])


@pytest.mark.parametrize("sign", ["reported", "a day old"])
def test_the_branch_of_a_run_elsewhere_stays_until_it_is_known_to_have_ended(
    days: Lake, monkeypatch: pytest.MonkeyPatch, sign: str
) -> None:
    run_id = new_run_id()
    theirs = replace(days, owner=ELSEWHERE).stage(days.plan("t", "day"), TWO_DAYS, run_id)

    next_run(days)
    assert theirs.branch in days.branches("t"), "it may be validating at this moment"
    assert len(theirs.audit_frame().collect()) == 2

    if sign == "reported":
        RunEvidence(days.evidence, run_id).claim(EventKind.TERMINAL, json.dumps({"eventType": "FAIL"}).encode())
    else:
        monkeypatch.setattr(abandoned, "ABANDONED_AFTER", timedelta(0))
    next_run(days)
    assert days.branches("t") == {"main"}
    assert (days.audits(), days.strays("t")) == ([], [])


def test_a_branch_without_a_record_stays_for_a_day(days: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    from pipeline_runtime.writers import iceberg_settle

    unknown = replace(days, owner=ELSEWHERE).stage(days.plan("t", "day"), TWO_DAYS)
    for key in days.audits():
        days.evidence.delete(key)
    days.spark.sql(f"ALTER TABLE {days.name('t')} CREATE BRANCH audit_computing")
    days.spark.sql(f"ALTER TABLE {days.name('t')} CREATE BRANCH release_q3")

    next_run(days)
    assert unknown.branch in days.branches("t")

    monkeypatch.setattr(iceberg_settle, "ABANDONED_AFTER", timedelta(0))
    next_run(days)
    assert days.branches("t") == {"main", "release_q3", "audit_computing"}


def test_a_run_publishes_to_the_table_that_a_killed_first_run_created(lake: Lake, ended: str) -> None:
    replace(lake, owner=ended).stage(lake.plan("t", "day"), TWO_DAYS)

    lake.publish(lake.plan("t", "day"), "SELECT 5 AS id, 'e' AS day")

    assert lake.rows("t") == [(5, "e")]
    assert lake.branches("t") == {"main"}
    assert (lake.audits(), lake.strays("t")) == ([], [])


def test_a_failing_run_after_a_killed_first_run_leaves_no_table(lake: Lake, ended: str) -> None:
    run_id = new_run_id()
    replace(lake, owner=ended).stage(lake.plan("t", "day"), TWO_DAYS, run_id)
    put(lake, "own", run_id)

    with pytest.raises(WriteFailed):
        lake.stage(lake.plan("t", "day"), "SELECT 1 AS id, CAST(raise_error('no') AS string) AS day FROM range(1)")

    assert lake.existing("t") is None
    assert (lake.keys("t"), lake.audits()) == ([], [])


def test_a_first_run_that_has_no_branch_yet_keeps_its_table(lake: Lake) -> None:
    other = replace(lake, owner=ELSEWHERE).stage(lake.plan("t", "day"), TWO_DAYS)
    lake.spark.sql(f"ALTER TABLE {lake.name('t')} DROP BRANCH {other.branch}")  # its record says that it is at work

    next_run(lake)

    assert lake.existing("t") is not None


def test_a_record_that_cannot_be_read_is_named(days: Lake) -> None:
    replace(days, owner=ELSEWHERE).stage(days.plan("t", "day"), TWO_DAYS)
    [key] = days.audits()
    days.evidence.put(key, b"{")

    with pytest.raises(EvidenceFailed, match=r"audits/.*is no record of an audit branch"):
        next_run(days)


def test_a_discarded_batch_takes_no_snapshot_of_mains_history_with_it(days: Lake) -> None:
    days.spark.sql(
        f"ALTER TABLE {days.name('t')} SET TBLPROPERTIES ('history.expire.max-snapshot-age-ms' = '1', "
        "'history.expire.min-snapshots-to-keep' = '1')"
    )
    days.publish(days.plan("t", "day"), "SELECT 2 AS id, 'a' AS day")
    history = days.spark.table(f"{days.name('t')}.history").count()

    next_run(days)

    assert days.spark.table(f"{days.name('t')}.history").count() == history == 2


def test_every_object_that_a_run_writes_through_iceberg_carries_its_id(lake: Lake) -> None:
    run_id = new_run_id()
    settings = catalog_settings(
        "tagged", account=None, warehouse="s3://test-lake/warehouse", endpoint=lake.glue.meta.endpoint_url
    )
    settings |= {key.replace("glue_catalog", "tagged"): value for key, value in tagging(run_id).items()}
    for key, value in settings.items():
        lake.spark.conf.set(key, value)

    lake.publish(replace(lake.plan("t", "day"), spark_catalog="tagged"), TWO_DAYS)

    keys = lake.keys("t")
    tags = [lake.s3.get_object_tagging(Bucket="test-lake", Key=key)["TagSet"] for key in keys]
    assert keys
    assert tags == [[{"Key": RUN_TAG, "Value": run_id}]] * len(keys)
