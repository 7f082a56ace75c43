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
        """Points the root module's AWS provider at the stand-in, as the deployer of one account."""
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
        self("plan", "-out=changes.tfplan", "-no-color")
        shown = json.loads(self("show", "-json", "changes.tfplan").stdout)
        return [
            Change(each["address"], tuple(each["change"]["actions"]))
            for each in shown.get("resource_changes", [])
            if each["mode"] == "managed" and each["change"]["actions"] != ["no-op"]
        ]

    def outputs(self) -> dict[str, Any]:
        return {name: output["value"] for name, output in json.loads(self("output", "-json").stdout).items()}

    def _given(self, variables: dict[str, Any]) -> None:
        """Values for the root module's variables; they stay until others are given."""
        if variables:
            (self.folder / "given.auto.tfvars.json").write_text(json.dumps(variables))
