"""What Terraform applies is what runs: from empty accounts to every domain's job, each in its own account."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from sandbox.deploy.terraform import ACCOUNTS, ROOT
from tests.conftest import REGION

pytestmark = [pytest.mark.terraform]

SCORED, CLAIMS, SETTLED = "transactions_scored_daily", "claims_ingest_hourly", "merchant_settlement_daily"
DESCRIPTORS = {
    SCORED: "domains/fraud/pipelines/transactions_scored.yml",
    CLAIMS: "domains/policy/pipelines/claims_ingest.yml",
    SETTLED: "domains/finance/pipelines/merchant_settlement_daily.yml",
}
GIT = ("git", "-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false")


def git(checkout: Path, *arguments: str) -> bytes:
    return subprocess.run([*GIT, *arguments], cwd=checkout, capture_output=True, check=True).stdout


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """This working tree as one clean commit of a repository of its own; what was fetched before is shared."""
    top = tmp_path_factory.mktemp("checkout")
    listed = git(ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard").decode().split("\0")
    for name in filter(None, listed):
        if (ROOT / name).is_file():
            (top / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, top / name)
    git(top, "init", "--quiet")
    (top / ".cache").symlink_to(ROOT / ".cache")
    (top / ".git" / "info" / "exclude").write_text("/.cache\n")
    git(top, "add", "--all")
    git(top, "commit", "--quiet", "--message", "as it is")
    return top


@dataclass(frozen=True)
class Run:
    """A job's run: how it ended, what it said, and its own events as DataZone's stand-in has them."""

    code: int
    said: str
    events: list[dict[str, Any]]

    @property
    def complete(self) -> dict[str, Any]:
        [event] = [event for event in self.events if event["eventType"] == "COMPLETE"]
        return event

    @property
    def provenance(self) -> dict[str, Any]:
        return dict(self.complete["run"]["facets"]["cordata_provenance"])


@dataclass
class Deployed:
    """A deployment in a folder of its own; jobs run once each, when first asked for."""

    checkout: Path
    folder: Path
    runs: dict[str, Run] = field(default_factory=dict)

    def command(self, module: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("AWS_", "CORDATA_"))}
        return subprocess.run(
            [sys.executable, "-m", module, "--folder", str(self.folder), *arguments],
            cwd=self.checkout,
            env=kept,
            capture_output=True,
            text=True,
            check=False,
        )

    @cached_property
    def endpoint(self) -> str:
        settings = dict(line.split("=", 1) for line in (self.folder / "env").read_text().splitlines())
        return settings["AWS_ENDPOINT_URL"]

    def client(self, service: Any, account: str) -> Any:
        import boto3

        return boto3.Session(ACCOUNTS[account], "testing", region_name=REGION).client(
            service, endpoint_url=self.endpoint
        )

    def run(self, job: str) -> Run:
        done = self.command("sandbox.glue_run", job)
        run_id = re.search(r"Glue 5\.1, run ([0-9a-f-]{36})", done.stdout)
        with urllib.request.urlopen(f"{self.endpoint}/fake/events") as answer:
            events = [json.loads(event["body"]) for event in json.load(answer)]
        own = [event for event in events if run_id and event["run"]["runId"] == run_id[1]]
        return Run(done.returncode, done.stdout + done.stderr, own)

    def __getitem__(self, job: str) -> Run:
        if job not in self.runs:
            self.runs[job] = self.run(job)
        return self.runs[job]


@pytest.fixture(scope="module")
def deployed(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployed]:
    made = Deployed(checkout, tmp_path_factory.mktemp("deployed"))
    try:
        done = made.command("sandbox.deploy.local", "up")
        assert done.returncode == 0, done.stdout + done.stderr
        assert done.stdout.splitlines()[-3:] == [f"next      make glue-run JOB={job}" for job in DESCRIPTORS]
        yield made
    finally:
        made.command("sandbox.deploy.local", "down")


def test_what_is_no_commits_is_not_deployed_unless_it_is_allowed(checkout: Path, tmp_path: Path) -> None:
    dirty = tmp_path / "dirty"
    git(checkout, "clone", "--quiet", "--local", ".", str(dirty))
    descriptor = dirty / DESCRIPTORS[SCORED]
    descriptor.write_text(descriptor.read_text().replace("PT4H", "PT5H"))
    done = Deployed(dirty, tmp_path / "deployed").command("sandbox.deploy.local", "up")
    assert done.returncode == 1
    assert "deploy: domain fraud cannot be synced: the tree is not commit" in done.stderr
    assert f"{DESCRIPTORS[SCORED]} differs from it" in done.stderr
    assert not (tmp_path / "deployed").exists()

    executor = dirty / "pipeline_runtime" / "__init__.py"
    executor.write_text(executor.read_text() + "# changed\n")
    done = Deployed(dirty, tmp_path / "deployed").command("sandbox.deploy.local", "up")
    assert "the executor is not one commit's; commit first, or `make deploy-local ALLOW_DIRTY=1`" in done.stderr


@pytest.mark.slow
@pytest.mark.spark
def test_without_the_owners_grant_the_reader_is_refused_and_deploying_again_restores_it(deployed: Deployed) -> None:
    lakeformation = deployed.client("lakeformation", "fraud")
    table = {"Table": {"CatalogId": ACCOUNTS["fraud"], "DatabaseName": "fraud_raw", "Name": "transactions"}}
    [shared] = [
        each
        for each in lakeformation.list_permissions(Resource=table)["PrincipalResourcePermissions"]
        if each["Principal"]["DataLakePrincipalIdentifier"] == ACCOUNTS["finance"]
    ]
    lakeformation.revoke_permissions(Principal=shared["Principal"], Resource=table, Permissions=shared["Permissions"])
    refused = deployed.run(SETTLED)
    assert refused.code == 1, refused.said
    assert (
        "access denied: cannot look up fraud_raw.transactions in catalog 444455556666. AWS says: Insufficient Lake "
        "Formation permission(s): Required Describe on transactions. Grant the job's role that permission."
    ) in refused.said
    assert [event["eventType"] for event in refused.events] == ["START", "FAIL"]

    again = deployed.command("sandbox.deploy.local", "up")
    assert again.returncode == 0, again.stdout + again.stderr
    assert shared in lakeformation.list_permissions(Resource=table)["PrincipalResourcePermissions"]


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize("job", DESCRIPTORS)
def test_a_deployed_job_completes_once_and_names_its_artefact_and_its_commit(
    deployed: Deployed, checkout: Path, job: str
) -> None:
    run, commit = deployed[job], git(checkout, "rev-parse", "HEAD").decode().strip()
    assert run.code == 0, run.said
    assert [event["eventType"] for event in run.events] == ["START", "COMPLETE", "OTHER"]
    manifest = json.loads((deployed.folder / "artefact" / "manifest.json").read_text())
    assert run.provenance["executor_version"] == f"pipeline-runtime {manifest['version']}"
    assert run.provenance["executor_commit"] == manifest["commit"] == commit
    assert "executor_dirty" not in run.provenance or run.provenance["executor_dirty"] is False
    assert run.provenance["descriptor_git_commit"] == commit
    descriptor = git(checkout, "show", f"{commit}:{run.provenance['descriptor_path']}")
    assert run.provenance["descriptor_path"] == DESCRIPTORS[job]
    assert run.provenance["descriptor_sha256"] == hashlib.sha256(descriptor).hexdigest()


@pytest.mark.slow
@pytest.mark.spark
def test_finance_reads_frauds_table_under_frauds_name_with_governances_tags(deployed: Deployed) -> None:
    run, glue = deployed[SETTLED], deployed.client("glue", "finance")
    link = glue.get_table(DatabaseName="fraud_raw", Name="transactions")["Table"]
    assert (link["CatalogId"], link["TargetTable"]["CatalogId"]) == (ACCOUNTS["finance"], ACCOUNTS["fraud"])

    # The pin is held against the owner's version: fraud's table has had releases, the link has had none.
    assert "fraud_raw.transactions pinned v7, catalog v7 OK" in run.said
    [read], [written] = run.complete["inputs"], run.complete["outputs"]
    assert (read["namespace"], read["name"]) == (
        f"arn:aws:glue:{REGION}:{ACCOUNTS['fraud']}",
        "table/fraud_raw/transactions",
    )
    assert written["namespace"] == f"arn:aws:glue:{REGION}:{ACCOUNTS['finance']}"
    [scored_from] = deployed[SCORED].complete["inputs"]
    assert (scored_from["namespace"], scored_from["name"]) == (read["namespace"], read["name"])

    table = {"Table": {"DatabaseName": "finance_curated", "Name": SETTLED}}
    tags = deployed.client("lakeformation", "finance").get_resource_lf_tags(Resource=table)["LFTagsOnTable"]
    assert {(tag["CatalogId"], tag["TagKey"]): tag["TagValues"] for tag in tags} == {
        (ACCOUNTS["governance"], "sensitivity"): ["medium"],
        (ACCOUNTS["governance"], "residency"): ["eu"],
        (ACCOUNTS["governance"], "subject_type"): ["merchant"],
    }
