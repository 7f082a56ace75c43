"""Terraform, run on a copy of our modules against the stand-in for AWS."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["ACCOUNTS", "ROOT", "Change", "TerraformFailed", "Workspace", "copy_of", "provider_mirror"]

ROOT = Path(__file__).resolve().parents[2]

#: One account a purpose, as the live configuration has them.
ACCOUNTS = {
    "platform": "111122223333",
    "governance": "222233334444",
    "automation": "333344445555",
    "fraud": "444455556666",
    "policy": "555566667777",
    "finance": "666677778888",
}

#: Services whose endpoint the provider is given; Terraform refuses names that it does not know.
_SERVICES = (
    "apigatewayv2",
    "cloudtrail",
    "cloudwatch",
    "cloudwatchevents",
    "cloudwatchlogs",
    "datazone",
    "dms",
    "dynamodb",
    "glue",
    "iam",
    "kinesis",
    "kms",
    "lakeformation",
    "lambda",
    "s3",
    "scheduler",
    "secretsmanager",
    "sns",
    "sqs",
    "ssm",
    "sts",
)


class TerraformFailed(AssertionError):
    """Terraform ended with an error; the text is what it printed."""


@dataclass(frozen=True)
class Change:
    """What a plan would do to one resource: its address and the actions, such as ("create",)."""

    address: str
    actions: tuple[str, ...]


def provider_mirror() -> Path | None:
    """A folder with the AWS provider, where the machine has one; else Terraform asks its registry."""
    for base in ("/opt", "/usr/local/share", "/usr/share", str(Path.home())):
        for found in sorted(Path(base).glob("*/*/hashicorp/aws")):
            return found.parents[2]
    return None


def copy_of(folder: Path, into: Path) -> Path:
    """A copy to run in, so that state, plugins and lock files stay out of the tree."""
    return Path(shutil.copytree(folder, into, ignore=shutil.ignore_patterns(".terraform*", "terraform.tfstate*")))


def _access_logs(endpoint: str, account: str, region: Any) -> None:
    import boto3

    s3 = boto3.client(
        "s3", endpoint_url=endpoint, region_name=region, aws_access_key_id=account, aws_secret_access_key="testing"
    )
    name = f"cordata-access-logs-{account}"
    if name in {bucket["Name"] for bucket in s3.list_buckets()["Buckets"]}:
        return
    s3.create_bucket(Bucket=name, CreateBucketConfiguration={"LocationConstraint": region})
    statement = {
        "Effect": "Allow",
        "Principal": {"Service": "logging.s3.amazonaws.com"},
        "Action": "s3:PutObject",
        "Resource": f"arn:aws:s3:::{name}/*",
    }
    s3.put_bucket_policy(Bucket=name, Policy=json.dumps({"Version": "2012-10-17", "Statement": [statement]}))


@dataclass(frozen=True)
class Workspace:
    """One root module or module under test, in a folder that may be written to."""

    folder: Path
    data: Path

    def __call__(
        self, *arguments: str, expected: tuple[int, ...] = (0,), given: str | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Runs `terraform <arguments>`, with a text to read. Raises TerraformFailed for an unexpected exit code."""
        result = subprocess.run(
            ["terraform", *arguments],
            cwd=self.folder,
            env={
                **os.environ,
                "TF_DATA_DIR": str(self.data),
                "TF_CLI_CONFIG_FILE": os.devnull,
                "TF_IN_AUTOMATION": "1",
                "TF_INPUT": "0",
                "CHECKPOINT_DISABLE": "1",
                "AWS_EC2_METADATA_DISABLED": "true",
            },
            capture_output=True,
            input=given,
            text=True,
            check=False,
        )
        if result.returncode not in expected:
            raise TerraformFailed(f"terraform {' '.join(arguments)} in {self.folder}:\n{result.stdout}{result.stderr}")
        return result

    def init(self, *arguments: str) -> Workspace:
        mirror = provider_mirror()
        self("init", "-no-color", *([] if mirror is None else [f"-plugin-dir={mirror}"]), *arguments)
        return self

    def use(self, endpoint: str, account: str, region: str = "eu-central-1") -> None:
        """Points the root module's AWS provider at the stand-in, as the deployer of one account.

        The account is one of an organisation: it has the bucket that S3 writes access logs to.
        """
        _access_logs(endpoint, account, region)
        provider = {
            "region": region,
            "access_key": account,
            "secret_key": "testing",
            "skip_credentials_validation": True,
            "skip_metadata_api_check": True,
            "skip_region_validation": True,
            "s3_use_path_style": True,
            "max_retries": 2,
            "endpoints": [dict.fromkeys(_SERVICES, endpoint)],
        }
        (self.folder / "standin_override.tf.json").write_text(json.dumps({"provider": {"aws": provider}}))

    def apply(self, **variables: Any) -> None:
        self._given(variables)
        self("apply", "-auto-approve", "-no-color")

    def destroy(self, **variables: Any) -> None:
        self._given(variables)
        self("destroy", "-auto-approve", "-no-color")

    def changes(self, **variables: Any) -> list[Change]:
        """What applying again would change; nothing, where the configuration is what is there."""
        self._given(variables)
        if self("plan", "-out=changes.tfplan", "-detailed-exitcode", "-no-color", expected=(0, 2)).returncode == 0:
            return []
        shown = json.loads(self("show", "-json", "changes.tfplan").stdout)
        return [
            Change(each["address"], tuple(each["change"]["actions"]))
            for each in shown.get("resource_changes", [])
            if each["mode"] == "managed" and each["change"]["actions"] != ["no-op"]
        ]

    def apply_planned(self) -> None:
        """Applies the changes that were planned last, and no others."""
        self("apply", "-auto-approve", "-no-color", "changes.tfplan")

    def outputs(self) -> dict[str, Any]:
        return {name: output["value"] for name, output in json.loads(self("output", "-json").stdout).items()}

    def _given(self, variables: dict[str, Any]) -> None:
        """Values for the root module's variables; they stay until others are given."""
        if variables:
            (self.folder / "given.auto.tfvars.json").write_text(json.dumps(variables))
