"""Each example is applied for real: a second plan finds nothing to do, adding something adds only that, and destroying
leaves nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Aws
from tests.terraform.workspace import ACCOUNTS, Change, Workspace

pytestmark = [pytest.mark.terraform, pytest.mark.slow]


@pytest.fixture
def example(aws: Aws, terraform_tree: Path, tmp_path: Path) -> Callable[[str, str], Workspace]:
    """An example of a module, initialised, as the deployer of an account."""

    def prepare(module: str, account: str) -> Workspace:
        workspace = Workspace(terraform_tree / "modules" / module / "examples" / "basic", tmp_path / module)
        workspace.use(aws.endpoint, ACCOUNTS[account])
        return workspace.init()

    return prepare


def applied(workspace: Workspace, **variables: Any) -> None:
    """Applies, and asserts that nothing is left to change."""
    workspace.apply(**variables)
    assert workspace.changes() == []


def gone(workspace: Workspace) -> None:
    workspace.destroy()
    assert workspace("state", "list").stdout == ""


def created(changes: list[Change]) -> set[str]:
    assert {change.actions for change in changes} <= {("create",)}
    return {change.address for change in changes}


def test_the_ontology_gains_an_account_and_keeps_what_it_has(aws: Aws, example: Any) -> None:
    policy = example("policy", "governance")
    applied(policy)
    tags = aws.client("lakeformation", ACCOUNTS["governance"]).list_lf_tags()["LFTags"]
    assert {tag["TagKey"]: sorted(tag["TagValues"]) for tag in tags} == {
        "sensitivity": ["high", "low", "medium"],
        "residency": ["ch", "eu"],
        "subject_type": ["customer", "merchant", "none"],
    }
    more = {"domain_accounts": {"fraud": ACCOUNTS["fraud"], "finance": ACCOUNTS["finance"]}}
    assert created(policy.changes(**more)) == {
        f'module.policy.aws_lakeformation_permissions.share["{key}/finance"]'
        for key in ("residency", "sensitivity", "subject_type")
    }
    gone(policy)


def test_a_version_of_the_executor_cannot_be_replaced_in_its_bucket(aws: Aws, example: Any) -> None:
    artefact = example("executor_artefact", "platform")
    applied(artefact)
    assert artefact.outputs()["location"] == "s3://cordata-artifacts-example/pipeline-runtime"
    changes = artefact.changes(reader_accounts={"fraud": ACCOUNTS["fraud"], "finance": ACCOUNTS["finance"]})
    assert [change.address for change in changes] == ["module.executor_artefact.aws_s3_bucket_policy.this"]
    gone(artefact)


def test_a_scheduler_gains_a_job(example: Any) -> None:
    role = example("scheduler_role", "fraud")
    applied(role)
    changes = role.changes(job_names=["transactions_scored_daily", "another"])
    assert [change.address for change in changes] == ["module.scheduler_role.aws_iam_role_policy.this"]
    gone(role)
