"""The closer is a function of the governance account; what it closes lies in the domain's, which a role there opens."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.request
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from pipeline_runtime.closer import handler as entry
from pipeline_runtime.job_run_ids import run_id_of_job_run
from tests.conftest import REGION, ROOT, Aws
from tests.servers import free_port, wait_until_up

GOVERNANCE, FRAUD = "222233334444", "444455556666"
ROLE = f"arn:aws:iam::{FRAUD}:role/cordata-fraud-closer"
SWEEP = {"sweep": True}
#: The stand-in, with sessions that are over before the next event comes.
SERVER = """
import sys
from datetime import timedelta
from moto.core.utils import utcnow
from moto.sts import models
from sandbox.fakes.aws import main

begin = models.AssumedRole.__init__

def brief(self, *arguments, **named):
    begin(self, *arguments, **named)
    self.expiration = utcnow() + timedelta(seconds=60)

models.AssumedRole.__init__ = brief
main(sys.argv[1:])
"""


@pytest.fixture(scope="module")
def accounts() -> Iterator[Aws]:
    """A stand-in of its own, where an account's buckets are closed to others, as they are on AWS."""
    port = free_port()
    process = subprocess.Popen(
        [sys.executable, "-c", SERVER, "--port", str(port)],
        cwd=ROOT,
        env={**os.environ, "MOTO_S3_ALLOW_CROSSACCOUNT_ACCESS": "false"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_until_up(f"http://127.0.0.1:{port}/moto-api/data.json", process)
        yield Aws(f"http://127.0.0.1:{port}")
    finally:
        process.terminate()
        process.wait(10)


@dataclass(frozen=True)
class Domain:
    """A job and its evidence in the domain's account."""

    aws: Aws
    job: str
    bucket: str

    def killed(self) -> str:
        """A job run that said START and nothing more; the pipeline run's id."""
        started = self.aws.client("glue", FRAUD).start_job_run(JobName=self.job, Arguments={"--fake-state": "FAILED"})
        run_id = run_id_of_job_run(started["JobRunId"])
        start = {"eventType": "START", "producer": "p", "run": {"runId": run_id}, "job": {"name": "j"}}
        self.aws.client("s3", FRAUD).put_object(
            Bucket=self.bucket, Key=f"evidence/runs/{run_id}/start.json", Body=json.dumps(start).encode()
        )
        return run_id

    def terminal(self, run_id: str) -> dict[str, Any]:
        key = f"evidence/runs/{run_id}/terminal.json"
        event: dict[str, Any] = json.load(self.aws.client("s3", FRAUD).get_object(Bucket=self.bucket, Key=key)["Body"])
        return event

    def sessions(self) -> list[str]:
        """The sessions of the domain's account, by their ARNs."""
        with urllib.request.urlopen(f"{self.aws.endpoint}/moto-api/data.json") as answer:
            held = json.load(answer).get("sts", {}).get("AssumedRole", [])
        return [each["arn"] for each in held]


@pytest.fixture
def domain(accounts: Aws, monkeypatch: pytest.MonkeyPatch) -> Domain:
    """The domain, and the function's environment as Terraform writes it, with the function's own credentials."""
    name = uuid.uuid4().hex[:8]
    found = Domain(accounts, f"job-{name}", f"evidence-{name}")
    accounts.client("glue", FRAUD).create_job(
        Name=found.job, Role="r", Command={"Name": "glueetl"}, ExecutionProperty={"MaxConcurrentRuns": 100}
    )
    accounts.client("s3", FRAUD).create_bucket(
        Bucket=found.bucket, CreateBucketConfiguration={"LocationConstraint": REGION}
    )
    for key, value in {
        "AWS_ENDPOINT_URL": accounts.endpoint,
        "AWS_REGION": REGION,
        "AWS_DEFAULT_REGION": REGION,
        "AWS_ACCESS_KEY_ID": GOVERNANCE,
        "AWS_SECRET_ACCESS_KEY": "testing",
        "CORDATA_EVIDENCE": f"s3://{found.bucket}/evidence",
        "CORDATA_LINEAGE": "off",
        "CORDATA_CLOSER_JOBS": found.job,
        "CORDATA_CLOSER_GRACE_SECONDS": "0",
        "CORDATA_CLOSER_ROLE_ARN": ROLE,
    }.items():
        monkeypatch.setenv(key, value)
    entry._connected.cache_clear()
    return found


def test_the_sweep_closes_a_run_of_the_domains_account_in_the_domains_evidence(domain: Domain) -> None:
    run_id = domain.killed()

    answer = entry.handler(SWEEP, None)

    assert [(each["runId"], each["action"]) for each in answer["runs"]] == [(run_id, "FAIL")]
    assert domain.terminal(run_id)["eventType"] == "FAIL"
    assert set(domain.sessions()) == {f"arn:aws:sts::{FRAUD}:assumed-role/cordata-fraud-closer/pipeline-runtime-closer"}


def test_without_the_role_the_closer_sees_nothing_of_the_domain(
    domain: Domain, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = domain.killed()
    monkeypatch.delenv("CORDATA_CLOSER_ROLE_ARN")
    entry._connected.cache_clear()

    with pytest.raises(entry.CloserFailed, match=f"job {domain.job}: .*EntityNotFoundException"):
        entry.handler(SWEEP, None)

    with pytest.raises(domain.aws.client("s3").exceptions.NoSuchKey):
        domain.terminal(run_id)
    # Nor would the evidence be open to it where it heard of the run.
    told = {
        "detail-type": "Glue Job State Change",
        "time": "2026-08-04T09:00:00Z",
        "detail": {"jobName": domain.job, "jobRunId": "jr_told", "state": "FAILED"},
    }
    with pytest.raises(entry.CloserFailed, match=f"evidence: s3://{domain.bucket}/evidence/.*AccessDenied"):
        entry.handler(told, None)


def test_a_warm_function_takes_a_new_session_when_the_old_one_is_over(domain: Domain) -> None:
    first = domain.killed()
    entry.handler(SWEEP, None)
    before, second = len(domain.sessions()), domain.killed()

    entry.handler(SWEEP, None)

    assert len(domain.sessions()) > before
    assert {domain.terminal(run_id)["eventType"] for run_id in (first, second)} == {"FAIL"}
