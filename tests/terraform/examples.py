"""What the modules' examples are to do: what they leave in an account, and what one more element adds and changes."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pipeline_runtime.glue.artefact import Artefact
from pipeline_runtime.glue.engines import ENGINES
from pipeline_runtime.glue.job import GlueJob, definition
from pipeline_runtime.scheduling.deployment import Deployment
from sandbox.deploy.terraform import ACCOUNTS
from tests.conftest import REGION, Aws

__all__ = ["EXAMPLES", "Example"]

FRAUD, FINANCE, GOVERNANCE = ACCOUNTS["fraud"], ACCOUNTS["finance"], ACCOUNTS["governance"]
DESCRIPTOR = "domains/fraud/pipelines/transactions_scored.yml"


@dataclass(frozen=True)
class Example:
    """An example of a module, in the account of `owner`.

    `holds` lists by name what the account has of it, `there` what that is after applying; nothing after destroying.
    `more` are the variables with one element more; of the module's resources that adds `new` and touches `touched`.
    `needs` makes what others made before; `judge` looks closer.
    """

    owner: str
    holds: Callable[[Aws], Iterable[str]]
    there: frozenset[str]
    more: Mapping[str, Any]
    new: frozenset[str] = frozenset()
    touched: frozenset[str] = frozenset()
    given: Callable[[Path], Mapping[str, Any]] = field(default=lambda folder: {})
    needs: Callable[[Aws], None] = field(default=lambda aws: None)
    judge: Callable[[Aws], None] = field(default=lambda aws: None)


def buckets(owner: str, named: str) -> Callable[[Aws], list[str]]:
    def found(aws: Aws) -> list[str]:
        names = [bucket["Name"] for bucket in aws.client("s3", ACCOUNTS[owner]).list_buckets()["Buckets"]]
        return [name for name in names if name.startswith(named)]

    return found


def roles(owner: str, suffix: str | tuple[str, ...]) -> Callable[[Aws], list[str]]:
    def found(aws: Aws) -> list[str]:
        names = [role["RoleName"] for role in aws.client("iam", ACCOUNTS[owner]).list_roles()["Roles"]]
        return [name for name in names if name.endswith(suffix)]

    return found


def functions(aws: Aws) -> list[str]:
    return [each["FunctionName"] for each in aws.client("lambda", GOVERNANCE).list_functions()["Functions"]]


def jobs(aws: Aws) -> list[str]:
    return [str(name) for name in aws.client("glue", FRAUD).list_jobs()["JobNames"]]


def tags(aws: Aws) -> list[str]:
    found = aws.client("lakeformation", GOVERNANCE).list_lf_tags()["LFTags"]
    return [f"{tag['TagKey']}: {', '.join(sorted(tag['TagValues']))}" for tag in found]


def replication(aws: Aws) -> list[str]:
    dms, glue = aws.client("dms", ACCOUNTS["policy"]), aws.client("glue", ACCOUNTS["policy"])
    databases = [database["Name"] for database in glue.get_databases()["DatabaseList"]]
    return [
        *(task["ReplicationTaskIdentifier"] for task in dms.describe_replication_tasks()["ReplicationTasks"]),
        *(table["Name"] for name in databases for table in glue.get_tables(DatabaseName=name)["TableList"]),
    ]


def links(aws: Aws) -> list[str]:
    glue = aws.client("glue", FINANCE)
    databases = [database["Name"] for database in glue.get_databases()["DatabaseList"]]
    return [
        f"{name}.{table['Name']}"
        for name in databases
        for table in glue.get_tables(DatabaseName=name)["TableList"]
        if "TargetTable" in table
    ]


def shares(aws: Aws) -> list[str]:
    found = aws.client("lakeformation", FRAUD).list_permissions(ResourceType="TABLE")["PrincipalResourcePermissions"]
    principals = [grant["Principal"]["DataLakePrincipalIdentifier"] for grant in found]
    return [principal for principal in principals if principal in ACCOUNTS.values()]


def a_table_to_share(aws: Aws) -> None:
    glue = aws.client("glue", FRAUD)
    databases = [database["Name"] for database in glue.get_databases()["DatabaseList"]]
    if "fraud_raw" not in databases:
        glue.create_database(DatabaseInput={"Name": "fraud_raw"})
    if "transactions" not in [table["Name"] for table in glue.get_tables(DatabaseName="fraud_raw")["TableList"]]:
        stored = {"Location": "s3://cordata-fraud-raw-eu-central-1/transactions", "Columns": []}
        glue.create_table(DatabaseName="fraud_raw", TableInput={"Name": "transactions", "StorageDescriptor": stored})


def an_ontology(aws: Aws) -> None:
    governance = aws.client("lakeformation", GOVERNANCE)
    there = {tag["TagKey"] for tag in governance.list_lf_tags()["LFTags"]}
    for key, value in {"sensitivity": "high", "residency": "eu"}.items():
        if key not in there:
            governance.create_lf_tag(TagKey=key, TagValues=[value])


def no_ontology(aws: Aws) -> None:
    governance = aws.client("lakeformation", GOVERNANCE)
    for tag in governance.list_lf_tags()["LFTags"]:
        governance.delete_lf_tag(TagKey=tag["TagKey"])


def zips(folder: Path) -> dict[str, str]:
    made = {name: str(folder / f"{name}.zip") for name in ("adapter_zip", "executor_zip")}
    for path in made.values():
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("handler.py", "")
    return made


def the_job_is_what_the_executor_says(aws: Aws) -> None:
    # No retries is Glue's default, which moto does not repeat.
    deployed = {"MaxRetries": 0} | aws.client("glue", FRAUD).get_job(JobName="transactions_scored_daily")["Job"]
    expected = definition(
        GlueJob(
            name="transactions_scored_daily",
            domain="fraud",
            descriptor=DESCRIPTOR,
            engine=ENGINES["5.1"],
            artefact=Artefact("s3://cordata-artifacts", "0.1.0"),
            role=f"arn:aws:iam::{FRAUD}:role/cordata-fraud-transactions_scored_daily",
            config="s3://cordata-fraud-pipelines-example/config",
            evidence="s3://cordata-fraud-pipelines-example/evidence",
            lineage_url="https://lineage-adapter.cordata.example/lineage",
            lineage_role_arn="arn:aws:iam::222233334444:role/cordata-fraud-lineage",
            governance_catalog=GOVERNANCE,
            owner_topic=f"arn:aws:sns:{REGION}:{FRAUD}:cordata-fraud-owners",
            log_group_prefix="/cordata/fraud/transactions_scored_daily",
        )
    )
    assert {key: deployed.get(key) for key in expected} == expected
    assert all(isinstance(value, str) for value in deployed["DefaultArguments"].values())


def owners_hear_of_what_the_job_cannot_say(aws: Aws) -> None:
    """EventBridge may publish to a topic only under a key whose policy lets it, which AWS's own does not."""
    topic = f"arn:aws:sns:{REGION}:{FRAUD}:cordata-fraud-owners"
    key = aws.client("sns", FRAUD).get_topic_attributes(TopicArn=topic)["Attributes"]["KmsMasterKeyId"]
    policy = json.loads(aws.client("kms", FRAUD).get_key_policy(KeyId=key, PolicyName="default")["Policy"])
    [statement] = [each for each in policy["Statement"] if each["Principal"] == {"Service": "events.amazonaws.com"}]
    assert statement["Condition"] == {"StringEquals": {"kms:EncryptionContext:aws:sns:topicArn": topic}}


def a_job_and_its_owners(aws: Aws) -> None:
    the_job_is_what_the_executor_says(aws)
    owners_hear_of_what_the_job_cannot_say(aws)


def the_orchestrator_reads_its_file(aws: Aws) -> None:
    written = aws.client("s3", ACCOUNTS["automation"]).get_object(
        Bucket="cordata-airflow-example", Key="dags/deployment.json"
    )
    deployment = Deployment.model_validate_json(written["Body"].read())
    assert deployment.by_descriptor() == {DESCRIPTOR: ("fraud", "transactions_scored_daily")}


def landing_tables_are_tagged(aws: Aws) -> None:
    table = {"DatabaseName": "policy_raw", "Name": "claims"}
    found = aws.client("lakeformation", ACCOUNTS["policy"]).get_resource_lf_tags(Resource={"Table": table})
    assert {(tag["CatalogId"], tag["TagKey"], *tag["TagValues"]) for tag in found["LFTagsOnTable"]} == {
        (GOVERNANCE, "sensitivity", "high"),
        (GOVERNANCE, "residency", "eu"),
    }


def scheduler(domain: str) -> str:
    return f"arn:aws:iam::{ACCOUNTS[domain]}:role/cordata-{domain}-scheduler"


def domain(account: str, job: str, bucket: str) -> dict[str, Any]:
    return {"account": account, "job_names": [job], "evidence": f"s3://{bucket}/evidence"}


def table(name: str, key: str) -> dict[str, Any]:
    return {
        "schema": "public",
        "table": name,
        "columns": [{"name": key, "type": "string"}],
        "primary_keys": [key],
        "lf_tags": {"sensitivity": "high"},
    }


CLAIMS = {
    **table("claims", "claim_id"),
    "columns": [{"name": "claim_id", "type": "string"}, {"name": "amount_claimed", "type": "decimal(12,2)"}],
    "lf_tags": {"sensitivity": "high", "residency": "eu"},
}

#: By module.
EXAMPLES: Mapping[str, Example] = {
    "policy": Example(
        owner="governance",
        needs=no_ontology,
        holds=tags,
        there=frozenset(
            {"sensitivity: high, low, medium", "residency: ch, eu", "subject_type: customer, merchant, none"}
        ),
        more={"domain_accounts": {"fraud": FRAUD, "finance": FINANCE}},
        new=frozenset(
            f'aws_lakeformation_permissions.share["{key}/finance"]'
            for key in ("residency", "sensitivity", "subject_type")
        ),
    ),
    "executor_artefact": Example(
        owner="platform",
        holds=buckets("platform", "cordata-artifacts"),
        there=frozenset({"cordata-artifacts-example"}),
        more={"reader_accounts": {"fraud": FRAUD, "finance": FINANCE}},
        touched=frozenset({"aws_s3_bucket_policy.this"}),
    ),
    "scheduler_role": Example(
        owner="fraud",
        holds=roles("fraud", "-scheduler"),
        there=frozenset({"cordata-fraud-scheduler"}),
        more={"job_names": ["transactions_scored_daily", "another"]},
        touched=frozenset({"aws_iam_role_policy.this"}),
    ),
    "ci_roles": Example(
        owner="fraud",
        holds=roles("fraud", ("-ci-check", "-ci-sync")),
        there=frozenset({"cordata-fraud-ci-check", "cordata-fraud-ci-sync"}),
        more={"dags": "s3://cordata-airflow-example/dags/domains/fraud/pipelines"},
        touched=frozenset({"aws_iam_role_policy.sync"}),
    ),
    "orchestrator_role": Example(
        owner="automation",
        holds=roles("automation", "-orchestrator"),
        there=frozenset({"cordata-orchestrator"}),
        more={"scheduler_role_arns": {"fraud": scheduler("fraud"), "finance": scheduler("finance")}},
        touched=frozenset({"aws_iam_role_policy.this"}),
    ),
    "dag_bucket": Example(
        owner="automation",
        holds=buckets("automation", "cordata-airflow"),
        there=frozenset({"cordata-airflow-example"}),
        judge=the_orchestrator_reads_its_file,
        more={
            "deployments": {
                "fraud": {"role_arn": scheduler("fraud"), "jobs": {}},
                "finance": {"role_arn": scheduler("finance"), "jobs": {}},
            }
        },
        touched=frozenset({"aws_s3_object.deployment"}),
    ),
    "transform_jobs": Example(
        owner="fraud",
        holds=jobs,
        there=frozenset({"transactions_scored_daily"}),
        judge=a_job_and_its_owners,
        more={
            "transform_jobs": [
                {"name": "transactions_scored_daily", "descriptor": DESCRIPTOR, "schedule": "cron(0 3 * * ? *)"},
                {"name": "another", "descriptor": DESCRIPTOR},
            ]
        },
        new=frozenset(
            f'{kind}["another{suffix}"]'
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
        ),
        # What lists the domain's jobs gains an entry; no other job is touched.
        touched=frozenset(
            {
                "aws_cloudwatch_event_rule.ended[0]",
                "aws_iam_role_policy.closer[0]",
                "aws_s3_object.deployed",
            }
        ),
    ),
    "lineage_adapter": Example(
        owner="governance",
        given=zips,
        holds=functions,
        there=frozenset(
            {"cordata-lineage-http", "cordata-lineage-authorizer", "cordata-lineage-stream", "cordata-fraud-closer"}
        ),
        more={
            "domains": {
                "fraud": domain(FRAUD, "transactions_scored_daily", "cordata-fraud-pipelines-example"),
                "finance": domain(FINANCE, "x", "cordata-finance"),
            }
        },
        new=frozenset(
            {
                'aws_cloudwatch_event_permission.domains["666677778888"]',
                'aws_cloudwatch_log_group.this["/aws/lambda/cordata-finance-closer"]',
                'aws_cloudwatch_metric_alarm.errors["finance-closer"]',
                *(
                    f'{kind}["finance"]'
                    for kind in (
                        "aws_cloudwatch_event_rule.ended",
                        "aws_cloudwatch_event_target.ended",
                        "aws_cloudwatch_event_target.sweep",
                        "aws_iam_role.closer",
                        "aws_iam_role.invoker",
                        "aws_iam_role_policy.closer",
                        "aws_iam_role_policy.invoker",
                        "aws_lambda_function.closer",
                        "aws_lambda_function_event_invoke_config.closer",
                        "aws_lambda_permission.ended",
                        "aws_lambda_permission.sweep",
                    )
                ),
            }
        ),
        # Both functions are told who may speak for whom.
        touched=frozenset({"aws_lambda_function.http", "aws_lambda_function.stream[0]"}),
    ),
    "ingestion": Example(
        owner="policy",
        needs=an_ontology,
        holds=replication,
        there=frozenset({"cordata-policy", "claims"}),
        judge=landing_tables_are_tagged,
        more={"tables": {"claims": CLAIMS, "policies": table("policies", "policy_id")}},
        new=frozenset(
            {
                'aws_glue_catalog_table.this["policies"]',
                'aws_lakeformation_resource_lf_tag.this["policies/sensitivity"]',
                'aws_lakeformation_permissions.ingest_table["policies"]',
            }
        ),
        touched=frozenset({"aws_dms_replication_task.this", 'aws_iam_role_policy.ingest["this"]'}),
    ),
    "shared_tables": Example(
        owner="fraud",
        needs=a_table_to_share,
        holds=shares,
        there=frozenset({FINANCE}),
        more={"readers": {"finance": FINANCE, "policy": ACCOUNTS["policy"]}},
        new=frozenset({'aws_lakeformation_permissions.this["fraud_raw.transactions/policy"]'}),
    ),
    "linked_tables": Example(
        owner="finance",
        needs=a_table_to_share,
        holds=links,
        there=frozenset({"fraud_raw.transactions"}),
        more={
            "tables": {
                f"fraud_raw.{name}": {
                    "account": FRAUD,
                    "database": "fraud_raw",
                    "table": "transactions",
                    "location": "s3://cordata-fraud-raw-eu-central-1/transactions",
                }
                for name in ("transactions", "movements")
            }
        },
        new=frozenset({'aws_glue_catalog_table.this["fraud_raw.movements"]'}),
    ),
}
