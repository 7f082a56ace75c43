"""`ropa`: the record of processing activities that the events of runs evidence, and nothing that they do not."""

from __future__ import annotations

import json
import random
import uuid
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from activities import DECLARED, SCORED, event, record, run_id, written

from pipeline_runtime.cli import main
from pipeline_runtime.lineage.events import RunStatus
from sandbox.audited_domain import ENDED, RUN, AuditedDomain


def markdown(capsys: pytest.CaptureFixture[str], place: Path | str) -> str:
    assert main(["ropa", str(place)]) == 0
    return capsys.readouterr().out


@pytest.fixture
def evidence(tmp_path: Path, domain: AuditedDomain) -> Path:
    """The evidence of three domains' runs: fraud feeds finance, policy stands apart."""
    folder = tmp_path / "evidence"
    domain.commit()
    domain.run(folder, run_id(1), ENDED - timedelta(days=1))
    domain.run(folder, run_id(2), ENDED)
    for number, other in (
        (3, {"domain": "finance", "name": "exposure-daily", "purpose": "risk-reporting", "legal_basis": "contract"}),
        (4, {"domain": "policy", "name": "claims-ingest", "purpose": "claims-processing", "legal_basis": "contract"}),
    ):
        consumer = AuditedDomain(domain.top, signing=domain.signing, **other)
        consumer.source = ("fraud_curated", "transactions_scored") if number == 3 else ("policy_raw", "claims")
        consumer.target = (f"{consumer.domain}_curated", consumer.name.replace("-", "_"))
        consumer.write().commit()
        consumer.run(folder, run_id(number), ENDED + timedelta(hours=number))
    return folder


def test_one_activity_a_job_with_what_its_descriptor_declares(
    capsys: pytest.CaptureFixture[str], evidence: Path
) -> None:
    found = record(capsys, evidence)
    assert sorted(found["jobs"]) == ["claims-ingest", "exposure-daily", "transactions-scored-daily"]
    scored = found["jobs"]["transactions-scored-daily"]
    assert (scored["purpose"]["value"], scored["legal_basis"]["value"]) == ("fraud-detection", "legitimate-interest")
    assert scored["owner"]["value"] == "fraud-data@cordata.example"
    assert [use["name"] for use in scored["inputs"]] == ["table/fraud_raw/transactions"]
    assert [use["name"] for use in scored["outputs"]] == ["table/fraud_curated/transactions_scored"]
    assert scored["outputs"][0]["tags"] == {"sensitivity": "high", "residency": "eu"}
    assert scored["runs"] == 2


def test_the_validation_of_an_output_is_no_activity_of_its_own(
    capsys: pytest.CaptureFixture[str], evidence: Path
) -> None:
    found = record(capsys, evidence)
    assert "cordata.fraud/transactions-scored-daily.validate" in found["scope"]["validations"]


def test_each_value_has_the_run_the_time_and_the_commit_that_show_it(
    capsys: pytest.CaptureFixture[str], evidence: Path, domain: AuditedDomain
) -> None:
    first = domain.git("rev-list", "--max-parents=0", "HEAD")
    scored = record(capsys, evidence)["jobs"]["transactions-scored-daily"]
    shown = {"run_id": run_id(2), "time": "2026-08-04T09:14:22.123Z", "commit": first}
    assert scored["purpose"]["evidence"] == shown
    assert scored["purpose"]["since"]["run_id"] == run_id(1)
    assert scored["outputs"][0]["tagged_by"] == shown
    assert scored["inputs"][0]["evidence"] == shown
    assert scored["last_run"] == {"ended": "COMPLETE", "evidence": shown}


def test_recipients_are_the_activities_that_read_what_this_one_writes(
    capsys: pytest.CaptureFixture[str], evidence: Path
) -> None:
    jobs = record(capsys, evidence)["jobs"]
    recipients = jobs["transactions-scored-daily"]["recipients"]
    assert [(each["job"], each["purpose"], each["datasets"]) for each in recipients] == [
        ("exposure-daily", "risk-reporting", [SCORED])
    ]
    assert recipients[0]["evidence"]["run_id"] == run_id(3)
    assert jobs["claims-ingest"]["recipients"] == []
    read = jobs["exposure-daily"]["inputs"][0]
    assert (read["tags"]["sensitivity"], read["tagged_by_job"]) == ("high", "cordata.fraud/transactions-scored-daily")


def test_a_recipient_that_knows_the_dataset_by_another_of_its_names_is_one(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    place = written(
        tmp_path / "events",
        event(writes=("arn|table/a/b",), aliases=("s3://lake|b", "hive|a.b"), **DECLARED),
        event("airflow/export", 2, reads=("s3://lake|b",)),
        event("trino/query", 3, reads=("hive|a.b",)),
    )
    recipients = record(capsys, place)["jobs"]["scored"]["recipients"]
    assert [each["job"] for each in recipients] == ["export", "query"]
    assert [each["purpose"] for each in recipients] == [None, None]


def test_an_activity_that_reads_what_it_wrote_before_is_no_recipient_of_its_own(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    place = written(tmp_path / "events", event(reads=("wh|mart",), writes=("wh|mart",), **DECLARED))
    assert record(capsys, place)["jobs"]["scored"]["recipients"] == []


def test_the_commit_of_a_run_is_known_from_whichever_of_its_events_names_it(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    start, end = event(kind="START"), event(at=ENDED + timedelta(minutes=1), **DECLARED)
    start["job"]["facets"]["sourceCodeLocation"] = {"version": "f" * 40}
    for name, order in (("one", (start, end)), ("two", (end, start))):
        purpose = record(capsys, written(tmp_path / name, *order))["jobs"]["scored"]["purpose"]
        assert purpose["evidence"]["commit"] == "f" * 40


def test_a_tag_of_one_column_is_no_category_of_the_dataset(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    item = event(writes=("wh|mart",), **DECLARED)
    tags = [{"key": "sensitivity", "value": "high", "field": "iban"}, {"key": "residency", "value": "eu"}]
    item["outputs"][0]["facets"]["tags"] = {"tags": tags}
    outputs = record(capsys, written(tmp_path / "events", item))["jobs"]["scored"]["outputs"]
    assert outputs[0]["tags"] == {"residency": "eu"}


def test_what_nobody_said_is_shown_as_that_and_never_left_blank(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    place = written(tmp_path / "events", event("dbt/model", reads=("wh|raw",), writes=("wh|mart",)))
    activity = record(capsys, place)["jobs"]["model"]
    assert (activity["purpose"]["value"], activity["legal_basis"]["value"]) == (None, None)
    assert activity["outputs"][0]["tags"] is None

    text = markdown(capsys, place)

    assert "| purpose | nobody said |  |  |" in text
    assert "| legal basis | nobody said |  |  |" in text
    assert "| owner | nobody said |  |  |" in text
    assert "| reads | wh/raw | nobody said | run " in text
    assert "commit: nobody said" in text
    assert "Recipients by lineage: no other activity in view reads what this one writes." in text


@pytest.mark.parametrize("said", [{"purpose": ""}, {"purpose": "  "}, {"purpose": 7}, {"purpose": None}])
def test_an_empty_or_malformed_purpose_is_nobody_s_word(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, said: dict[str, Any]
) -> None:
    item = event()
    item["job"]["facets"]["processing"] = said
    assert record(capsys, written(tmp_path / "events", item))["jobs"]["scored"]["purpose"]["value"] is None


def test_a_changed_purpose_is_shown_with_the_current_one_and_since_when(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    days = [ENDED + timedelta(days=day) for day in range(5)]
    purposes = ["marketing", "fraud-detection", "marketing", "fraud-detection", "fraud-detection"]
    events = [
        event(run=number, at=day, purpose=purpose, legal_basis="consent")
        for number, (day, purpose) in enumerate(zip(days, purposes, strict=True), 1)
    ]
    random.Random(7).shuffle(events)
    place = written(tmp_path / "events", *events)

    purpose = record(capsys, place)["jobs"]["scored"]["purpose"]

    assert purpose["value"] == "fraud-detection"
    assert (purpose["since"]["run_id"], purpose["evidence"]["run_id"]) == (run_id(4), run_id(5))
    assert [(value, evidence["run_id"]) for value, evidence in purpose["earlier"]] == [
        ("marketing", run_id(1)),
        ("fraud-detection", run_id(2)),
        ("marketing", run_id(3)),
    ]
    text = markdown(capsys, place)
    assert "The purpose has changed. Before 2026-08-07T09:14:22Z" in text
    assert "The legal basis has changed" not in text


def test_a_purpose_that_later_runs_do_not_repeat_is_shown_with_their_silence(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    later = [event(run=number, at=ENDED + timedelta(days=number)) for number in (2, 3)]
    place = written(tmp_path / "events", event(**DECLARED), *later)
    assert record(capsys, place)["jobs"]["scored"]["purpose"]["silent_runs"] == 2
    assert "in 2 later runs nobody said |" in markdown(capsys, place)


def test_what_the_listener_reports_below_a_job_is_part_of_its_activity(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    place = written(
        tmp_path / "events",
        event(reads=("wh|raw",), writes=("wh|mart",), parent="airflow/dag.task", **DECLARED),
        event("cordata.fraud/scored.append_data", 2, parent="cordata.fraud/scored", writes=("s3://lake|mart",)),
        event("cordata.fraud/scored.append_data.sql", 3, parent="cordata.fraud/scored.append_data"),
        event("airflow/dag.task", 4),
        event("cordata.fraud/own-purpose", 5, parent="cordata.fraud/scored", **DECLARED),
    )
    found = record(capsys, place)
    assert sorted(found["jobs"]) == ["own-purpose", "scored"]
    assert found["scope"]["children"] == ["cordata.fraud/scored.append_data", "cordata.fraud/scored.append_data.sql"]
    assert found["scope"]["orchestrators"] == ["airflow/dag.task"]


def test_jobs_below_a_job_that_declares_nothing_are_activities_of_their_own(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    place = written(
        tmp_path / "events",
        event("dbt/run", 1),
        event("dbt/model", 2, parent="dbt/run", writes=("wh|mart",)),
    )
    found = record(capsys, place)
    assert (sorted(found["jobs"]), found["scope"]["orchestrators"]) == (["model"], ["dbt/run"])


def test_a_dataset_that_the_latest_run_does_not_touch_is_kept_and_marked(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    place = written(
        tmp_path / "events",
        event(run=1, writes=("wh|old",), **DECLARED),
        event(run=2, at=ENDED + timedelta(days=1), writes=("wh|new",), **DECLARED),
        event(run=3, at=ENDED + timedelta(days=2), kind="FAIL", **DECLARED),
    )
    outputs = record(capsys, place)["jobs"]["scored"]["outputs"]
    assert [(use["name"], use["current"]) for use in outputs] == [("new", True), ("old", False)]
    assert record(capsys, place)["jobs"]["scored"]["last_run"]["ended"] == "FAIL"
    assert "| writes, not lately | wh/old |" in markdown(capsys, place)


def test_a_batch_in_quarantine_is_data_that_the_activity_holds(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, domain: AuditedDomain
) -> None:
    domain.commit()
    domain.run(tmp_path / "evidence", RUN, status=RunStatus.QUARANTINED)
    outputs = record(capsys, tmp_path / "evidence")["jobs"]["transactions-scored-daily"]["outputs"]
    assert [(use["name"], use["tags"]) for use in outputs] == [
        ("table/fraud_curated/transactions_scored__quarantine", None)
    ]


def test_the_evidence_prefix_is_read_for_its_events_only(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, domain: AuditedDomain
) -> None:
    domain.commit()
    run = domain.run(tmp_path / "evidence", RUN)
    (run / "terminal.delivered.json").write_text('{"sha256": "ab"}')
    (run / "staged.json").write_text("{")
    (run / "listener").mkdir()
    (run / "listener" / "events.jsonl").write_text(json.dumps(event("spark/child", reads=("a|b",))))
    found = record(capsys, tmp_path / "evidence")
    assert list(found["jobs"]) == ["transactions-scored-daily"]
    assert (found["scope"]["unusable"], found["scope"]["other_documents"], found["scope"]["events"]) == ([], 0, 3)


def test_a_list_of_events_and_a_file_of_lines_are_read_like_single_files(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    events = [event(f"ns/job{number}", number) for number in range(1, 7)]
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "deep" / "er" / "list.json").write_text(json.dumps(events[:2], indent=1))
    (tmp_path / "deep" / "lines.ndjson").write_text("\n\n".join(map(json.dumps, events[2:4])))
    (tmp_path / "one.jsonl").write_text(json.dumps(events[4]))
    (tmp_path / "bom.json").write_bytes(b"\xef\xbb\xbf" + json.dumps(events[5]).encode())
    (tmp_path / "README.md").write_text("no events")
    (tmp_path / ".hidden").mkdir()
    (tmp_path / ".hidden" / "x.json").write_text("{")
    assert sorted(record(capsys, tmp_path)["jobs"]) == [f"job{number}" for number in range(1, 7)]
    assert sorted(record(capsys, tmp_path / "one.jsonl")["jobs"]) == ["job5"]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"{", "bad.json: is no JSON"),
        (b"", "bad.json: is empty"),
        (b"\xff\xfe{", "bad.json: is not UTF-8"),
        (b'{"eventType": "START"}', "bad.json: lacks eventType, run.runId, job.namespace or job.name"),
        (
            json.dumps({**event(), "eventTime": "2026-08-04T09:14:22"}).encode(),
            "bad.json: its eventTime is '2026-08-04T09:14:22', not ISO 8601 with Z or an offset",
        ),
        (b"[" * 50_000, "bad.json: is no JSON"),
    ],
)
def test_what_cannot_be_read_is_named_and_the_record_says_that_it_may_lack_it(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, body: bytes, said: str
) -> None:
    place = written(tmp_path / "events", event(**DECLARED))
    (place / "bad.json").write_bytes(body)
    assert main(["ropa", str(place)]) == 1
    shown = capsys.readouterr()
    assert "Could not be read, so the record may lack what they say: bad.json" in shown.out
    assert shown.err.startswith(f"not in the record: {said}")


def test_documents_that_are_no_run_events_are_counted(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    place = written(tmp_path / "events", event(**DECLARED), {"dataset": {"namespace": "a", "name": "b"}})
    assert record(capsys, place)["scope"]["other_documents"] == 1


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("nowhere", "nowhere: does not exist; pass a folder, a file or s3://bucket/prefix"),
        ("https://host/events", "https://host/events: is no place to read events from"),
        ("empty", "empty: holds no run event"),
    ],
)
def test_a_place_without_events_is_an_error_and_no_empty_record(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, said: str
) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path)
    assert main(["ropa", place]) == 2
    shown = capsys.readouterr()
    assert (shown.out, shown.err.startswith(said)) == ("", True)


def test_other_systems_text_stays_text_in_markdown(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    place = written(
        tmp_path / "events",
        event("ns/a|b\n## Forged", reads=("wh|x<script>",), purpose="**bold** | [link](x)", legal_basis="`code`"),
    )
    text = markdown(capsys, place)
    assert "## ns / a\\|b ## Forged\n" in text
    assert "| purpose | \\*\\*bold\\*\\* \\| \\[link](x) |" in text
    assert "x\\<script>" in text
    assert "| legal basis | \\`code\\` |" in text


def test_events_below_an_s3_prefix_give_the_same_record(
    capsys: pytest.CaptureFixture[str], evidence: Path, aws: Any
) -> None:
    bucket = f"events-{uuid.uuid4().hex}"
    s3 = aws.client("s3")
    s3.create_bucket(Bucket=bucket, CreateBucketConfiguration={"LocationConstraint": aws.region})
    for file in evidence.rglob("*.json"):
        key = f"deep/date=2026-08-04/{file.relative_to(evidence).as_posix()}"
        s3.put_object(Bucket=bucket, Key=key, Body=file.read_bytes())
    local = record(capsys, evidence)
    remote = record(capsys, f"s3://{bucket}/deep/")
    assert remote["activities"] == local["activities"]
    assert main(["ropa", "s3://no-such-bucket-here/x"]) == 2
    assert capsys.readouterr().err.startswith("s3://no-such-bucket-here/x/: ")


#: Few jobs, datasets and times, so that they meet; every run id belongs to one job, as in life.
