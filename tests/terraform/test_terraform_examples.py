"""Each example is applied for real: a second plan finds nothing to do, adding something adds only that, and destroying
leaves nothing.
"""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipeline_runtime.glue.artefact import Artefact
from pipeline_runtime.glue.engines import ENGINES
from pipeline_runtime.glue.job import GlueJob, definition
from sandbox.deploy.terraform import ACCOUNTS, Change, Workspace
from tests.conftest import Aws

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


def test_a_job_is_what_the_executor_says_it_is_and_a_second_one_changes_nothing_else(aws: Aws, example: Any) -> None:
    jobs = example("transform_jobs", "fraud")
    applied(jobs)
    # No retries is Glue's default, which moto does not repeat.
    deployed = {"MaxRetries": 0} | aws.client("glue", ACCOUNTS["fraud"]).get_job(JobName="transactions_scored_daily")[
        "Job"
    ]
    expected = definition(
        GlueJob(
            name="transactions_scored_daily",
            domain="fraud",
            descriptor="domains/fraud/pipelines/transactions_scored.yml",
            engine=ENGINES["5.1"],
            artefact=Artefact("s3://cordata-artifacts", "0.1.0"),
            role=f"arn:aws:iam::{ACCOUNTS['fraud']}:role/cordata-fraud-transactions_scored_daily",
            config="s3://cordata-fraud-pipelines-example/config",
            evidence="s3://cordata-fraud-pipelines-example/evidence",
            lineage_url="https://lineage-adapter.cordata.example/lineage",
            lineage_role_arn="arn:aws:iam::222233334444:role/cordata-fraud-lineage",
            governance_catalog=ACCOUNTS["governance"],
            owner_topic=f"arn:aws:sns:eu-central-1:{ACCOUNTS['fraud']}:cordata-fraud-owners",
            log_group_prefix="/cordata/fraud/transactions_scored_daily",
        )
    )
    assert {key: deployed.get(key) for key in expected} == expected
    assert all(isinstance(value, str) for value in deployed["DefaultArguments"].values())
    more = [
        {"name": "transactions_scored_daily", "descriptor": "domains/fraud/pipelines/transactions_scored.yml"},
        {"name": "another", "descriptor": "domains/fraud/pipelines/transactions_scored.yml"},
    ]
    more[0]["schedule"] = "cron(0 3 * * ? *)"
    changes = {change.address: change.actions for change in jobs.changes(transform_jobs=more)}
    new = {address for address, actions in changes.items() if actions == ("create",)}
    assert new == {
        f'module.transform_jobs.{kind}["another{suffix}"]'
        for kind, suffix in (
            ("aws_cloudwatch_log_group.this", "/error"),
            ("aws_cloudwatch_log_group.this", "/output"),
            ("aws_glue_job.this", ""),
            ("aws_iam_role.job", ""),
            ("aws_iam_role_policy.job", ""),
            ("aws_lakeformation_permissions.database", "/fraud_curated"),
            ("aws_lakeformation_permissions.database", "/fraud_raw"),
            ("aws_lakeformation_permissions.source", "/fraud_raw.transactions"),
            ("aws_lakeformation_permissions.tag", "/residency"),
            ("aws_lakeformation_permissions.tag", "/sensitivity"),
            ("aws_lakeformation_permissions.tag", "/subject_type"),
        )
    }
    # What lists the domain's jobs gains an entry; no other job is touched.
    assert set(changes) - new == {
        "module.transform_jobs.aws_cloudwatch_event_rule.ended[0]",
        "module.transform_jobs.aws_cloudwatch_event_rule.failed",
        "module.transform_jobs.aws_iam_role_policy.closer[0]",
        "module.transform_jobs.aws_s3_object.deployed",
    }
    gone(jobs)


def test_the_adapter_gains_a_domain_and_leaves_the_others_roles_alone(aws: Aws, example: Any, tmp_path: Path) -> None:
    zips = {name: str(tmp_path / f"{name}.zip") for name in ("adapter_zip", "executor_zip")}
    for path in zips.values():
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("handler.py", "")
    adapter = example("lineage_adapter", "governance")
    applied(adapter, **zips)
    functions = aws.client("lambda", ACCOUNTS["governance"]).list_functions()["Functions"]
    assert {function["FunctionName"] for function in functions} == {
        "cordata-lineage-http",
        "cordata-lineage-authorizer",
        "cordata-lineage-stream",
        "cordata-fraud-closer",
    }
    fraud = {
        "account": ACCOUNTS["fraud"],
        "job_names": ["transactions_scored_daily"],
        "evidence": "s3://cordata-fraud-pipelines-example/evidence",
    }
    finance = {"account": ACCOUNTS["finance"], "job_names": ["x"], "evidence": "s3://cordata-finance/evidence"}
    changes = {
        change.address: change.actions
        for change in adapter.changes(**zips, domains={"fraud": fraud, "finance": finance})
    }
    assert not [address for address in changes if "fraud" in address]
    assert {address for address, actions in changes.items() if actions != ("create",)} == {
        # Both functions are told who may speak for whom.
        "module.lineage_adapter.aws_lambda_function.http",
        "module.lineage_adapter.aws_lambda_function.stream[0]",
    }
    gone(adapter)


def test_the_orchestrator_gains_a_domain(example: Any) -> None:
    role = example("orchestrator_role", "automation")
    applied(role)
    arns = {
        domain: f"arn:aws:iam::{ACCOUNTS[domain]}:role/cordata-{domain}-scheduler" for domain in ("fraud", "finance")
    }
    changes = role.changes(scheduler_role_arns=arns)
    assert [change.address for change in changes] == ["module.orchestrator_role.aws_iam_role_policy.this"]
    gone(role)
