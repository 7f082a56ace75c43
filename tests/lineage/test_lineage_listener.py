"""The Spark listener: a witness under our run."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline_runtime.evidence.runs import RunEvidence
from pipeline_runtime.evidence.store import open_store
from pipeline_runtime.lineage.listener import LISTENER_CLASS, keep_events, listener_attached, listener_settings

RUN = "b8c1c9e3-5a1e-4c0f-9a1a-2c9f8b1a5e12"
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def evidence(tmp_path: Path) -> RunEvidence:
    return RunEvidence(open_store(str(tmp_path / "evidence"), lambda: pytest.fail("no S3 here")), RUN)


def test_the_listener_reports_to_our_file_under_our_run() -> None:
    settings = listener_settings(
        namespace="cordata.fraud", job_name="scored-daily", run_id=RUN, events_file=Path("/scratch/events.jsonl")
    )
    assert settings == {
        "spark.openlineage.namespace": "cordata.fraud",
        "spark.openlineage.transport.type": "file",
        "spark.openlineage.transport.location": "/scratch/events.jsonl",
        "spark.openlineage.parentRunId": RUN,
        "spark.openlineage.parentJobName": "scored-daily",
        "spark.openlineage.parentJobNamespace": "cordata.fraud",
        "spark.openlineage.rootParentRunId": RUN,
        "spark.openlineage.rootParentJobName": "scored-daily",
        "spark.openlineage.rootParentJobNamespace": "cordata.fraud",
    }


@pytest.mark.parametrize(
    ("conf", "attached"),
    [
        ({"spark.extraListeners": LISTENER_CLASS}, True),
        ({"spark.extraListeners": f"com.example.Other, {LISTENER_CLASS}"}, True),
        ({"spark.extraListeners": LISTENER_CLASS, "spark.openlineage.disabled": "True"}, False),
        ({"spark.extraListeners": "com.example.Other"}, False),
        ({}, False),
    ],
)
def test_a_listener_is_attached_when_the_deployment_names_it(conf: dict[str, str], attached: bool) -> None:
    assert listener_attached(conf) is attached


def test_the_listeners_events_are_kept_line_by_line(evidence: RunEvidence, tmp_path: Path) -> None:
    file = tmp_path / "events.jsonl"
    file.write_text('{"eventType":"START","name":"größe"}\n\n{"eventType":"COMPLETE"}\n{"cut": "sh', encoding="utf-8")
    assert keep_events(file, evidence) == 3
    kept = evidence.listener_events()
    assert kept is not None
    assert kept.decode().splitlines() == [
        '{"eventType":"START","name":"größe"}',
        '{"eventType":"COMPLETE"}',
        '{"cut": "sh',
    ]


def test_a_listener_that_wrote_nothing_leaves_nothing(evidence: RunEvidence, tmp_path: Path) -> None:
    assert keep_events(tmp_path / "missing.jsonl", evidence) == 0
    (tmp_path / "empty.jsonl").touch()
    assert keep_events(tmp_path / "empty.jsonl", evidence) == 0
    assert evidence.listener_events() is None


def test_reported_ol_10_secrets_in_the_listeners_events_are_not_kept(evidence: RunEvidence, tmp_path: Path) -> None:
    event = {
        "url": "jdbc:postgresql://app:s3cret@h:5432/d?password=s3cret",
        "options": {"password": 's3cret"quoted'},
        "plan": 'JDBCOptions("password":"s3cret")',
    }
    file = tmp_path / "events.jsonl"
    file.write_text(json.dumps(event) + '\n{"password":"s3cret', encoding="utf-8")
    keep_events(file, evidence)
    kept = evidence.listener_events()
    assert kept is not None
    assert b"s3cret" not in kept
    assert json.loads(kept.splitlines()[0])["url"] == "jdbc:postgresql://h:5432/d?password=***"


SCRIPT = """
import json, sys
from pathlib import Path
from pyspark.sql import SparkSession
from pipeline_runtime.lineage.listener import LISTENER_CLASS, listener_attached, listener_settings
run_id, folder, jar = sys.argv[1:]
conf = {
    "spark.master": "local[1]", "spark.ui.enabled": "false", "spark.jars": jar, "spark.extraListeners": LISTENER_CLASS,
    "spark.openlineage.transport.type": "http", "spark.openlineage.transport.url": "http://127.0.0.1:9",
    "spark.sql.warehouse.dir": folder + "/warehouse",
    **listener_settings(namespace="cordata.fraud", job_name="transactions-scored-daily", run_id=run_id,
                        events_file=Path(folder, "events.jsonl")),
}
builder = SparkSession.builder.appName("x")
for key, value in conf.items():
    builder = builder.config(key, value)
spark = builder.getOrCreate()
assert listener_attached(dict(spark.sparkContext.getConf().getAll()))
spark.range(3).write.parquet(folder + "/out")
spark.stop()
"""


@pytest.mark.spark
def test_reported_ol_8_the_real_listeners_events_name_our_run_as_parent(
    tmp_path: Path, evidence: RunEvidence, jars: list[Path]
) -> None:
    jar = next(jar for jar in jars if jar.name.startswith("openlineage-spark_"))

    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, RUN, str(tmp_path), str(jar)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=180,
    )

    assert done.returncode == 0, done.stderr[-2_000:]
    assert keep_events(tmp_path / "events.jsonl", evidence) > 0
    kept = evidence.listener_events()
    assert kept is not None
    events = [json.loads(line) for line in kept.splitlines()]
    ours = {"run": {"runId": RUN}, "job": {"namespace": "cordata.fraud", "name": "transactions-scored-daily"}}
    parents = {event["run"]["runId"]: event["run"]["facets"]["parent"] for event in events}
    applications = {run_id for run_id, parent in parents.items() if parent["run"]["runId"] == RUN}
    written = [event for event in events if event["eventType"] == "COMPLETE" and event["outputs"]]
    assert written
    assert RUN not in parents
    # The application's run is our child, each query's run is the application's; all name ours as their root.
    (application,) = applications
    assert {"run": parents[application]["run"], "job": parents[application]["job"]} == ours
    assert {parents[event["run"]["runId"]]["run"]["runId"] for event in written} == {application}
    assert all(parent["root"] == ours for parent in parents.values())
