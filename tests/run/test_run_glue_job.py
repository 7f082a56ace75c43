"""The deployed job, as Glue would run it: from its definition in the API, with what lies in S3, in its role."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from lab import Lab
from synced import DESCRIPTOR, sync

from artefact.build import build_release
from artefact.publish import publish
from pipeline_runtime.build import Build
from pipeline_runtime.cli import main
from pipeline_runtime.glue.artefact import Artefact
from pipeline_runtime.glue.engines import DEFAULT, ENGINES
from pipeline_runtime.glue.job import GlueJob, definition
from pipeline_runtime.job_run_ids import run_id_of_job_run
from sandbox.lineage_access import INVOKER_ROLE

pytestmark = [pytest.mark.spark, pytest.mark.slow]

ROOT = Path(__file__).resolve().parents[2]
MOTO_ACCOUNT = "123456789012"


@pytest.fixture(scope="module")
def release(aws: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[Artefact, Build]:
    """This checkout's release for the default engine, published."""
    folder = tmp_path_factory.mktemp("release") / "artefact"
    build = build_release(ROOT, folder, ROOT / ".cache", [ENGINES[DEFAULT]]).build
    bucket = f"artefacts-{uuid.uuid4().hex[:8]}"
    s3 = aws.client("s3")
    s3.create_bucket(Bucket=bucket, CreateBucketConfiguration={"LocationConstraint": aws.region})
    return publish(folder, f"s3://{bucket}", s3, allow_dirty=True), build


@pytest.fixture
def job(lab: Lab, release: tuple[Artefact, Build]) -> GlueJob:
    return GlueJob(
        name=f"payments_scored_{lab.bucket.replace('-', '_')}",
        domain="fraud",
        descriptor=DESCRIPTOR,
        engine=ENGINES[DEFAULT],
        artefact=release[0],
        role=f"arn:aws:iam::{MOTO_ACCOUNT}:role/fraud-transforms",
        config=sync(lab),
        evidence=f"s3://{lab.bucket}/evidence",
        lineage_url=lab.adapter.url,
        lineage_role_arn=INVOKER_ROLE,
    )


class GlueRun:
    """What a run left behind."""

    def __init__(self, lab: Lab, job: GlueJob, *arguments: str) -> None:
        lab.client("glue").create_job(**definition(job))
        kept = {key: value for key, value in os.environ.items() if not key.startswith("CORDATA_")}
        done = subprocess.run(
            [sys.executable, "-m", "sandbox.glue_run", job.name, *arguments],
            cwd=ROOT,
            env=kept,
            capture_output=True,
            text=True,
            check=False,
        )
        self.code, self.said = done.returncode, done.stdout + done.stderr
        [self.job_run] = lab.client("glue").get_job_runs(JobName=job.name)["JobRuns"]
        self.run_id = run_id_of_job_run(self.job_run["Id"])
        s3, prefix = lab.client("s3"), f"evidence/runs/{self.run_id}/"
        listed = s3.list_objects_v2(Bucket=lab.bucket, Prefix=prefix).get("Contents", [])
        self.evidence = {
            each["Key"].removeprefix(prefix): s3.get_object(Bucket=lab.bucket, Key=each["Key"])["Body"].read()
            for each in listed
        }

    @property
    def terminal(self) -> dict[str, Any]:
        return dict(json.loads(self.evidence["terminal.json"]))


def test_a_deployed_job_publishes_and_says_which_artefact_and_commit_did_it(
    lab: Lab, job: GlueJob, release: tuple[Artefact, Build]
) -> None:
    run = GlueRun(lab, job)

    assert run.code == 0, run.said
    assert run.terminal["eventType"] == "COMPLETE", run.said
    assert run.job_run["JobRunState"] == "SUCCEEDED"
    assert len(lab.rows()) == 3
    facets = run.terminal["run"]["facets"]
    provenance = facets["cordata_provenance"]
    build = release[1]
    assert provenance["executor_version"] == f"pipeline-runtime {build.version}"
    assert (provenance.get("executor_commit"), provenance.get("executor_dirty")) == (build.commit, build.dirty)
    synced = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=lab.root.parents[1], capture_output=True, text=True, check=True
    )
    assert provenance["descriptor_git_commit"] == synced.stdout.strip()
    assert provenance["descriptor_path"] == DESCRIPTOR
    assert facets["environment-properties"]["environment-properties"]["GLUE_VERSION"] == job.engine.glue
    # The listener came with the job, and saw it.
    version = job.engine.listener.version
    assert f"OpenLineage/tree/{version}/integration/spark".encode() in run.evidence["listener/events.jsonl"]
    assert [event["eventType"] for event in lab.adapter.events(run.run_id)] == ["START", "COMPLETE", "OTHER"]
    assert "closer" in run.said


def test_with_the_listener_detached_our_own_events_still_go_out(lab: Lab, job: GlueJob) -> None:
    run = GlueRun(lab, replace(job, openlineage_enabled=False))

    assert run.code == 0, run.said
    assert "listener/events.jsonl" not in run.evidence
    assert [event["eventType"] for event in lab.adapter.events(run.run_id)] == ["START", "COMPLETE", "OTHER"]


def test_a_quarantined_batch_fails_the_job_run(lab: Lab, job: GlueJob) -> None:
    lab.change_descriptor("on_failure: block_publish", "on_failure: quarantine")
    lab.change("expectations/payments_scored.yml", "max_value: 1}", "max_value: 0.1}")
    again = replace(job, config=resync(lab))
    run = GlueRun(lab, again)

    assert run.code == 3, run.said
    assert run.job_run["JobRunState"] == "FAILED"
    assert run.job_run["ErrorMessage"] == "the script ended with exit code 3"
    assert run.terminal["eventType"] == "FAIL"


def resync(lab: Lab) -> str:
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run([*git, "commit", "-q", "-a", "-m", "changed"], cwd=lab.root.parents[1], check=True)
    url = f"s3://{lab.bucket}/config"
    assert main(["sync", str(lab.root), url]) == 0
    return url


def test_a_refused_configuration_leaves_its_reason_for_the_closer(lab: Lab, job: GlueJob) -> None:
    run = GlueRun(lab, replace(job, descriptor="domains/fraud/pipelines/payment_scored.yml"))

    assert run.code == 2, run.said
    assert f"did you mean {DESCRIPTOR}?" in run.said
    assert "terminal.json" not in run.evidence
    assert "is not in the synced copy" in json.loads(run.evidence["refused.json"])["reason"]
    assert run.job_run["JobRunState"] == "FAILED"


def test_an_unknown_job_is_named_with_those_that_there_are(aws: Any) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "sandbox.glue_run", "no_such_job"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "Glue has no job no_such_job; it has: " in done.stderr
