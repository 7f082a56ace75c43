"""A backfill that starts a deployed Glue job: its own run ids, its own evidence, nothing started twice."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
import uuid
from pathlib import Path
from typing import Any

import executor_stub
import pytest
from glue_front import glue_front

from pipeline_runtime.evidence.runs import EventKind, RunEvidence
from pipeline_runtime.evidence.store import open_store

pytestmark = pytest.mark.lengthy

ROOT = Path(__file__).resolve().parents[2]
DESCRIPTOR = "domains/finance/pipelines/merchant_settlement_daily.yml"
ACCOUNT = "123456789012"


class Job:
    """A deployed job whose runs the test ends as it likes."""

    def __init__(self, aws: Any, descriptor: str = DESCRIPTOR) -> None:
        self.aws, self.glue, self.s3 = aws, aws.client("glue"), aws.client("s3")
        name = uuid.uuid4().hex[:8]
        self.name, self.bucket = f"settlement_{name}", f"evidence-{name}"
        self.s3.create_bucket(Bucket=self.bucket, CreateBucketConfiguration={"LocationConstraint": aws.region})
        self.glue.create_job(
            Name=self.name,
            Role="arn:aws:iam::123456789012:role/settlement",
            Command={"Name": "glueetl", "ScriptLocation": "s3://b/run_pipeline.py"},
            DefaultArguments={"--descriptor": descriptor, "--evidence": f"s3://{self.bucket}/evidence"},
            ExecutionProperty={"MaxConcurrentRuns": 1},
        )

    def runs(self) -> list[dict[str, Any]]:
        """The job's runs, the oldest first."""
        return list(reversed(self.glue.get_job_runs(JobName=self.name)["JobRuns"]))

    def end(self, run: dict[str, Any], state: str = "SUCCEEDED", event: str | None = "COMPLETE") -> None:
        """What the executor and Glue do at a run's end."""
        run_id = run["Arguments"]["--run-id"]
        evidence = RunEvidence(open_store(f"s3://{self.bucket}/evidence", lambda: self.s3), run_id)
        evidence.claim(EventKind.START, executor_stub.event(run_id, "START"))
        if event is not None:
            message = None if event == "COMPLETE" else "SchemaDrift: v8"
            evidence.claim(EventKind.TERMINAL, executor_stub.event(run_id, event, message))
        said = {"account": ACCOUNT, "region": self.aws.region, "job": self.name, "run": run["Id"], "state": state}
        request = urllib.request.Request(
            f"{self.aws.endpoint}/fake/job-runs", data=json.dumps({**said, "message": None}).encode(), method="POST"
        )
        urllib.request.urlopen(request).close()

    def wait_for_runs(self, count: int) -> list[dict[str, Any]]:
        deadline = time.monotonic() + 30
        while len(runs := self.runs()) < count:
            assert time.monotonic() < deadline, f"{len(runs)} job runs after 30 s"
            time.sleep(0.05)
        return runs

    def command(self, *options: str, to: str = "2026-08-04") -> list[str]:
        asked = ("--from", "2026-08-01", "--to", to, "--job", self.name, "--pause", "0.1")
        return [sys.executable, "-m", "pipeline_runtime", "backfill", DESCRIPTOR, *asked, *options]

    def start(self, *options: str, to: str = "2026-08-04", endpoint: str | None = None) -> subprocess.Popen[str]:
        """`endpoint` is Glue's, where it is not the stand-in's own."""
        return subprocess.Popen(
            self.command(*options, to=to),
            cwd=ROOT,
            env={**os.environ, **({"AWS_ENDPOINT_URL_GLUE": endpoint} if endpoint else {})},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )


@pytest.fixture
def job(aws: Any) -> Job:
    return Job(aws)


def test_each_period_is_a_run_of_the_job_one_at_a_time(job: Job) -> None:
    process = job.start()
    for count in (1, 2, 3):
        runs = job.wait_for_runs(count)
        assert len(runs) == count
        job.end(runs[-1])
    out, err = process.communicate(timeout=30)
    assert process.returncode == 0, err
    nominal = [run["Arguments"]["--nominal-time"] for run in job.runs()]
    assert nominal == ["2026-08-01T00:00:00Z", "2026-08-02T00:00:00Z", "2026-08-03T00:00:00Z"]
    assert "3 periods: 3 published" in out


def test_a_failed_run_says_what_its_evidence_says(job: Job) -> None:
    process = job.start(to="2026-08-02")
    job.end(job.wait_for_runs(1)[0], "FAILED", "FAIL")
    out, _ = process.communicate(timeout=30)
    assert process.returncode == 1
    assert "2026-08-01 failed" in out
    assert "SchemaDrift: v8" in out


def test_a_backfill_that_was_killed_follows_the_run_it_had_started(job: Job) -> None:
    process = job.start(to="2026-08-02")
    (first,) = job.wait_for_runs(1)
    evidence = RunEvidence(open_store(f"s3://{job.bucket}/evidence", lambda: job.s3), first["Arguments"]["--run-id"])
    evidence.claim(EventKind.START, executor_stub.event(evidence.run_id, "START"))
    process.kill()
    process.communicate()
    again = job.start(to="2026-08-02")
    time.sleep(2)
    job.end(first)
    _, err = again.communicate(timeout=30)
    assert again.returncode == 0, err
    assert len(job.runs()) == 1


def test_ctrl_c_stops_the_job_run(job: Job) -> None:
    with glue_front(job.aws) as front:
        front.on_stop = lambda _id: job.end(job.runs()[0], "STOPPED", "FAIL")
        process = job.start(to="2026-08-02", endpoint=front.url)
        (run,) = job.wait_for_runs(1)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert front.stopped == [run["Id"]]
    assert "1 run told to end" in err
    assert "1 failed" in out


def test_a_start_that_glue_refuses_for_now_is_tried_again(job: Job) -> None:
    with glue_front(job.aws) as front:
        front.refusals = ["ConcurrentRunsExceededException"] * 2
        process = job.start(to="2026-08-02", endpoint=front.url)
        job.end(job.wait_for_runs(1)[0])
        _, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert len(front.starts) == 3
    assert err.count("waiting to start 2026-08-01") == 1


def test_a_start_whose_answer_was_lost_is_not_made_twice(job: Job) -> None:
    with glue_front(job.aws) as front:
        front.lost = 1
        process = job.start(to="2026-08-02", endpoint=front.url)
        [run] = job.wait_for_runs(1)
        time.sleep(3)  # it is found while it is under way
        job.end(run)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert len(front.starts) == 1


def test_another_descriptors_job_is_refused(aws: Any) -> None:
    job = Job(aws, "domains/fraud/pipelines/transactions_scored.yml")
    done = subprocess.run(job.command(), cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert f"job {job.name} runs domains/fraud/pipelines/transactions_scored.yml, not {DESCRIPTOR}" in done.stderr
    assert job.runs() == []


def test_a_job_that_is_not_there_is_refused(aws: Any) -> None:
    command = [*Job(aws).command(), "--job", "no_such_job"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "Glue job no_such_job" in done.stderr
    assert "Traceback" not in done.stderr
