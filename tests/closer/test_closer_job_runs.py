"""Which runs the closer is asked about: by an event, and by the sweep for what no event told of."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from pipeline_runtime.closer import handler as entry
from pipeline_runtime.closer.job_runs import job_run_of_event, job_runs_since
from pipeline_runtime.closer.settings import CloserSettings
from pipeline_runtime.errors import ConfigurationError
from pipeline_runtime.job_run_ids import run_id_of_job_run

LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)


@pytest.fixture
def job(aws: Any) -> str:
    name = f"job-{uuid.uuid4().hex[:8]}"
    aws.client("glue").create_job(
        Name=name, Role="r", Command={"Name": "glueetl"}, ExecutionProperty={"MaxConcurrentRuns": 1000}
    )
    return name


def start(aws: Any, job: str, state: str, **arguments: str) -> str:
    given = {"--fake-state": state, **{f"--{key}": value for key, value in arguments.items()}}
    return str(aws.client("glue").start_job_run(JobName=job, Arguments=given)["JobRunId"])


def state_change(job: str, job_run: str, state: str = "FAILED") -> dict[str, Any]:
    return {
        "detail-type": "Glue Job State Change",
        "source": "aws.glue",
        "time": "2026-08-04T09:00:00Z",
        "detail": {"jobName": job, "jobRunId": job_run, "state": state, "severity": "ERROR", "message": "m"},
    }


@pytest.fixture
def closer_environ(aws: Any, job: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The Lambda's environment; the evidence folder."""
    monkeypatch.setenv("CORDATA_EVIDENCE", str(tmp_path / "evidence"))
    monkeypatch.setenv("CORDATA_LINEAGE", "off")
    monkeypatch.setenv("CORDATA_CLOSER_GRACE_SECONDS", "0")
    monkeypatch.setenv("CORDATA_CLOSER_JOBS", f"{job}, ")
    entry._connected.cache_clear()
    return tmp_path / "evidence"


def test_glues_own_word_counts_before_the_events(aws: Any, job: str) -> None:
    glue, alive = aws.client("glue"), start(aws, job, "RUNNING")

    told = job_run_of_event(state_change(job, alive, "FAILED"), glue)
    gone = job_run_of_event(state_change(job, "jr_forgotten", "TIMEOUT"), glue)

    assert (told.state, told.has_ended) == ("RUNNING", False)
    assert (gone.state, gone.at, gone.message) == ("TIMEOUT", datetime(2026, 8, 4, 9, tzinfo=UTC), "m")


def test_the_run_is_that_of_the_schedulers_id_else_of_glues(aws: Any, job: str) -> None:
    glue, given = aws.client("glue"), str(uuid.uuid4())
    own = start(aws, job, "FAILED")
    scheduled = start(aws, job, "FAILED", **{"run-id": given.upper()})
    wrong = start(aws, job, "FAILED", **{"run-id": "9f3c"})

    runs = [job_run_of_event(state_change(job, each), glue).run_id for each in (own, scheduled, wrong)]

    assert runs == [run_id_of_job_run(own), given, run_id_of_job_run(wrong)]


def test_the_sweep_sees_every_page_of_job_runs_and_no_older_ones(aws: Any, job: str) -> None:
    glue = aws.client("glue")
    started = [start(aws, job, "FAILED") for _ in range(205)]

    assert [each.id for each in job_runs_since(glue, job, LONG_AGO)] == started[::-1]
    assert list(job_runs_since(glue, job, datetime.now(UTC) + timedelta(hours=1))) == []


def test_runs_that_were_refused_never_began_or_are_at_work_get_no_event(
    aws: Any, job: str, closer_environ: Path
) -> None:
    ids = {name: start(aws, job, "FAILED") for name in ("refused", "unknown")} | {"alive": start(aws, job, "RUNNING")}
    refused = closer_environ / "runs" / run_id_of_job_run(ids["refused"]) / "refused.json"
    refused.parent.mkdir(parents=True)
    refused.write_text('{"reason": "no such file", "refused_at": "2026-08-04T09:00:00Z"}')

    answer = entry.handler({"detail-type": "Scheduled Event"}, None)

    said = {each["jobRunId"]: (each["action"], each["reason"]) for each in answer["runs"]}
    assert said == {
        ids["refused"]: ("silent", "it was refused before it began"),
        ids["unknown"]: ("silent", "it never said that it began"),
    }
    told = entry.handler(state_change(job, ids["alive"]), None)["runs"][0]
    assert (told["action"], told["reason"]) == ("wait", "the job run is RUNNING")
    assert list(closer_environ.rglob("terminal.json")) == []


def test_an_event_right_after_the_end_is_to_be_tried_again(
    aws: Any, job: str, closer_environ: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CORDATA_CLOSER_GRACE_SECONDS", "600")
    entry._connected.cache_clear()

    with pytest.raises(entry.TooEarly, match="has just become FAILED; its last words may be on their way"):
        entry.handler(state_change(job, start(aws, job, "FAILED")), None)


def test_one_job_that_cannot_be_asked_does_not_stop_the_sweep(
    aws: Any, job: str, closer_environ: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CORDATA_CLOSER_JOBS", f"no-such-job,{job}")
    entry._connected.cache_clear()
    job_run = start(aws, job, "FAILED")

    with pytest.raises(entry.CloserFailed, match=r"job no-such-job: .*EntityNotFoundException"):
        entry.handler({"sweep": True}, None)

    assert job_run in capsys.readouterr().out


def test_the_jobs_may_be_another_accounts_which_a_role_there_opens(
    aws: Any, closer_environ: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs, name = aws.client("glue", account="222233334444"), f"job-{uuid.uuid4().hex[:8]}"
    theirs.create_job(Name=name, Role="r", Command={"Name": "glueetl"})
    job_run = theirs.start_job_run(JobName=name, Arguments={"--fake-state": "FAILED"})["JobRunId"]
    monkeypatch.setenv("CORDATA_CLOSER_JOBS", name)
    monkeypatch.setenv("CORDATA_CLOSER_ROLE_ARN", "arn:aws:iam::222233334444:role/cordata-fraud-closer")
    entry._connected.cache_clear()

    assert [each["jobRunId"] for each in entry.handler({"sweep": True}, None)["runs"]] == [job_run]


def test_what_the_closer_cannot_work_with_is_said(closer_environ: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(entry.CloserFailed, match="neither a Glue Job State Change nor a schedule's event: 'Batch'"):
        entry.handler({"detail-type": "Batch"}, None)
    monkeypatch.setenv("CORDATA_CLOSER_JOBS", "")
    entry._connected.cache_clear()
    with pytest.raises(ConfigurationError, match="CORDATA_CLOSER_JOBS is not set"):
        entry.handler({"sweep": True}, None)
    with pytest.raises(ConfigurationError, match=r"CORDATA_CLOSER_GRACE_SECONDS is '-1'; write a number"):
        CloserSettings.from_environ(
            {"CORDATA_EVIDENCE": "e", "CORDATA_LINEAGE": "off", "CORDATA_CLOSER_GRACE_SECONDS": "-1"}
        )
