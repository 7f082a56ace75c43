"""A backfill of several descriptors: makers first, nothing on top of what is missing, each job of its own."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import uuid
from collections import Counter
from pathlib import Path
from typing import Any

import executor_stub
import pytest
from glue_front import Start, glue_front

from pipeline_runtime.evidence.runs import EventKind, RunEvidence
from pipeline_runtime.evidence.store import open_store

pytestmark = pytest.mark.lengthy

ROOT = Path(__file__).resolve().parents[2]
STUB = Path(__file__).parent / "executor_stub.py"
MAKER = "domains/fraud/pipelines/transactions_scored.yml"
READER = "domains/finance/pipelines/merchant_settlement_daily.yml"
OTHER = "domains/policy/pipelines/claims_ingest.yml"
MONDAY, TUESDAY = "2026-08-03T00:00:00Z", "2026-08-04T00:00:00Z"


class Ground:
    """The sample domains, with finance reading what fraud makes, and a plan of what each run does."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.plan = folder, folder / "plan.json"
        shutil.copytree(ROOT / "domains", folder / "domains")
        reader = folder / READER
        text = reader.read_text("utf-8")
        read = "database: fraud_raw\n  table: transactions\n"
        assert read in text
        reader.write_text(text.replace(read, "database: fraud_curated\n  table: transactions_scored\n"), "utf-8")
        self.set({})

    def set(self, plan: dict[str, Any]) -> None:
        self.plan.write_text(json.dumps(plan))

    @property
    def environ(self) -> dict[str, str]:
        return {
            **os.environ,
            "CORDATA_EVIDENCE": str(self.folder / "evidence"),
            "CORDATA_LINEAGE": "off",
            "PYTHONPATH": str(ROOT),
            "AWS_DEFAULT_REGION": "eu-central-1",
        }

    def run(self, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "pipeline_runtime", "backfill", *arguments],
            cwd=self.folder,
            env={**self.environ, **environ},
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )

    def backfill(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        launch = f"{sys.executable} {STUB} {self.plan}"
        asked = ("--from", "2026-08-03", "--to", "2026-08-05", "--launch", launch, "--logs", str(self.folder / "logs"))
        return self.run(*arguments, *asked)

    @property
    def starts(self) -> list[str]:
        """The descriptor's name of each run that was started."""
        file = self.plan.with_suffix(".starts")
        return [line.split()[3] for line in file.read_text().splitlines()] if file.exists() else []


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return Ground(tmp_path)


def test_makers_come_before_readers_whatever_the_order_of_the_command(ground: Ground) -> None:
    done = ground.backfill(READER, OTHER, MAKER)
    assert done.returncode == 0, done.stderr
    assert ground.starts.index("merchant_settlement_daily") > ground.starts.index("transactions_scored") + 1
    assert Counter(ground.starts) == {"claims_ingest": 2, "merchant_settlement_daily": 2, "transactions_scored": 2}
    assert done.stdout.count("2 periods: 2 published") == 3


def test_nothing_is_made_of_a_product_that_is_not_whole_and_the_same_command_again_makes_up_for_it(
    ground: Ground,
) -> None:
    ground.set({f"transactions_scored {TUESDAY}": "fail"})
    first = ground.backfill(MAKER, READER, OTHER)
    assert first.returncode == 1
    assert "merchant_settlement_daily" not in ground.starts
    assert (
        "finance/merchant-settlement-daily not started: periods of fraud_curated.transactions_scored are missing"
        in first.stdout
    )
    assert ground.starts.count("claims_ingest") == 2, "what does not depend on it goes on"
    ground.set({})
    second = ground.backfill(MAKER, READER, OTHER)
    assert second.returncode == 0, second.stdout
    assert len(ground.starts) == 2 + 1 + 2 + 2
    assert ground.backfill(MAKER, READER, OTHER).returncode == 0
    assert len(ground.starts) == 7


def test_a_quarantine_holds_readers_back_and_is_the_exit_code(ground: Ground) -> None:
    ground.set({f"transactions_scored {MONDAY}": "quarantine"})
    done = ground.backfill(MAKER, READER)
    assert done.returncode == 3
    assert "merchant_settlement_daily" not in ground.starts


def test_a_refused_run_ends_all(ground: Ground) -> None:
    ground.set({f"transactions_scored {MONDAY}": "refuse"})
    done = ground.backfill(MAKER, OTHER)
    assert done.returncode == 2
    assert ground.starts == ["transactions_scored"]
    assert "policy/claims-ingest not started\n" in done.stdout


def test_a_circle_is_refused_before_anything_is_run(ground: Ground) -> None:
    maker = ground.folder / MAKER
    text = maker.read_text("utf-8")
    read = "finance_curated\n  table: merchant_settlement_daily\n"
    maker.write_text(text.replace("fraud_raw\n  table: transactions\n", read), "utf-8")
    done = ground.backfill(MAKER, READER)
    assert done.returncode == 2
    assert "none of them can be first" in done.stderr
    assert ground.starts == []


def test_one_job_for_several_descriptors_is_refused(ground: Ground) -> None:
    done = ground.backfill(MAKER, READER, "--job", "scored")
    assert done.returncode == 2
    assert "--job is one descriptor's job" in done.stderr


def test_the_deployments_file_says_which_job_is_whose(aws: Any, ground: Ground) -> None:
    name = uuid.uuid4().hex[:8]
    jobs = {MAKER: f"scored_{name}", READER: f"settled_{name}"}
    glue, s3 = aws.client("glue"), aws.client("s3")
    s3.create_bucket(Bucket=f"evidence-{name}", CreateBucketConfiguration={"LocationConstraint": aws.region})
    evidence = f"s3://evidence-{name}/evidence"
    for descriptor, job in jobs.items():
        glue.create_job(
            Name=job,
            Role="r",
            Command={"Name": "glueetl"},
            DefaultArguments={"--descriptor": descriptor, "--evidence": evidence},
            ExecutionProperty={"MaxConcurrentRuns": 1},
        )
    role = "arn:aws:iam::123456789012:role/scheduler"
    domains = {
        domain: {"role_arn": role, "jobs": {jobs[path]: {"descriptor": path}}}
        for domain, path in (("fraud", MAKER), ("finance", READER))
    }
    (ground.folder / "deployment.json").write_text(json.dumps({"region": aws.region, "domains": domains}))
    asked = ("--from", "2026-08-03", "--to", "2026-08-05", "--deployment", "deployment.json", "--pause", "0.1")

    def publish(start: Start) -> None:
        run = RunEvidence(open_store(evidence, lambda: s3), start.arguments["--run-id"])
        for kind, event in ((EventKind.START, "START"), (EventKind.TERMINAL, "COMPLETE")):
            run.claim(kind, executor_stub.event(run.run_id, event))
        front.end("123456789012", start.job, start.id, "SUCCEEDED")

    with glue_front(aws) as front:
        front.on_start = publish
        done = ground.run(READER, MAKER, *asked, AWS_ENDPOINT_URL_GLUE=front.url)
        assert done.returncode == 0, done.stdout + done.stderr
        assert [start.job for start in front.starts] == [jobs[MAKER]] * 2 + [jobs[READER]] * 2
        missing = ground.run(OTHER, MAKER, *asked, AWS_ENDPOINT_URL_GLUE=front.url)
    assert missing.returncode == 2
    assert f"deployment.json has no job of domain policy for {OTHER}" in missing.stderr
    assert len(front.starts) == 4


def test_the_week_that_the_manual_shows_is_made(ground: Ground) -> None:
    text = (ROOT / "docs" / "orchestration.md").read_text("utf-8").partition("### A week after an outage")[2]
    [command, *_] = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
    ground.set({f"transactions_scored {TUESDAY}": "fail"})
    shims = ground.folder / "bin"
    shims.mkdir()
    launch = f"{sys.executable} {STUB} {ground.plan}"
    (shims / "python").write_text(f'#!/bin/sh\nexec {sys.executable} "$@" --launch "{launch}"\n')
    (shims / "python").chmod(0o755)
    environ = {**ground.environ, "PATH": f"{shims}{os.pathsep}{os.environ['PATH']}"}

    def shown() -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, shell=True, cwd=ground.folder, env=environ, capture_output=True, text=True, check=False
        )

    first = shown()
    assert first.returncode == 1, first.stderr
    assert "merchant_settlement_daily" not in ground.starts
    ground.set({})
    assert shown().returncode == 0
    assert len(ground.starts) == 3 * 7 + 1
