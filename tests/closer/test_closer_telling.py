"""The owner of a run that could not say how it ended hears of it from the closer, once."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from pipeline_runtime.closer import handler as closer
from pipeline_runtime.evidence.local import LocalStore
from pipeline_runtime.evidence.runs import EventKind, RunEvidence
from pipeline_runtime.lineage.values import utc_text
from pipeline_runtime.notify.episodes import Episodes
from pipeline_runtime.notify.notices import lost_run_notice
from pipeline_runtime.notify.owner import NoticeFile
from pipeline_runtime.notify.telling import signature_of, tell_of_failure
from tests.conftest import Aws

OWNER = "fraud-data@cordata.example"


class Domain:
    """Glue jobs, the evidence that their runs left, and an owner with a mailbox."""

    def __init__(self, aws: Aws, folder: Path) -> None:
        self.folder, self.glue, self.job = folder, aws.client("glue"), f"job-{uuid.uuid4().hex[:8]}"
        command = {"Name": "glueetl"}
        self.glue.create_job(Name=self.job, Role="r", Command=command, ExecutionProperty={"MaxConcurrentRuns": 100})

    @property
    def store(self) -> LocalStore:
        return LocalStore(self.folder / "evidence")

    @property
    def mailbox(self) -> Path:
        return self.folder / "mailbox.jsonl"

    @property
    def told(self) -> list[dict[str, Any]]:
        lines = self.mailbox.read_text("utf-8").splitlines() if self.mailbox.exists() else []
        return [json.loads(line) for line in lines]

    def began(self) -> RunEvidence:
        """A run that sent START, and no more."""
        run = RunEvidence(self.store, str(uuid.uuid4()))
        run.claim(EventKind.START, json.dumps(self.event(run, "START")).encode())
        return run

    def event(self, run: RunEvidence, event_type: str, message: str = "", at: datetime | None = None) -> dict[str, Any]:
        facets = {"errorMessage": {"message": message}} if message else {}
        ownership = {"owners": [{"name": OWNER, "type": "OWNER"}]}
        return {
            "eventType": event_type,
            "eventTime": utc_text(at or datetime.now(UTC)),
            "producer": "https://cordata.tech/pipeline-runtime",
            "run": {"runId": run.run_id, "facets": facets},
            "job": {"namespace": "cordata.fraud", "name": "payments-scored", "facets": {"ownership": ownership}},
            "inputs": [],
            "outputs": [],
        }

    def ended(self, run: RunEvidence, event_type: str, message: str = "", at: datetime | None = None) -> None:
        run.claim(EventKind.TERMINAL, json.dumps(self.event(run, event_type, message, at)).encode())

    def close(self, run_id: str | None, state: str = "FAILED") -> dict[str, Any]:
        """Glue's event about the run's job run; what the closer answers."""
        arguments = {"--fake-state": state} | ({"--run-id": run_id} if run_id else {})
        started = self.glue.start_job_run(JobName=self.job, Arguments=arguments)
        detail = {"jobName": self.job, "jobRunId": started["JobRunId"], "state": state}
        event = {"detail-type": "Glue Job State Change", "time": "2026-08-04T09:00:00Z", "detail": detail}
        said: dict[str, Any] = closer.handler(event, None)["runs"][0]
        return said


@pytest.fixture
def domain(aws: Aws, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Domain]:
    domain = Domain(aws, tmp_path)
    for key, value in {
        "CORDATA_EVIDENCE": str(tmp_path / "evidence"),
        "CORDATA_LINEAGE": "off",
        "CORDATA_OWNER_FILE": str(domain.mailbox),
        "CORDATA_CLOSER_JOBS": domain.job,
        "CORDATA_CLOSER_GRACE_SECONDS": "0",
    }.items():
        monkeypatch.setenv(key, value)
    closer._connected.cache_clear()
    yield domain
    closer._connected.cache_clear()


def test_the_owner_of_a_killed_run_is_told_once(domain):
    run = domain.began()

    said = domain.close(run.run_id, "TIMEOUT")
    again = closer.handler({"sweep": True}, None)["runs"][0]

    assert (said["action"], said["told"]) == ("FAIL", f"{OWNER} → {domain.mailbox}")
    assert (again["action"], again.get("told")) == ("deliver", None)
    (notice,) = domain.told
    assert (notice["owner"], notice["domain"], notice["pipeline"]) == (OWNER, "fraud", "payments-scored")
    assert notice["text"].startswith("the job run ended as TIMEOUT, and nothing was published.")
    assert notice["text"].endswith("docs/operations.md#a-killed-run\n")


def test_a_run_that_told_by_itself_is_left_alone(domain):
    run, message = domain.began(), "payments_scored: no answer"
    domain.ended(run, "FAIL", message)
    notice = lost_run_notice(
        owner=OWNER, domain="fraud", pipeline="payments-scored", run_id=run.run_id, reason=message, at="…"
    )
    tell_of_failure(domain.store, NoticeFile(domain.mailbox), notice, signature_of(message), datetime.now(UTC))
    assert domain.close(run.run_id).get("told") is None
    assert len(domain.told) == 1


def test_a_run_that_failed_and_could_not_tell_is_made_up_for(domain):
    run = domain.began()
    domain.ended(run, "FAIL", "The value 'DE8937' of the type \"STRING\" cannot be cast")
    domain.close(run.run_id)
    assert domain.told[0]["text"].startswith('The value … of the type "STRING" cannot be cast\n')


def test_the_same_death_of_following_runs_is_told_once(domain):
    for _ in range(2):
        domain.close(domain.began().run_id, "TIMEOUT")
    assert len(domain.told) == 1


def test_an_owner_who_cannot_be_told_is_an_alarm_and_told_by_the_next_sweep(domain):
    run = domain.began()
    domain.mailbox.mkdir()
    with pytest.raises(closer.CloserFailed, match=f"run {run.run_id}: its owner was not told: "):
        domain.close(run.run_id)
    domain.mailbox.rmdir()
    closer.handler({"sweep": True}, None)
    closer.handler({"sweep": True}, None)
    assert [notice["run_id"] for notice in domain.told] == [run.run_id]


def test_a_run_that_was_refused_is_told_of_with_the_reason(domain):
    run = RunEvidence(domain.store, str(uuid.uuid4()))
    run.refuse("DescriptorError: pipelines/x.yml:3: no such key", "2026-08-04T09:00:00.000Z")
    assert domain.close(run.run_id)["action"] == "silent"
    (notice,) = domain.told
    assert notice["text"].startswith("DescriptorError: pipelines/x.yml:3: no such key (job ")
    assert (notice["owner"], notice["pipeline"]) == ("", domain.job)


def test_a_job_run_in_which_no_pipeline_began_is_told_of(domain):
    domain.close(None)
    assert domain.told[0]["text"].startswith("the job run ended as FAILED before its pipeline began")


def test_nobody_is_told_of_a_success_or_of_what_is_a_day_old(domain):
    published, old = domain.began(), domain.began()
    domain.ended(published, "COMPLETE")
    domain.ended(old, "FAIL", "no answer", datetime.now(UTC) - timedelta(hours=25))
    for run in (published, old):
        assert domain.close(run.run_id, "SUCCEEDED" if run is published else "FAILED")["action"] == "deliver"
    assert domain.close(None, "SUCCEEDED")["action"] == "silent"
    assert domain.told == []


def test_a_killed_run_that_had_published_ends_the_row_of_failures(domain):
    domain.close(domain.began().run_id, "TIMEOUT")
    run = domain.began()
    run.foresee(EventKind.TERMINAL, json.dumps(domain.event(run, "COMPLETE")).encode())
    assert domain.close(run.run_id, "SUCCEEDED")["action"] == "COMPLETE"
    last = Episodes(domain.store, "failing/fraud/payments-scored").last()
    assert last is not None
    assert (last.facts["run_id"], "signature" in last.facts) == (run.run_id, False)
    domain.close(domain.began().run_id, "TIMEOUT")
    assert len(domain.told) == 2
