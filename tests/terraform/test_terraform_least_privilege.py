"""The job's role, as Terraform makes it, is enough for the whole pipeline, and for nothing else.

The policy is what IAM has after the apply; the stand-in refuses what it does not allow. A statement that the run could
do without is either not there, or in `RESERVE` with its reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError
from deployed_domain import INVOKERS, JOB, Deployment, Ran, deployed

from sandbox.deploy.terraform import ACCOUNTS
from tests.conftest import REGION

pytestmark = [pytest.mark.terraform, pytest.mark.spark, pytest.mark.slow]

#: Without the statement the job run fails.
NEEDED = {
    "Executor": "nothing is loaded",
    "Configuration": "the descriptor is not found",
    "Evidence": "no event could be kept",
    "OwnFolders": "what is not there yet cannot be told from what is closed",
    "SourceInTheCatalog": "the pin is compared with the catalog",
    "SourceFiles": "the rows are read",
    "Tags": "the policy is resolved and attached",
    "Neighbours": "the location must hold no other table",
    "TargetInTheCatalog": "the product is registered",
    "InsideTheTarget": "the audited branch is written and measured",
    "TargetFiles": "the rows are written",
}

#: Without the statement this run goes through. Why the role has it all the same:
RESERVE = {
    "SourceFolder": "Iceberg names its files, so nobody lists them; a parquet table or a landing is listed",
    "TargetFolder": "Iceberg lists nothing; a run after a killed one lists what that one left, to remove it",
    "WorkingState": "what is not removed is only kept: the note of an audit, for the next run to settle again",
    "OwnRuns": "asked about a run before this one that left something behind, whether it is dead",
    "TellTheOwner": "a run that publishes has nothing to tell; one that fails does, and says so where it cannot",
    "SignLineage": "lineage never kills data: the events stay in the evidence prefix, undelivered",
    "Logs": "Glue itself writes the job's output and errors to CloudWatch in the role",
    "Metrics": "Glue itself reports the job's metrics in the role",
}


@pytest.fixture(scope="module")
def domain(terraform_tree: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    with deployed(terraform_tree, tmp_path_factory.mktemp("deployed")) as found:
        yield found


@pytest.fixture(scope="module")
def published(domain: Deployment) -> Ran:
    """A run with the role as it is deployed."""
    return domain.run()


def test_the_deployed_role_is_enough_for_the_whole_pipeline(domain: Deployment, published: Ran) -> None:
    assert published.code == 0, published.said
    assert "lineage: delivered" in published.said
    # Other databases' tables are not the role's to list; the check of the location goes on without them.
    assert {refused.partition(":table/")[0].partition(":database/")[0] for refused in published.refused} == {
        f"glue:GetTables arn:aws:glue:{REGION}:{ACCOUNTS['fraud']}"
    }
    glue = domain.aws.client("glue", ACCOUNTS["fraud"])
    table = glue.get_table(DatabaseName="fraud_curated", Name="transactions_scored")["Table"]
    assert table["Parameters"]["cordata.pipeline"] == "transactions-scored-daily"


def test_every_statement_is_needed_or_held_in_reserve_for_a_reason(domain: Deployment) -> None:
    statements = [statement["Sid"] for statement in domain.policy["Statement"]]
    assert sorted(statements) == sorted([*NEEDED, *RESERVE])


@pytest.mark.parametrize("sid", NEEDED)
def test_without_a_needed_statement_the_run_fails(domain: Deployment, published: Ran, sid: str) -> None:
    assert published.code == 0
    with domain.without(sid):
        ran = domain.run()

    assert ran.code != 0, ran.said
    assert set(ran.refused) - set(published.refused), ran.said


def test_without_the_grant_on_a_tag_the_run_fails(domain: Deployment, published: Ran) -> None:
    assert published.code == 0
    with domain.without_tag("sensitivity", "high"):
        ran = domain.run()

    assert ran.code == 1, ran.said
    assert "LF-tag sensitivity=high" in ran.said


def test_without_its_signing_role_the_events_stay_undelivered(domain: Deployment, published: Ran) -> None:
    with domain.without("SignLineage"):
        ran = domain.run()

    assert ran.code == 0, ran.said
    assert "lineage: not delivered" in ran.said
    assert f"sts:AssumeRole {INVOKERS['fraud']}" in ran.refused


def test_a_run_that_fails_tells_the_owner_in_its_own_role(domain: Deployment, published: Ran) -> None:
    with domain.without("Tags"):
        ran = domain.run()

    assert [each["allowed"] for each in ran.asked("sns:Publish")] == [True]


def test_no_action_of_the_role_is_named_by_a_wildcard(domain: Deployment) -> None:
    actions = [action for each in domain.policy["Statement"] for action in listed(each["Action"])]
    assert [action for action in actions if "*" in action] == []


def listed(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value


REFUSED: dict[str, Callable[[Deployment], object]] = {
    "an undeclared table of the source's database": lambda domain: domain.client("glue").get_table(
        DatabaseName="fraud_raw", Name="accounts"
    ),
    "an undeclared table of the target's database": lambda domain: domain.client("glue").update_table(
        DatabaseName="fraud_curated", TableInput={"Name": "cases"}
    ),
    "changing the source": lambda domain: domain.client("glue").update_table(
        DatabaseName="fraud_raw", TableInput={"Name": "transactions"}
    ),
    "the tables of another database": lambda domain: domain.client("glue").get_tables(DatabaseName="policy_raw"),
    "another account's table": lambda domain: domain.client("glue").get_table(
        CatalogId=ACCOUNTS["finance"], DatabaseName="fraud_raw", Name="transactions"
    ),
    "another job's runs": lambda domain: domain.client("glue").get_job_run(JobName="another", RunId="jr_1"),
    "a bucket that no descriptor names": lambda domain: domain.client("s3").get_object(
        Bucket="cordata-policy-raw-eu-central-1", Key="claims/a.parquet"
    ),
    "a prefix beside the source": lambda domain: domain.client("s3").get_object(
        Bucket="cordata-fraud-raw-eu-central-1", Key="transactions_of_staff/a.parquet"
    ),
    "listing beside the target": lambda domain: domain.client("s3").list_objects_v2(
        Bucket="cordata-fraud-curated-eu-central-1", Prefix="transactions"
    ),
    "writing to the source": lambda domain: domain.client("s3").put_object(
        Bucket="cordata-fraud-raw-eu-central-1", Key="transactions/data/a.parquet", Body=b""
    ),
    "deleting an event": lambda domain: domain.client("s3").delete_object(
        Bucket="cordata-fraud-pipelines-example", Key="evidence/runs/a/terminal.json"
    ),
    "changing what is deployed": lambda domain: domain.client("s3").put_object(
        Bucket="cordata-fraud-pipelines-example", Key="config/deployed.json", Body=b""
    ),
    "changing the executor": lambda domain: domain.client("s3").put_object(
        Bucket="cordata-artifacts", Key="pipeline-runtime/0.1.0/run_pipeline.py", Body=b""
    ),
    "another domain's lineage": lambda domain: domain.client("sts").assume_role(
        RoleArn=INVOKERS["finance"], RoleSessionName="fraud"
    ),
    "another domain's owners": lambda domain: domain.client("sns").publish(
        TopicArn=f"arn:aws:sns:{REGION}:{ACCOUNTS['finance']}:cordata-finance-owners", Message="m"
    ),
    "another job's log": lambda domain: domain.client("logs").create_log_stream(
        logGroupName="/cordata/fraud/another/output", logStreamName="jr_1"
    ),
    "another namespace's metrics": lambda domain: domain.client("cloudwatch").put_metric_data(
        Namespace="Billing", MetricData=[{"MetricName": "m", "Value": 1}]
    ),
    "the ontology": lambda domain: domain.client("lakeformation").create_lf_tag(TagKey="k", TagValues=["v"]),
    "its own policy": lambda domain: domain.client("iam").get_role_policy(RoleName="r", PolicyName="p"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_the_role_is_refused(domain: Deployment, what: str) -> None:
    with pytest.raises(ClientError, match=r"AccessDenied|AuthorizationError"):
        REFUSED[what](domain)


def test_the_roles_logs_and_metrics_are_its_jobs_own(domain: Deployment) -> None:
    domain.client("logs").create_log_stream(logGroupName=f"/cordata/fraud/{JOB}/output", logStreamName="jr_1")
    domain.client("cloudwatch").put_metric_data(Namespace="Glue", MetricData=[{"MetricName": "m", "Value": 1}])


def test_once_a_target_is_there_it_can_be_granted_with_its_location(domain: Deployment, published: Ran) -> None:
    assert published.code == 0
    try:
        domain.apply(
            existing_targets=["fraud_curated.transactions_scored"],
            registered_locations=["s3://cordata-fraud-curated-eu-central-1"],
        )
        assert domain.jobs.changes() == []
        grants = domain.grants()
    finally:
        domain.apply()

    everything = ("ALTER", "DELETE", "DESCRIBE", "DROP", "INSERT", "SELECT")
    assert {name: held for name, held in grants.items() if not name.startswith("LFTag ")} == {
        "Database fraud_raw": ("DESCRIBE",),
        "Database fraud_curated": ("CREATE_TABLE", "DESCRIBE"),
        "Table fraud_raw.transactions": ("DESCRIBE", "SELECT"),
        "Table fraud_curated.transactions_scored": everything,
        **{
            f"DataLocation arn:aws:s3:::cordata-fraud-curated-eu-central-1/{prefix}": ("DATA_LOCATION_ACCESS",)
            for prefix in ("transactions_scored", "transactions_scored__quarantine")
        },
    }
