"""Orchestration down to the rows: a backfill of real runs, and a DAG that starts a job which really runs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from glue_front import Start, glue_front

from artefact.build import build_release
from artefact.publish import publish
from pipeline_runtime.cli import main
from pipeline_runtime.glue.engines import DEFAULT, ENGINES
from pipeline_runtime.glue.job import GlueJob, definition
from sandbox.lineage_access import INVOKER_ROLE
from tests.run.lab import Lab
from tests.servers import Adapter, running_adapter

pytestmark = [pytest.mark.spark, pytest.mark.slow]

ROOT = Path(__file__).resolve().parents[2]
AIRFLOW = ROOT / ".cache" / "airflow" / "bin" / "python"
HELPER = Path(__file__).parent / "airflow_run.py"
ACCOUNT = "123456789012"
DESCRIPTOR = "domains/fraud/pipelines/payments_scored.yml"


@pytest.fixture(scope="module")
def adapter(aws: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Adapter]:
    with running_adapter(tmp_path_factory.mktemp("received")) as adapter:
        yield adapter


@pytest.fixture
def lab(aws: Any, spark: Any, tmp_path: Path, adapter: Adapter) -> Lab:
    made = Lab(aws, spark, tmp_path, adapter)
    # A run is for one day: its own rows, and no others.
    made.write(
        "sql/settled.sql", "SELECT id, amount, day FROM frame WHERE status = 'settled' AND day = :nominal_date\n"
    )
    return made


def test_a_backfill_publishes_each_day_and_one_with_bad_rows_stops_no_other(lab: Lab, spark_conf: Path) -> None:
    # The second day holds an amount that the suite refuses.
    lab.load(
        [
            (1, "10.00", "settled", "2026-08-01"),
            (2, "999.00", "settled", "2026-08-02"),
            (3, "30.00", "settled", "2026-08-03"),
        ]
    )
    command = [
        *(sys.executable, "-m", "pipeline_runtime", "backfill", str(lab.root / "pipelines/payments_scored.yml")),
        *("--from", "2026-08-01", "--to", "2026-08-04", "--logs", str(lab.root.parent / "logs")),
    ]

    def backfill() -> subprocess.CompletedProcess[str]:
        return subprocess.run(command, env=lab.process_environ(spark_conf), capture_output=True, text=True, check=False)

    first = backfill()
    assert first.returncode == 1, first.stdout + first.stderr
    assert "2 published, 1 failed" in first.stdout
    assert "2026-08-02 failed" in first.stdout
    assert "PublishBlocked" in first.stdout or "expectations failed" in first.stdout
    assert lab.rows(columns="id, day") == [(1, "2026-08-01"), (3, "2026-08-03")]
    lab.load(
        [
            (1, "11.00", "settled", "2026-08-01"),
            (2, "20.00", "settled", "2026-08-02"),
            (3, "31.00", "settled", "2026-08-03"),
        ]
    )
    second = backfill()
    assert second.returncode == 0, second.stdout + second.stderr
    assert "3 published (2 of them before)" in second.stdout
    # Only the day that was missing was made again.
    assert lab.rows(columns="id, amount") == [(1, 10.0), (2, 20.0), (3, 30.0)]


def test_a_dag_starts_the_deployed_job_and_the_runs_events_name_airflows_run(lab: Lab, tmp_path: Path) -> None:
    if not AIRFLOW.exists():
        pytest.skip("Airflow is not set up; run `make airflow` (it needs Python 3.12)")
    job = deployed(lab, tmp_path)
    dags = tmp_path / "dags"
    shutil.copytree(ROOT / "docs" / "airflow" / "dags", dags)
    shutil.copytree(lab.root.parent, dags / "domains")
    role = f"arn:aws:iam::{ACCOUNT}:role/cordata-fraud-scheduler"
    jobs = {job.name: {"descriptor": DESCRIPTOR, "schedule": "0 0 * * *"}}
    (dags / "deployment.json").write_text(
        json.dumps(
            {
                "region": lab.aws.region,
                "poll_seconds": 1,
                "retries": 0,
                "domains": {"fraud": {"role_arn": role, "jobs": jobs}},
            }
        )
    )
    runners: list[subprocess.Popen[str]] = []

    def run_here(start: Start) -> str:
        """Glue's part: the runner of deployed jobs starts the job run, and runs it."""
        arguments = [f"--argument={key}={value}" for key, value in start.arguments.items()]
        kept = {key: value for key, value in os.environ.items() if not key.startswith("CORDATA_")}
        runners.append(
            subprocess.Popen(
                [sys.executable, "-m", "sandbox.glue_run", start.job, *arguments],
                cwd=ROOT,
                env=kept,
                stdout=log,
                stderr=subprocess.STDOUT,
                text=True,
            )
        )
        deadline = time.monotonic() + 60
        while not (runs := lab.client("glue").get_job_runs(JobName=start.job)["JobRuns"]):
            assert time.monotonic() < deadline, "the runner started no job run"
            time.sleep(0.2)
        return str(runs[0]["Id"])

    with (tmp_path / "glue_run.log").open("w") as log, glue_front(lab.aws) as front:
        front.instead = run_here
        environ = {
            **{key: value for key, value in os.environ.items() if not key.startswith(("CORDATA_", "PYTHON"))},
            "AIRFLOW_HOME": str(tmp_path / "home"),
            "AIRFLOW__CORE__DAGS_FOLDER": str(dags),
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "AIRFLOW__OPENLINEAGE__NAMESPACE": "cordata.orchestration",
            "AIRFLOW__OPENLINEAGE__TRANSPORT": json.dumps({"type": "console"}),
            "AWS_ENDPOINT_URL_GLUE": front.url,
            "PYTHONPATH": str(ROOT),
        }
        subprocess.run([AIRFLOW.parent / "airflow", "db", "migrate"], env=environ, capture_output=True, check=True)
        done = subprocess.run(
            [AIRFLOW, HELPER, "test", "fraud.payments-scored", "2026-08-01T00:00:00Z"],
            env=environ,
            capture_output=True,
            text=True,
            check=False,
        )
        for runner in runners:
            runner.wait(60)
    said = done.stdout + done.stderr + (tmp_path / "glue_run.log").read_text()
    assert done.returncode == 0, said
    [answer] = [line for line in done.stdout.splitlines() if line.startswith("ANSWER ")]
    [run] = json.loads(answer.removeprefix("ANSWER "))
    assert (run["state"], run["tries"]) == ("success", 1), said
    assert lab.rows(columns="id, day") == [(1, "2026-08-01"), (2, "2026-08-01")]
    [start] = front.starts
    _, terminal, *_ = lab.adapter.events(start.arguments["--run-id"])
    assert terminal["eventType"] == "COMPLETE"
    facets = terminal["run"]["facets"]
    assert facets["nominalTime"]["nominalStartTime"].startswith("2026-08-01T00:00:00")
    parent = facets["parent"]
    named = (parent["job"]["namespace"], parent["job"]["name"], parent["run"]["runId"])
    assert named == tuple(start.arguments["--parent-run"].split("/"))
    assert named[:2] == ("cordata.orchestration", "fraud.payments-scored.run")


def deployed(lab: Lab, tmp_path: Path) -> GlueJob:
    """The lab's job, deployed with this checkout's release and its domain synced."""
    folder, bucket = tmp_path / "artefact", f"artefacts-{uuid.uuid4().hex[:8]}"
    build_release(ROOT, folder, ROOT / ".cache", [ENGINES[DEFAULT]])
    s3 = lab.client("s3")
    s3.create_bucket(Bucket=bucket, CreateBucketConfiguration={"LocationConstraint": lab.aws.region})
    artefact = publish(folder, f"s3://{bucket}", s3, allow_dirty=True)
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
    for command in (["init", "-q"], ["add", "domains"], ["commit", "-q", "-m", "declared"]):
        subprocess.run([*git, *command], cwd=lab.root.parents[1], check=True)
    target = {"database": lab.curated, "table": "payments_scored", "location": f"s3://{lab.bucket}/payments_scored/"}
    covered = {"descriptor": DESCRIPTOR, "source": f"{lab.raw}.payments", "target": target}
    known = json.dumps({"domain": "fraud", "jobs": {"payments_scored": covered}})
    s3.put_object(Bucket=lab.bucket, Key="config/deployed.json", Body=known)
    assert main(["sync", str(lab.root), f"s3://{lab.bucket}/config"]) == 0
    job = GlueJob(
        name=f"payments_scored_{lab.bucket.replace('-', '_')}",
        domain="fraud",
        descriptor=DESCRIPTOR,
        engine=ENGINES[DEFAULT],
        artefact=artefact,
        role=f"arn:aws:iam::{ACCOUNT}:role/fraud-transforms",
        config=f"s3://{lab.bucket}/config",
        evidence=f"s3://{lab.bucket}/evidence",
        lineage_url=lab.adapter.url,
        lineage_role_arn=INVOKER_ROLE,
    )
    lab.client("glue").create_job(**definition(job))
    return job
