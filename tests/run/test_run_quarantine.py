"""A batch that failed its suite: kept with what each row broke, told to its owner, published once after review."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import uuid
from dataclasses import dataclass
from typing import Any

import pytest
from lab import Lab, Outcome

from pipeline_runtime.catalog.glue import described
from pipeline_runtime.catalog.lookup import find_table
from pipeline_runtime.catalog.table import PinnedSource
from pipeline_runtime.errors import CatalogError, ReleaseRefused, UsageError
from pipeline_runtime.evidence.releases import Attempt, attempts_of, claim_attempt
from pipeline_runtime.evidence.store import open_store
from pipeline_runtime.readers.glue_table import read_glue_table
from pipeline_runtime.readers.parquet_source import prepared
from pipeline_runtime.release import ReleaseRequest, release
from pipeline_runtime.reporter import Reporter
from pipeline_runtime.trace import Trace

pytestmark = pytest.mark.spark

RULE = "expect_column_values_to_be_between(score)"
#: The score of row 8 is in order, that of row 9 is not.
BAD_ROWS = [(8, "80.00", "settled", "2026-08-01"), (9, "900.00", "settled", "2026-08-02")]
RELEASED = [(8, 0.8, "2026-08-01"), (9, 9.0, "2026-08-02")]


@dataclass(frozen=True)
class Released:
    """What a user sees of a call: the exit code, what it printed, and the events of the run it made, if it made one."""

    code: int
    said: str
    outcome: Outcome | None


def call(lab: Lab, run_id: str, **request: Any) -> Released:
    """One call of `release`, from the domain root, by Ann."""
    out = io.StringIO()
    asked = ReleaseRequest(run_id, **{"released_by": "ann@cordata.example", **request})
    before = attempts(lab, run_id)
    code = release(asked, lab.environ, lambda id_: Trace(id_, out=out), lambda _name, _settings: lab.spark)
    made = attempts(lab, run_id)[len(before) :]
    return Released(code, out.getvalue(), lab.outcome(made[0].run_id, code, out.getvalue()) if made else None)


def attempts(lab: Lab, run_id: str) -> tuple[Attempt, ...]:
    return attempts_of(open_store(str(lab.evidence), lambda: None), run_id)


def leave_attempt(lab: Lab, run_id: str, owner: str) -> Attempt:
    """What an attempt to release leaves that is killed right after its claim."""
    attempt = Attempt(run_id, str(uuid.uuid4()), "bob", None, "2026-08-04T09:00:00.000Z", owner)
    assert claim_attempt(open_store(str(lab.evidence), lambda: None), (), attempt)
    return attempt


def dead_process() -> str:
    """The owner that a process was which has ended."""
    code = "from pipeline_runtime.writers.owner import this_process; print(this_process())"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture
def quarantined(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> tuple[Lab, Outcome]:
    """A domain whose first batch went to quarantine; the current folder is its domain root."""
    monkeypatch.chdir(lab.root)
    lab.change_descriptor("block_publish", "quarantine")
    lab.load(BAD_ROWS)
    outcome = lab.run()
    assert outcome.code == 3, outcome.trace
    return lab, outcome


def test_each_quarantined_row_says_which_rules_it_broke_and_the_owner_is_told(quarantined):
    lab, first = quarantined
    notice = json.loads((lab.evidence / "notices" / f"{first.run_id}.json").read_bytes())
    assert f"notify fraud-data@cordata.example → {lab.evidence / 'notices'}" in first.trace
    assert (notice["owner"], notice["run_id"]) == ("fraud-data@cordata.example", first.run_id)
    told = str(first.terminal["run"]["facets"]["errorMessage"]["message"])
    assert notice["text"].startswith(f"{told}\n")
    assert told in first.trace

    lab.environ["CORDATA_OWNER_TOPIC"] = f"arn:aws:sns:{lab.aws.region}:111122223333:nowhere"
    second = lab.run()

    assert second.code == 3, second.trace
    assert "notify fraud-data@cordata.example was not told: arn:aws:sns:" in second.trace
    kept = lab.rows("payments_scored__quarantine", "run_id, id, concat_ws('+', broken_rules)")
    assert kept == sorted((run.run_id, *row) for run in (first, second) for row in ((8, ""), (9, RULE)))


def test_a_released_batch_is_published_once_with_who_released_which_run(quarantined):
    lab, original = quarantined
    assert lab.definition() is None

    done = call(lab, original.run_id, reason="checked by hand")

    assert done.code == 0, done.said
    assert lab.rows(columns="id, score, day") == RELEASED
    assert lab.rows(columns="*")[0][1:3] == (80.0, 0.8)
    columns = [column["Name"] for column in lab.definition()["StorageDescriptor"]["Columns"]]
    assert columns == ["id", "amount", "score", "model", "day"]
    assert lab.tags() == {"sensitivity": "high", "residency": "eu"}
    assert lab.definition()["Parameters"]["cordata.pipeline"] == "payments-scored"
    assert f"release run {original.run_id} of payments-scored" in done.said
    assert f"published {lab.curated}.payments_scored 2 rows in 2 partitions" in done.said

    run = done.outcome
    assert [event["eventType"] for event in run.received] == ["START", "COMPLETE", "OTHER"]
    assert run.run_id != original.run_id
    facets = run.terminal["run"]["facets"]
    said = {key: value for key, value in facets["cordata_release"].items() if not key.startswith("_")}
    assert said == {
        "original_run_id": original.run_id,
        "released_by": "ann@cordata.example",
        "reason": "checked by hand",
    }
    assert facets["cordata_provenance"]["descriptor_sha256"]
    assert [each["name"] for each in run.terminal["inputs"]] == [f"table/{lab.curated}/payments_scored__quarantine"]
    assert [each["name"] for each in run.terminal["outputs"]] == [f"table/{lab.curated}/payments_scored"]
    assert run.stored["other"]["inputs"][0]["name"] == f"table/{lab.curated}/payments_scored"
    assert run.failing == original.failing

    snapshots = f"SELECT count(*) FROM glue_catalog.{lab.curated}.payments_scored.snapshots"
    before = lab.spark.sql(snapshots).first()
    again = call(lab, original.run_id, released_by="bob")
    assert (again.code, again.outcome) == (0, None)
    assert f"run {original.run_id} was released before, by ann@cordata.example" in again.said
    assert lab.spark.sql(snapshots).first() == before


def test_a_batch_of_a_parquet_product_is_quarantined_and_released_alike(lab, monkeypatch):
    monkeypatch.chdir(lab.root)
    lab.change_descriptor("kind: iceberg", "kind: parquet")
    lab.change_descriptor("block_publish", "quarantine")
    lab.load(BAD_ROWS)
    original, other = lab.run(), lab.run()
    assert (original.code, other.code) == (3, 3), original.trace + other.trace
    kept = registered(lab, "payments_scored__quarantine").select("id", "broken_rules").collect()
    assert sorted((row.id, *row.broken_rules) for row in kept) == [(8,), (8,), (9, RULE), (9, RULE)]

    done, again = call(lab, original.run_id), call(lab, original.run_id)

    assert (done.code, again.code) == (0, 0), done.said + again.said
    published = registered(lab, "payments_scored")
    assert sorted(published.columns) == ["amount", "day", "id", "model", "score"]
    assert sorted((row.id, float(row.score), str(row.day)) for row in published.collect()) == RELEASED
    assert done.outcome.terminal["eventType"] == "COMPLETE"
    assert again.outcome is None


def registered(lab: Lab, name: str) -> Any:
    """The table's rows as a reader finds them through the catalog."""
    glue = lab.client("glue")
    found = find_table(glue, database=lab.curated, table=name, region=lab.aws.region)
    table = described(lab.client("s3"), found, lab.aws.region)
    source = prepared(PinnedSource(table, table.schema, table.version), "glue_table", glue)
    return read_glue_table(lab.spark, source, "glue_catalog")


def test_a_release_that_was_killed_before_it_published_is_said_to_have_failed_and_done_again(quarantined):
    lab, original = quarantined
    killed = leave_attempt(lab, original.run_id, dead_process())

    done = call(lab, original.run_id)

    assert done.code == 0, done.said
    assert lab.rows() == RELEASED
    first = lab.outcome(killed.run_id, 1, "")
    assert [event["eventType"] for event in first.received] == ["START", "FAIL"]
    assert first.terminal["run"]["facets"]["cordata_release"]["released_by"] == "bob"
    assert done.outcome.terminal["eventType"] == "COMPLETE"


def test_a_release_that_was_killed_after_it_published_is_only_said_to_have_published(quarantined, monkeypatch):
    lab, original = quarantined

    with monkeypatch.context() as patch:
        patch.setattr(Reporter, "ended", lambda *_: 1)
        call(lab, original.run_id)
    assert lab.rows() == RELEASED
    with pytest.raises(ReleaseRefused, match=r"ann@cordata\.example began to release .* pass --take-over"):
        call(lab, original.run_id)

    done = call(lab, original.run_id, take_over=True)

    assert (done.code, done.outcome) == (0, None)
    (attempt,) = attempts(lab, original.run_id)
    run = lab.outcome(attempt.run_id, 0, done.said)
    assert [event["eventType"] for event in run.received] == ["START", "COMPLETE", "OTHER"]
    assert lab.rows() == RELEASED
    assert call(lab, original.run_id).said.startswith(f"run {original.run_id} was released before")


@pytest.mark.parametrize("kind", ["iceberg", "parquet"])
def test_a_release_does_not_replace_what_a_later_run_has_published_unless_a_person_says_so(lab, monkeypatch, kind):
    monkeypatch.chdir(lab.root)
    lab.change_descriptor("kind: iceberg", f"kind: {kind}")
    lab.change_descriptor("block_publish", "quarantine")
    lab.load([(1, "10.00", "settled", "2026-08-01"), (2, "20.00", "settled", "2026-08-03")])
    assert lab.run().code == 0
    lab.load(BAD_ROWS)
    original = lab.run()
    assert original.code == 3, original.trace
    lab.load([(7, "70.00", "settled", "2026-08-02"), (6, "60.00", "settled", "2026-08-03")])
    later = lab.run()
    assert later.code == 0, later.trace

    refused = call(lab, original.run_id)

    assert refused.code == 1
    [said] = [line for line in refused.said.splitlines() if "ReleaseRefused" in line]
    assert f"is older than what {lab.curated}.payments_scored shows: run {later.run_id} published partition" in said
    assert "[2026-08-02] at 20" in said
    assert "2026-08-03" not in said
    assert said.endswith("The release would replace that. If it is to, pass --replace-newer.")
    assert refused.outcome.terminal["eventType"] == "FAIL"
    assert days(lab, kind) == {"2026-08-01": [1], "2026-08-02": [7], "2026-08-03": [6]}

    assert call(lab, original.run_id, replace_newer=True).code == 0
    assert days(lab, kind) == {"2026-08-01": [8], "2026-08-02": [9], "2026-08-03": [6]}


def days(lab: Lab, kind: str) -> dict[str, list[int]]:
    rows = (
        [(str(row.day), row.id) for row in registered(lab, "payments_scored").collect()]
        if kind == "parquet"
        else [(day, id_) for id_, day in lab.rows(columns="id, day")]
    )
    return {day: sorted(id_ for other, id_ in rows if other == day) for day in sorted({day for day, _ in rows})}


def test_what_a_compaction_rewrote_is_no_later_publish(quarantined):
    lab, original = quarantined
    lab.change_descriptor("quarantine", "warn")
    name = f"glue_catalog.{lab.curated}.payments_scored"
    lab.spark.sql(
        f"CREATE TABLE {name} (id bigint, amount decimal(10,2), score decimal(16,6), model string, day date) "
        f"USING iceberg PARTITIONED BY (day) LOCATION 's3://{lab.bucket}/payments_scored'"
    )
    old = "CAST(1 AS decimal(10,2)), CAST(1 AS decimal(16,6)), 'v2', DATE'2026-08-01'"
    for id_ in (1, 2):
        lab.spark.sql(f"INSERT INTO {name} SELECT {id_}L, {old}")
    lab.spark.sql(
        f"CALL glue_catalog.system.rewrite_data_files(table => '{lab.curated}.payments_scored', "
        "options => map('rewrite-all', 'true'))"
    )
    history = lab.spark.sql(f"SELECT operation FROM {name}.snapshots ORDER BY committed_at").collect()
    assert [row.operation for row in history] == ["append", "append", "replace"]

    refused = call(lab, original.run_id)

    assert refused.said.count("another writer published partition [2026-08-01]") == 2


def test_a_contract_that_a_release_could_not_register_is_registered_by_the_next_call(quarantined, monkeypatch):
    lab, original = quarantined

    def denied(*_: Any) -> None:
        raise CatalogError("access denied: cannot update the table.")

    with monkeypatch.context() as patch:
        patch.setattr("pipeline_runtime.publish.set_parameters", denied)
        published = call(lab, original.run_id)
    assert published.code == 1
    assert published.outcome.terminal["eventType"] == "COMPLETE"
    assert "is published, but its contract is not registered" in published.said
    assert "cordata.pipeline" not in lab.definition()["Parameters"]

    second, third = call(lab, original.run_id), call(lab, original.run_id)

    assert (second.code, third.code) == (0, 0)
    assert lab.definition()["Parameters"]["cordata.pipeline"] == "payments-scored"
    assert f"the contract of {lab.curated}.payments_scored is registered now" in second.said
    assert "registered" not in third.said
    assert len(attempts(lab, original.run_id)) == 1


def test_a_release_that_fails_leaves_the_product_as_it_was_and_can_be_asked_for_again(quarantined):
    lab, original = quarantined
    lab.change_descriptor("residency: eu", "residency: mars")

    failed = call(lab, original.run_id)

    assert failed.code == 1
    assert [event["eventType"] for event in failed.outcome.received] == ["START", "FAIL"]
    assert "FAILED UnknownTagValue" in failed.said
    assert lab.definition() is None

    lab.change_descriptor("residency: mars", "residency: eu")
    assert call(lab, original.run_id).code == 0
    assert len(attempts(lab, original.run_id)) == 2
    assert lab.rows() == RELEASED


def test_what_is_not_in_quarantine_is_not_released(quarantined, tmp_path, monkeypatch):
    lab, original = quarantined
    with pytest.raises(ReleaseRefused, match="nothing to release"):
        call(lab, str(uuid.uuid4()))
    lab.change_descriptor("quarantine", "warn")
    published = lab.run()
    with pytest.raises(ReleaseRefused, match=f"run {published.run_id} published; nothing to release"):
        call(lab, published.run_id)

    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=r"pipelines/payments_scored\.yml does not exist.* or pass --descriptor"):
        call(lab, original.run_id)
    monkeypatch.chdir(lab.root)
    lab.change_descriptor("table: payments_scored", "table: payments_other")
    with pytest.raises(
        UsageError, match=r"with target \w+\.payments_other; run .* left its batch in \w+\.payments_sco"
    ):
        call(lab, original.run_id)
    assert attempts(lab, original.run_id) == ()
