"""`lineage status`: what became of a run's events after DataZone had accepted them."""

from __future__ import annotations

import hashlib
import json
import re
from datetime import UTC, datetime, timedelta

import pytest
from adapter_samples import RUN_ID, as_bytes, glue_dataset, glue_run, run_event

from pipeline_runtime.cli import main as command
from pipeline_runtime.evidence.runs import EventKind, Receipt, RunEvidence
from pipeline_runtime.evidence.store import open_store

OTHER_RUN = "0d2f6a77-0000-4c0f-9a1a-2c9f8b1a5e12"
VALIDATE = {"namespace": "cordata.fraud", "name": "transactions-scored-daily.validate"}


def recently(seconds: int = 0) -> str:
    return (datetime.now(UTC) + timedelta(seconds=seconds)).isoformat(timespec="milliseconds").replace("+00:00", "Z")


@pytest.fixture
def evidence(adapter_environment, tmp_path) -> RunEvidence:
    """A run's evidence: START, COMPLETE and OTHER are stored, none is delivered."""
    adapter_environment.setenv("CORDATA_EVIDENCE", str(tmp_path))
    run = RunEvidence(open_store(str(tmp_path), lambda: pytest.fail("no S3 here")), RUN_ID)
    raw, scored = (glue_dataset("111122223333", f"fraud_{table}") for table in ("raw/transactions", "curated/scored"))
    changes = {"run": glue_run(), "inputs": [raw]}
    run.claim(EventKind.START, as_bytes(run_event(eventType="START", eventTime=recently(-60), **changes)))
    run.claim(EventKind.TERMINAL, as_bytes(run_event(eventTime=recently(-2), outputs=[scored], **changes)))
    run.claim(EventKind.OTHER, as_bytes(run_event(eventType="OTHER", eventTime=recently(), job=VALIDATE)))
    return run


@pytest.fixture
def deliver(evidence, post):
    """Sends stored events through the adapter, and leaves the receipts as the executor does."""

    def send(*kinds: EventKind, keep_id: bool = True) -> list[str]:
        ids = []
        for kind in kinds or tuple(EventKind):
            body = evidence.event(kind)
            answer = post(body)
            ids.append(answer.body["id"])
            receipt = Receipt(
                sha256=hashlib.sha256(body).hexdigest(),
                delivered_at=recently(),
                destination="https://adapter.example/lineage",
                status=answer.status if keep_id else "duplicate",
                id=answer.body["id"] if keep_id else None,
            )
            evidence.record_delivery(kind, receipt)
        return ids

    return send


@pytest.fixture
def status(evidence, capsys):
    """Runs the command; its exit code and its lines."""

    def run(*options: str, run_id: str = RUN_ID) -> tuple[int, list[str]]:
        capsys.readouterr()
        code = command(["lineage", "status", run_id, *options])
        said = capsys.readouterr()
        return code, (said.out + said.err).splitlines()

    return run


def test_processed_events_are_said_to_be_processed_with_the_runs_node(deliver, status, datazone):
    datazone.set("/fake/processing", polls=0)
    start, complete, other = deliver()

    code, lines = status()

    assert code == 0
    assert lines[:3] == [
        f"START    processed as {start}",
        f"COMPLETE processed as {complete}",
        f"OTHER    processed as {other}",
    ]
    assert re.fullmatch(rf"lineage of {RUN_ID}: processed, shown as node [a-z0-9]+", lines[3])


def test_accepted_is_pending_until_datazone_has_worked_on_it(deliver, status, datazone):
    datazone.set("/fake/processing", polls=100)
    deliver()

    code, lines = status()

    assert code == 3
    assert all(" pending as " in line for line in lines[:3])
    assert lines[3] == f"lineage of {RUN_ID}: pending"


def test_reported_accepted_and_then_failed_is_said_with_the_id(deliver, status, datazone):
    """DZ-1: 200 and an id, then FAILED."""
    datazone.set("/fake/processing", polls=0, fail_next=1)
    start, *_ = deliver()

    code, lines = status()

    assert code == 1
    assert lines[0].startswith(f"START    failed as {start}: DataZone took the event and could not process it")
    assert lines[-1] == f"lineage of {RUN_ID}: failed"


def test_what_was_not_delivered_names_the_remedy(deliver, status, datazone):
    datazone.set("/fake/processing", polls=0)
    deliver(EventKind.START)

    code, lines = status()

    assert code == 1
    assert lines[1] == f"COMPLETE not delivered: run `python -m pipeline_runtime replay {RUN_ID}`"


def test_a_parked_event_says_why_it_is_not_sent(evidence, deliver, status):
    evidence.park(EventKind.OTHER, "the event is 412,000 bytes, too large to send")
    deliver(EventKind.START, EventKind.TERMINAL)

    assert "OTHER    not delivered: the event is 412,000 bytes, too large to send" in status()[1]


def test_a_duplicates_receipt_has_no_id_and_the_event_is_found_by_its_time(deliver, status, datazone, post):
    datazone.set("/fake/processing", polls=0)
    start, complete, other = deliver(keep_id=False)
    for number in range(120):  # three pages of other runs at the same time
        post(run_event(eventTime=recently(), run={"runId": f"{OTHER_RUN[:-3]}{number:03}"}))

    code, lines = status()

    assert code == 0
    assert [line.split(" as ")[1] for line in lines[:3]] == [start, complete, other]


def test_a_receipt_from_another_domain_is_found_out(deliver, status, datazone):
    deliver()
    datazone.set("/fake/domains", ids=["dzd_other"])

    code, lines = status("--domain-id", "dzd_other")

    assert code == 1
    assert "dzd_other has no event" in lines[0]


def test_a_receipt_of_another_sink_is_found_out(evidence, status):
    receipt = Receipt("0" * 64, recently(), "https://marquez.example/api/v1/lineage", "accepted", "lin-1")
    evidence.record_delivery(EventKind.START, receipt)

    assert (
        "delivered to https://marquez.example/api/v1/lineage, whose id 'lin-1' is none of DataZone's" in status()[1][0]
    )


def test_without_evidence_the_events_of_a_time_are_looked_through(deliver, status, datazone, post, adapter_environment):
    datazone.set("/fake/processing", polls=0)
    start, complete, other = deliver()
    post(run_event(eventTime=recently(), run={"runId": OTHER_RUN}))
    adapter_environment.delenv("CORDATA_EVIDENCE")

    code, lines = status()

    assert code == 0
    assert [line.split(" as ")[1] for line in lines[:3]] == [start, complete, other]


def test_a_run_that_nobody_knows_is_not_said_to_be_fine(status):
    code, lines = status(run_id=OTHER_RUN)

    assert code == 1
    assert lines == [
        f"no event of run {OTHER_RUN} was found; look further back with --hours",
        f"lineage of {OTHER_RUN}: not delivered",
    ]


def test_events_before_the_span_are_not_found_and_a_longer_span_finds_them(status, datazone, post):
    datazone.set("/fake/processing", polls=0)
    post(run_event(eventTime=recently(-30 * 3600), run={"runId": OTHER_RUN}))

    assert status(run_id=OTHER_RUN)[0] == 1
    assert status("--hours", "48", run_id=OTHER_RUN)[0] == 0


def test_waiting_ends_when_the_last_event_is_processed(deliver, status, datazone):
    datazone.set("/fake/processing", polls=4)
    deliver()

    assert status("--wait", "20")[0] == 0


def test_waiting_ends_when_the_time_is_over(deliver, status, datazone):
    datazone.set("/fake/processing", polls=1000)
    deliver()

    assert status("--wait", "0.1")[0] == 3


def test_as_json_for_other_programs(deliver, status, datazone):
    datazone.set("/fake/processing", polls=0)
    start, *_ = deliver()

    code, lines = status("--json")

    said = json.loads("\n".join(lines))
    assert (code, said["runId"], said["progress"]) == (0, RUN_ID, "processed")
    assert said["events"][0] == {"event_type": "START", "progress": "processed", "id": start, "reason": None}


def test_a_run_that_was_refused_before_any_event_says_why(evidence, status):
    evidence.refuse("transactions_scored.yml:3: kind is missing", recently())

    code, lines = status()

    assert code == 2
    assert lines == [f"run {RUN_ID} was refused before any event: transactions_scored.yml:3: kind is missing"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--domain-id", ""], "no DataZone domain"),
        (["--domain-id", "my-domain"], "DataZone cannot be asked"),
        (["--hours", "-1"], "--hours"),
        (["--wait", "soon"], "--wait"),
    ],
)
def test_a_command_that_cannot_be_used_says_why(deliver, status, options, said):
    deliver()

    code, lines = status(*options)

    assert code == 2
    assert said in "\n".join(lines)


def test_an_unreachable_datazone_is_said_in_a_line(deliver, status, adapter_environment):
    deliver()
    adapter_environment.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")

    code, lines = status()

    assert code == 2
    assert lines[0].startswith("DataZone cannot be asked")


def test_a_run_id_that_is_none_is_refused(status):
    assert status(run_id="jr_0ab")[0] == 2
