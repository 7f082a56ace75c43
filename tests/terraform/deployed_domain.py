"""The fraud domain as Terraform deploys it, on a stand-in for AWS that holds its role's sessions to their policies."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from artefact.build import build_release
from artefact.publish import publish
from pipeline_runtime.glue.engines import DEFAULT, ENGINES
from sandbox.deploy.terraform import ACCOUNTS, ROOT, Workspace
from tests.conftest import REGION, Aws
from tests.servers import free_port, wait_until_up

JOB = "transactions_scored_daily"
ROLE = f"cordata-fraud-{JOB}"
INVOKERS = {
    domain: f"arn:aws:iam::{ACCOUNTS['governance']}:role/cordata-{domain}-lineage" for domain in ("fraud", "finance")
}
ROWS = 20_000
#: Of the stand-in's settings, those that name an account belong to whoever is asked.
_FOREIGN = ("AWS_", "CORDATA_")


@dataclass(frozen=True)
class Ran:
    """What one run of the job left to see."""

    code: int
    said: str
    decided: tuple[Mapping[str, Any], ...]

    def asked(self, action: str) -> list[Mapping[str, Any]]:
        return [each for each in self.decided if each["action"] == action]

    @property
    def refused(self) -> list[str]:
        return [f"{each['action']} {each['resource']}" for each in self.decided if not each["allowed"]]


@dataclass(frozen=True)
class Deployment:
    """The domain's account, and the means to run its job."""

    aws: Aws
    jobs: Workspace
    lineage_url: str

    def apply(self, **arguments: Any) -> None:
        """Applies the module's own example, with an adapter that answers, and without a log of who reads the bucket.

        `arguments` are the module's, beside the example's.
        """
        ours = {"lineage_url": self.lineage_url, "access_log_bucket": None, **arguments}
        (self.jobs.folder / "ours_override.tf.json").write_text(json.dumps({"module": {"transform_jobs": ours}}))
        self.jobs.apply()

    def grants(self) -> dict[str, tuple[str, ...]]:
        """What Lake Formation grants the role in the domain's own catalog, by the kind of resource and its name."""
        lakeformation = self.aws.client("lakeformation", ACCOUNTS["fraud"])
        principal = {"DataLakePrincipalIdentifier": f"arn:aws:iam::{ACCOUNTS['fraud']}:role/{ROLE}"}
        listed = lakeformation.list_permissions(Principal=principal)["PrincipalResourcePermissions"]
        return {_named(each["Resource"]): tuple(sorted(each["Permissions"])) for each in listed}

    @property
    def policy(self) -> dict[str, Any]:
        """The role's policy as IAM has it now."""
        iam = self.aws.client("iam", ACCOUNTS["fraud"])
        [name] = iam.list_role_policies(RoleName=ROLE)["PolicyNames"]
        assert iam.list_attached_role_policies(RoleName=ROLE)["AttachedPolicies"] == []
        document: dict[str, Any] = iam.get_role_policy(RoleName=ROLE, PolicyName=name)["PolicyDocument"]
        return document

    @contextmanager
    def without(self, sid: str) -> Iterator[None]:
        """The role without one statement of its policy."""
        whole = self.policy
        left = [statement for statement in whole["Statement"] if statement["Sid"] != sid]
        assert len(left) == len(whole["Statement"]) - 1
        try:
            self._put({**whole, "Statement": left})
            yield
        finally:
            self._put(whole)

    @contextmanager
    def without_tag(self, key: str, value: str) -> Iterator[None]:
        """The role without the grant on one value of the ontology."""
        lakeformation = self.aws.client("lakeformation", ACCOUNTS["fraud"])
        grant = {
            "Principal": {"DataLakePrincipalIdentifier": f"arn:aws:iam::{ACCOUNTS['fraud']}:role/{ROLE}"},
            "Resource": {"LFTag": {"CatalogId": ACCOUNTS["governance"], "TagKey": key, "TagValues": [value]}},
            "Permissions": ["ASSOCIATE", "DESCRIBE"],
        }
        lakeformation.revoke_permissions(**grant)
        try:
            yield
        finally:
            lakeformation.grant_permissions(**grant)

    def _put(self, document: Mapping[str, Any]) -> None:
        iam = self.aws.client("iam", ACCOUNTS["fraud"])
        iam.put_role_policy(RoleName=ROLE, PolicyName="descriptor", PolicyDocument=json.dumps(document))

    def run(self) -> Ran:
        """Runs the job as Glue would, to its end."""
        self._decisions("DELETE")
        done = subprocess.run(
            [sys.executable, "-m", "sandbox.glue_run", JOB, "--account", ACCOUNTS["fraud"]],
            cwd=ROOT,
            env=environ_in(self.aws, ACCOUNTS["fraud"]),
            capture_output=True,
            text=True,
            check=False,
        )
        decided = [each for each in self._decisions("GET") if each["role"] == ROLE]
        return Ran(done.returncode, done.stdout + done.stderr, tuple(decided))

    def client(self, service: str) -> Any:
        """A client with the role's own temporary credentials."""
        import boto3

        sts = self.aws.client("sts", ACCOUNTS["fraud"])
        lent = sts.assume_role(RoleArn=f"arn:aws:iam::{ACCOUNTS['fraud']}:role/{ROLE}", RoleSessionName="by-hand")
        made: Any = boto3.client
        return made(
            service,
            endpoint_url=self.aws.endpoint,
            region_name=REGION,
            aws_access_key_id=lent["Credentials"]["AccessKeyId"],
            aws_secret_access_key=lent["Credentials"]["SecretAccessKey"],
            aws_session_token=lent["Credentials"]["SessionToken"],
        )

    def _decisions(self, method: str) -> list[Mapping[str, Any]]:
        request = urllib.request.Request(f"{self.aws.endpoint}/fake/authorisation", method=method)
        with urllib.request.urlopen(request) as answer:
            decided: list[Mapping[str, Any]] = json.loads(answer.read() or b"[]")
        return decided


@contextmanager
def deployed(terraform_tree: Path, folder: Path) -> Iterator[Deployment]:
    """Everything that a run needs: a release, a lake, a lineage adapter, the jobs by Terraform, the synced domain."""
    port, adapter_port = free_port(), free_port()
    aws, adapter = Aws(f"http://127.0.0.1:{port}"), f"http://127.0.0.1:{adapter_port}"
    with (
        server(
            ["sandbox.fakes.authorisation.enforcing", "--port", str(port)],
            dict(os.environ),
            f"{aws.endpoint}/moto-api/data.json",
        ),
        server(
            ["sandbox.adapter_front", "--port", str(adapter_port), "--events", str(folder / "events")],
            {
                **environ_in(aws, ACCOUNTS["governance"]),
                "DATAZONE_DOMAIN_ID": "dzd_sandbox",
                "LINEAGE_CALLERS": json.dumps({arn: [domain] for domain, arn in INVOKERS.items()}),
            },
            f"{adapter}/health",
        ),
    ):
        _govern(aws)
        _release(aws, folder / "release")
        _python(["sandbox.lake.seed", "--rows", str(ROWS)], aws)
        found = Deployment(aws, _example(aws, terraform_tree, folder / "terraform"), f"{adapter}/lineage")
        found.apply()
        _sync(aws, folder / "checkout")
        yield found


def environ_in(aws: Aws, account: str) -> dict[str, str]:
    """This process's environment, as somebody of an account of the stand-in's."""
    return {
        **{key: value for key, value in os.environ.items() if not key.startswith(_FOREIGN)},
        "AWS_ENDPOINT_URL": aws.endpoint,
        "AWS_REGION": REGION,
        "AWS_DEFAULT_REGION": REGION,
        "AWS_ACCESS_KEY_ID": account,
        "AWS_SECRET_ACCESS_KEY": "testing",
        "AWS_EC2_METADATA_DISABLED": "true",
    }


@contextmanager
def server(module: list[str], environ: dict[str, str], url: str) -> Iterator[None]:
    """A module of ours that serves, from when it answers at the address until the end of the block."""
    process = subprocess.Popen([sys.executable, "-m", *module], cwd=ROOT, env=environ, stdout=subprocess.DEVNULL)
    try:
        wait_until_up(url, process)
        yield
    finally:
        process.terminate()
        process.wait(60)


def _python(module: list[str], aws: Aws) -> None:
    subprocess.run([sys.executable, "-m", *module], cwd=ROOT, env=environ_in(aws, ACCOUNTS["fraud"]), check=True)


def _govern(aws: Aws) -> None:
    """The ontology, and each domain's role to post lineage with, as `policy` and `lineage_adapter` make them."""
    from sandbox.lake.catalog import create_ontology

    create_ontology(aws.client("lakeformation", ACCOUNTS["governance"]))
    iam = aws.client("iam", ACCOUNTS["governance"])
    for domain, arn in INVOKERS.items():
        principal = {"AWS": f"arn:aws:iam::{ACCOUNTS[domain]}:root"}
        jobs = {"ArnLike": {"aws:PrincipalArn": [f"arn:aws:iam::{ACCOUNTS[domain]}:role/cordata-{domain}-*"]}}
        trust = {"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": principal, "Condition": jobs}
        document = json.dumps({"Version": "2012-10-17", "Statement": [trust]})
        iam.create_role(RoleName=arn.rpartition("/")[2], AssumeRolePolicyDocument=document)


def _release(aws: Aws, folder: Path) -> None:
    build_release(ROOT, folder, ROOT / ".cache", [ENGINES[DEFAULT]])
    s3 = aws.client("s3", ACCOUNTS["platform"])
    s3.create_bucket(Bucket="cordata-artifacts", CreateBucketConfiguration={"LocationConstraint": REGION})
    publish(folder, "s3://cordata-artifacts", s3, allow_dirty=True)


def _example(aws: Aws, terraform_tree: Path, data: Path) -> Workspace:
    jobs = Workspace(terraform_tree / "modules" / "transform_jobs" / "examples" / "basic", data)
    jobs.use(aws.endpoint, ACCOUNTS["fraud"])
    return jobs.init()


def _sync(aws: Aws, checkout: Path) -> None:
    """The sample domain as a repository of its own, synced by its CI; its suite expects the rows that there are."""
    shutil.copytree(ROOT / "domains" / "fraud", checkout / "domains" / "fraud")
    suite = checkout / "domains" / "fraud" / "expectations" / "transactions_scored.yml"
    expected = suite.read_text()
    assert "min_value: 850_000" in expected
    suite.write_text(expected.replace("min_value: 850_000", "min_value: 1"))
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
    for command in (["init", "-q"], ["add", "domains"], ["commit", "-q", "-m", "declared"]):
        subprocess.run([*git, *command], cwd=checkout, check=True)
    config = f"s3://{_bucket()}/config"
    _python(["pipeline_runtime", "sync", str(checkout / "domains" / "fraud"), config], aws)


def _bucket() -> str:
    """The domain's bucket, as the example names it."""
    example = ROOT / "terraform" / "modules" / "transform_jobs" / "examples" / "basic" / "main.tf"
    found = re.search(r'bucket_name\s+= "([^"]+)"', example.read_text())
    assert found is not None
    return found[1]


def _named(resource: Mapping[str, Any]) -> str:
    [(kind, given)] = resource.items()
    names = [given.get(key) for key in ("DatabaseName", "Name", "ResourceArn", "TagKey")]
    return f"{kind} {'.'.join(name for name in names if name)}"
