"""A replication on the stand-in for AWS, and the command that tells of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pipeline_runtime.cli import main
from sandbox.lineage_access import INVOKER_ROLE
from tests.replications import play
from tests.servers import free_port, wait_until_up

ROOT = Path(__file__).resolve().parents[2]
REGION = "eu-central-1"
ACCOUNT = "333344445555"
DOMAIN_ID = "dzd_sandbox"


@dataclass(frozen=True)
class Cloud:
    """The stand-in with DMS in it, and the adapter in front of its DataZone."""

    endpoint: str
    adapter: str
    received: Path

    def client(self, service: str) -> Any:
        import boto3

        return boto3.client(
            service,
            endpoint_url=self.endpoint,
            region_name=REGION,
            aws_access_key_id=ACCOUNT,
            aws_secret_access_key="testing",
        )


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str


@dataclass
class Replication:
    """One task with its endpoints, its landing database and its evidence."""

    cloud: Cloud
    folder: Path
    capsys: pytest.CaptureFixture[str]
    arn: str
    database: str
    bucket: str

    def plays(self, *looks: dict[str, Any]) -> None:
        """What the next looks at the running task show."""
        play(self.cloud.endpoint, self.arn, *looks)

    def ingest(self, *options: str, **changes: str) -> Outcome:
        given = {"task": self.arn, "domain": "policy", "database": self.database, "pause": "0.01"}
        given |= {"evidence": str(self.folder / "evidence"), "lineage-url": self.cloud.adapter, **changes}
        named = [word for key, value in given.items() for word in (f"--{key}", value) if value]
        self.capsys.readouterr()
        code = main(["ingest", *named, *options])
        said = self.capsys.readouterr()
        return Outcome(code, said.out, said.err)

    def begin(self, run_id: str, *options: str) -> subprocess.Popen[str]:
        """An `ingest` in a process of its own, which follows the task by now."""
        command = [sys.executable, "-m", "pipeline_runtime", "ingest", "--task", self.arn, "--domain", "policy"]
        evidence = str(self.folder / "evidence")
        command += ["--for", "PT5M", "--run-id", run_id, "--evidence", evidence, "--lineage-url", self.cloud.adapter]
        process = subprocess.Popen([*command, *options], env=dict(os.environ), stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        while "start-replication" not in process.stdout.readline():
            assert process.poll() is None
        return process

    def event(self, run_id: str, kind: str = "terminal") -> dict[str, Any]:
        """The event as the evidence keeps it."""
        found: dict[str, Any] = json.loads((self.folder / "evidence" / "runs" / run_id / f"{kind}.json").read_bytes())
        return found

    def received(self, run_id: str) -> list[str]:
        """The kinds of the run's events that the adapter took, in order."""
        bodies = [json.loads(file.read_bytes()) for file in sorted(self.cloud.received.glob("*.json"))]
        return [body["eventType"] for body in bodies if body["run"]["runId"] == run_id]

    def status(self) -> str:
        asked = [{"Name": "replication-task-arn", "Values": [self.arn]}]
        dms = self.cloud.client("dms")
        return str(dms.describe_replication_tasks(Filters=asked)["ReplicationTasks"][0]["Status"])

    def parameters(self, table: str) -> dict[str, str]:
        found = self.cloud.client("glue").get_table(DatabaseName=self.database, Name=table)["Table"]
        return dict(found["Parameters"])


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cloud]:
    port, front, folder = free_port(), free_port(), tmp_path_factory.mktemp("received")
    endpoint = f"http://127.0.0.1:{port}"
    environ = {
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ACCESS_KEY_ID": ACCOUNT,
        "AWS_SECRET_ACCESS_KEY": "testing",
        "AWS_REGION": REGION,
        "AWS_DEFAULT_REGION": REGION,
        "AWS_EC2_METADATA_DISABLED": "true",
        "CORDATA_LINEAGE_AUTH": "iam",
        "CORDATA_LINEAGE_ROLE_ARN": INVOKER_ROLE,
    }
    processes = [subprocess.Popen([sys.executable, "-m", "sandbox.fakes.dms", "--port", str(port)], cwd=ROOT, **_QUIET)]
    before = {key: os.environ.get(key) for key in environ}
    try:
        wait_until_up(f"{endpoint}/moto-api/data.json", processes[0])
        os.environ.update(environ)
        command = [sys.executable, "-m", "sandbox.adapter_front", "--port", str(front), "--events", str(folder)]
        settings = {**os.environ, "DATAZONE_DOMAIN_ID": DOMAIN_ID}
        processes.append(subprocess.Popen(command, cwd=ROOT, env=settings, **_QUIET))
        wait_until_up(f"http://127.0.0.1:{front}/health", processes[1])
        yield Cloud(endpoint, f"http://127.0.0.1:{front}/lineage", folder)
    finally:
        for key, value in before.items():
            if value is None:
                os.environ.pop(key, None)
            else:
                os.environ[key] = value
        for process in reversed(processes):
            process.terminate()
            process.wait(10)


_QUIET: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


@pytest.fixture
def replicated(cloud: Cloud, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    """Makes a replication: `kind` as DMS has it, further options of its source endpoint and its mappings."""

    def make(kind: str = "full-load", mappings: str = "{}", **source: Any) -> Replication:
        mark = uuid.uuid4().hex[:8]
        dms, glue = cloud.client("dms"), cloud.client("glue")
        described = {
            "EngineName": "postgres",
            "ServerName": "Claims.example.org",
            "Port": 5433,
            "DatabaseName": "claims",
            "Username": "dms",
            "Password": "s3cret-word",
            **source,
        }
        origin = dms.create_endpoint(EndpointIdentifier=f"source-{mark}", EndpointType="source", **described)
        landing = {"BucketName": f"landing-{mark}", "BucketFolder": "raw"}
        target = dms.create_endpoint(
            EndpointIdentifier=f"landing-{mark}", EndpointType="target", EngineName="s3", S3Settings=landing
        )
        task = dms.create_replication_task(
            ReplicationTaskIdentifier=f"policy-{mark}",
            SourceEndpointArn=origin["Endpoint"]["EndpointArn"],
            TargetEndpointArn=target["Endpoint"]["EndpointArn"],
            ReplicationInstanceArn=f"arn:aws:dms:{REGION}:{ACCOUNT}:rep:INSTANCE",
            MigrationType=kind,
            TableMappings=mappings,
        )["ReplicationTask"]
        database = f"policy_raw_{mark}"
        glue.create_database(DatabaseInput={"Name": database})
        glue.create_table(
            DatabaseName=database,
            TableInput={
                "Name": "claims",
                "StorageDescriptor": {
                    "Columns": [{"Name": "claim_id", "Type": "bigint"}],
                    "Location": f"s3://landing-{mark}/raw/public/claim/",
                },
                "Parameters": {"cordata.primary_keys": "claim_id", "team": "claims"},
            },
        )
        return Replication(cloud, tmp_path, capsys, task["ReplicationTaskArn"], database, f"landing-{mark}")

    return make
