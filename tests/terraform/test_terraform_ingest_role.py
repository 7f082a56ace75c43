"""The role that tells of a replication, as Terraform makes it, is enough for `ingest`, and for nothing else.

As for a job's role: a statement that a batch could do without is either not there, or in `RESERVE` with its reason.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.request
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError
from deployed_domain import environ_in, server

from sandbox.deploy.terraform import ACCOUNTS, ROOT, Workspace
from tests.conftest import REGION, Aws
from tests.replications import play
from tests.servers import free_port
from tests.terraform.examples import an_ontology

pytestmark = [pytest.mark.terraform, pytest.mark.slow]

POLICY = ACCOUNTS["policy"]
ROLE = "cordata-policy-ingest"
INVOKER = f"arn:aws:iam::{ACCOUNTS['governance']}:role/cordata-policy-lineage"
EVIDENCE = "cordata-policy-pipelines-example"

#: Without the statement the command fails.
NEEDED = {
    "FindTheTask": "what is replicated, from where to where",
    "StartAndCount": "the task is resumed, and its rows are counted",
    "HostAndPort": "the source's tables are called after their host",
    "FindLandingTables": "the landing tables are found by their locations",
    "NameTheRun": "the landing tables name the run that filled them",
    "Evidence": "no event could be kept",
    "NoLongerThere": "a run that has ended would be taken for lost",
    "OwnFolders": "the batch before is found by listing",
}

#: Without the statement this command succeeds. Why the role has it all the same:
RESERVE = {"SignLineage": "lineage never stops a batch: the events stay in the evidence prefix, undelivered"}


@dataclass(frozen=True)
class Told:
    """What one call of `ingest` left to see."""

    code: int
    said: str
    refused: frozenset[str]


@dataclass
class Replication:
    """Policy's replication, and the means to tell of its batches in the role."""

    aws: Aws
    terraform: Workspace
    lineage_url: str
    task: str
    rows: int = field(default=0)

    def ingest(self, **environ: str) -> Told:
        """Tells of one more batch, of a task that somebody has stopped, with some more rows."""
        self._stop()
        self.rows += 10
        counted = {"SchemaName": "public", "TableName": "claims", "TableState": "Table completed", "Inserts": self.rows}
        play(self.aws.endpoint, self.task, {"Status": "running", "Loaded": True, "Statistics": [counted]})
        urllib.request.urlopen(self._authorisation("DELETE")).close()
        command = [sys.executable, "-m", "pipeline_runtime", "ingest", "--task", self.task, "--domain", "policy"]
        bounds = ["--database", "policy_raw", "--for", "PT1S", "--pause", "0.05"]
        done = subprocess.run(
            [*command, *bounds, "--evidence", f"s3://{EVIDENCE}/evidence", "--lineage-url", self.lineage_url],
            cwd=ROOT,
            env={
                **environ_in(self.aws, POLICY),
                **self._lent(),
                "CORDATA_LINEAGE_ROLE_ARN": INVOKER,
                **environ,
            },
            capture_output=True,
            text=True,
            check=False,
        )
        with urllib.request.urlopen(self._authorisation("GET")) as answer:
            decided = [each for each in json.load(answer) if each["role"] == ROLE]
        assert decided, done.stdout + done.stderr
        refused = frozenset(f"{each['action']} {each['resource']}" for each in decided if not each["allowed"])
        return Told(done.returncode, done.stdout + done.stderr, refused)

    @property
    def statements(self) -> list[dict[str, Any]]:
        iam = self.aws.client("iam", POLICY)
        assert iam.list_attached_role_policies(RoleName=ROLE)["AttachedPolicies"] == []
        found: list[dict[str, Any]] = iam.get_role_policy(RoleName=ROLE, PolicyName="ingest")["PolicyDocument"][
            "Statement"
        ]
        return found

    @contextmanager
    def without(self, sid: str) -> Iterator[None]:
        """The role without one statement of its policy."""
        whole = self.statements
        left = [statement for statement in whole if statement["Sid"] != sid]
        assert len(left) == len(whole) - 1
        self._put(left)
        try:
            yield
        finally:
            self._put(whole)

    def client(self, service: str) -> Any:
        """A client with the role's own temporary credentials."""
        import boto3

        lent = self._lent()
        made: Any = boto3.client
        return made(
            service,
            endpoint_url=self.aws.endpoint,
            region_name=REGION,
            aws_access_key_id=lent["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=lent["AWS_SECRET_ACCESS_KEY"],
            aws_session_token=lent["AWS_SESSION_TOKEN"],
        )

    def _lent(self) -> dict[str, str]:
        sts = self.aws.client("sts", POLICY)
        lent = sts.assume_role(RoleArn=f"arn:aws:iam::{POLICY}:role/{ROLE}", RoleSessionName="by-hand")["Credentials"]
        return {
            "AWS_ACCESS_KEY_ID": lent["AccessKeyId"],
            "AWS_SECRET_ACCESS_KEY": lent["SecretAccessKey"],
            "AWS_SESSION_TOKEN": lent["SessionToken"],
        }

    def _put(self, statements: list[dict[str, Any]]) -> None:
        document = json.dumps({"Version": "2012-10-17", "Statement": statements})
        self.aws.client("iam", POLICY).put_role_policy(RoleName=ROLE, PolicyName="ingest", PolicyDocument=document)

    def _stop(self) -> None:
        dms = self.aws.client("dms", POLICY)
        asked = [{"Name": "replication-task-arn", "Values": [self.task]}]
        if dms.describe_replication_tasks(Filters=asked)["ReplicationTasks"][0]["Status"] in ("starting", "running"):
            dms.stop_replication_task(ReplicationTaskArn=self.task)

    def _authorisation(self, method: str) -> urllib.request.Request:
        return urllib.request.Request(f"{self.aws.endpoint}/fake/authorisation", method=method)


@pytest.fixture(scope="module")
def replication(terraform_tree: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Replication]:
    folder, port, front = tmp_path_factory.mktemp("replication"), free_port(), free_port()
    aws, adapter = Aws(f"http://127.0.0.1:{port}"), f"http://127.0.0.1:{front}"
    enforcing = ["sandbox.fakes.authorisation.enforcing", "--port", str(port)]
    adapting = ["sandbox.adapter_front", "--port", str(front), "--events", str(folder / "events")]
    callers = {"DATAZONE_DOMAIN_ID": "dzd_sandbox", "LINEAGE_CALLERS": json.dumps({INVOKER: ["policy"]})}
    with (
        server(enforcing, dict(os.environ), f"{aws.endpoint}/moto-api/data.json"),
        server(adapting, {**environ_in(aws, ACCOUNTS["governance"]), **callers}, f"{adapter}/health"),
    ):
        an_ontology(aws)
        an_invoker(aws)
        place = {"LocationConstraint": REGION}
        aws.client("s3", POLICY).create_bucket(Bucket=EVIDENCE, CreateBucketConfiguration=place)
        held = json.dumps({"host": "claims.example.org", "port": 5433, "username": "dms", "password": "s3cret-word"})
        secret = aws.client("secretsmanager", POLICY).create_secret(Name="claims-reader", SecretString=held)["ARN"]
        example = Workspace(terraform_tree / "modules" / "ingestion" / "examples" / "basic", folder / "terraform")
        example.use(aws.endpoint, POLICY)
        source = {"engine": "aurora-postgresql", "database_name": "claims", "secret_arn": secret}
        override = {"module": {"ingestion": {"source_system": source}}}
        (example.folder / "ours_override.tf.json").write_text(json.dumps(override))
        example.init().apply()
        yield Replication(aws, example, f"{adapter}/lineage", example.outputs()["replication_task_arn"])


def an_invoker(aws: Aws) -> None:
    """Policy's role to post lineage with, as `lineage_adapter` makes it for a domain that ingests."""
    trust = {
        "Effect": "Allow",
        "Action": "sts:AssumeRole",
        "Principal": {"AWS": f"arn:aws:iam::{POLICY}:root"},
        "Condition": {"ArnLike": {"aws:PrincipalArn": [f"arn:aws:iam::{POLICY}:role/{ROLE}"]}},
    }
    document = json.dumps({"Version": "2012-10-17", "Statement": [trust]})
    iam = aws.client("iam", ACCOUNTS["governance"])
    iam.create_role(RoleName=INVOKER.rpartition("/")[2], AssumeRolePolicyDocument=document)


def test_the_deployed_role_is_enough_to_tell_of_a_batch_and_applying_again_takes_nothing_back(
    replication: Replication,
) -> None:
    told = replication.ingest()
    assert told.code == 0, told.said
    assert "lineage: delivered" in told.said
    assert told.refused == frozenset()
    table = replication.aws.client("glue", POLICY).get_table(DatabaseName="policy_raw", Name="claims")["Table"]
    assert uuid.UUID(table["Parameters"]["cordata.replication_run"])
    assert replication.terraform.changes() == []


def test_every_statement_is_needed_or_held_in_reserve_for_a_reason(replication: Replication) -> None:
    statements = replication.statements
    assert sorted(statement["Sid"] for statement in statements) == sorted([*NEEDED, *RESERVE])
    assert [action for each in statements for action in listed(each["Action"]) if "*" in action] == []


@pytest.mark.parametrize("sid", NEEDED)
def test_without_a_needed_statement_the_command_fails(replication: Replication, sid: str) -> None:
    with replication.without(sid):
        told = replication.ingest()

    assert told.code != 0, told.said
    assert told.refused, told.said


def test_without_its_signing_role_the_events_stay_undelivered(replication: Replication) -> None:
    with replication.without("SignLineage"):
        told = replication.ingest()

    assert told.code == 0, told.said
    assert "lineage: not delivered" in told.said
    assert f"sts:AssumeRole {INVOKER}" in told.refused


def listed(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value


TASK = f"arn:aws:dms:{REGION}:{POLICY}:task:ANOTHER"
REFUSED: dict[str, Callable[[Replication], object]] = {
    "stopping its task, where nobody said so": lambda found: found.client("dms").stop_replication_task(
        ReplicationTaskArn=found.task
    ),
    "another task": lambda found: found.client("dms").start_replication_task(
        ReplicationTaskArn=TASK, StartReplicationTaskType="reload-target"
    ),
    "changing what is replicated": lambda found: found.client("dms").modify_replication_task(
        ReplicationTaskArn=found.task, TableMappings="{}"
    ),
    "another secret": lambda found: found.client("secretsmanager").get_secret_value(
        SecretId=f"arn:aws:secretsmanager:{REGION}:{POLICY}:secret:payroll-AbCdEf"
    ),
    "a table that nothing lands in": lambda found: found.client("glue").update_table(
        DatabaseName="policy_raw", TableInput={"Name": "claims_deduped"}
    ),
    "the tables of another database": lambda found: found.client("glue").get_tables(DatabaseName="policy_curated"),
    "a landed file": lambda found: found.client("s3").get_object(
        Bucket="cordata-policy-raw-eu-central-1", Key="public/claims/LOAD00000001.parquet"
    ),
    "evidence of something else": lambda found: found.client("s3").put_object(
        Bucket=EVIDENCE, Key="evidence/freshness/state.json", Body=b""
    ),
    "deleting an event": lambda found: found.client("s3").delete_object(
        Bucket=EVIDENCE, Key="evidence/runs/a/terminal.json"
    ),
    "what the jobs run": lambda found: found.client("s3").put_object(
        Bucket=EVIDENCE, Key="config/current.json", Body=b""
    ),
    "starting a job": lambda found: found.client("glue").start_job_run(JobName="claims_ingest_hourly"),
    "another domain's lineage": lambda found: found.client("sts").assume_role(
        RoleArn=INVOKER.replace("policy", "finance"), RoleSessionName="policy"
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_the_role_is_refused(replication: Replication, what: str) -> None:
    with pytest.raises(ClientError, match=r"AccessDenied|AuthorizationError"):
        REFUSED[what](replication)


def test_the_domains_scheduler_may_become_it_and_no_other_role_of_the_account(replication: Replication) -> None:
    may = {"Effect": "Allow", "Action": "sts:AssumeRole", "Resource": f"arn:aws:iam::{POLICY}:role/{ROLE}"}
    assert becomes(replication.aws, "cordata-policy-scheduler", may)
    assert not becomes(replication.aws, "cordata-policy-another", may)


def becomes(aws: Aws, name: str, may: dict[str, Any]) -> bool:
    """Whether a role of that name, which its own policy lets become the ingestion's, does."""
    import boto3

    iam, trust = aws.client("iam", POLICY), {**may, "Principal": {"AWS": f"arn:aws:iam::{POLICY}:root"}}
    del trust["Resource"]
    iam.create_role(RoleName=name, AssumeRolePolicyDocument=json.dumps({"Version": "2012-10-17", "Statement": [trust]}))
    document = json.dumps({"Version": "2012-10-17", "Statement": [may]})
    iam.put_role_policy(RoleName=name, PolicyName="become", PolicyDocument=document)
    sts = aws.client("sts", POLICY)
    lent = sts.assume_role(RoleArn=f"arn:aws:iam::{POLICY}:role/{name}", RoleSessionName="session")["Credentials"]
    session = boto3.Session(lent["AccessKeyId"], lent["SecretAccessKey"], lent["SessionToken"], region_name=REGION)
    try:
        session.client("sts", endpoint_url=aws.endpoint).assume_role(RoleArn=may["Resource"], RoleSessionName="session")
    except ClientError as error:
        if error.response["Error"]["Code"] != "AccessDenied":
            raise
        return False
    return True
