"""Another account's table is read where Lake Formation's grants allow it, seen through boto3."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

#: Each test has accounts of its own: the stand-in is shared by the whole session.
_accounts = (f"2000{number:08}" for number in count())
ROLE = "cordata-finance-settlement"


@pytest.fixture
def finance() -> str:
    return next(_accounts)


@pytest.fixture
def fraud(aws: Any) -> str:
    """An account with the tables raw.t and raw.other, which IAM alone does not open."""
    account = next(_accounts)
    aws.client("lakeformation", account).put_data_lake_settings(
        DataLakeSettings={"CreateDatabaseDefaultPermissions": [], "CreateTableDefaultPermissions": []}
    )
    glue = aws.client("glue", account)
    glue.create_database(DatabaseInput={"Name": "raw"})
    for name in ("t", "other"):
        glue.create_table(DatabaseName="raw", TableInput={"Name": name, "Parameters": {"release": "a"}})
    return account


@pytest.fixture
def grant(aws: Any, fraud: str) -> Callable[..., None]:
    """Grants on fraud's raw.t, in the catalog of `by`, fraud's own by default."""

    def grant(principal: str, *permissions: str, by: str | None = None) -> None:
        table = {"CatalogId": fraud, "DatabaseName": "raw", "Name": "t"}
        aws.client("lakeformation", by or fraud).grant_permissions(
            Principal={"DataLakePrincipalIdentifier": principal}, Resource={"Table": table}, Permissions=permissions
        )

    return grant


def as_role(aws: Any, account: str) -> Any:
    """Glue for a role of that account."""
    role = f"arn:aws:iam::{account}:role/{ROLE}"
    given = aws.client("sts", account).assume_role(RoleArn=role, RoleSessionName="glue")["Credentials"]
    return boto3.client(
        "glue",
        endpoint_url=aws.endpoint,
        region_name=aws.region,
        aws_access_key_id=given["AccessKeyId"],
        aws_secret_access_key=given["SecretAccessKey"],
        aws_session_token=given["SessionToken"],
    )


def refusal(call: Callable[..., Any], **arguments: Any) -> str:
    with pytest.raises(ClientError) as error:
        call(**arguments)
    assert error.value.response["Error"]["Code"] == "AccessDeniedException"
    return str(error.value.response["Error"]["Message"])


def test_without_a_grant_a_foreign_table_is_refused_and_not_listed(aws: Any, fraud: str, finance: str) -> None:
    glue = aws.client("glue", finance)
    said = refusal(glue.get_table, CatalogId=fraud, DatabaseName="raw", Name="t")
    assert said == "Insufficient Lake Formation permission(s): Required Describe on t"
    refusal(glue.get_database, CatalogId=fraud, Name="raw")
    refusal(glue.get_table_versions, CatalogId=fraud, DatabaseName="raw", TableName="t")
    assert glue.get_databases(CatalogId=fraud)["DatabaseList"] == []


def test_a_grant_shows_the_table_and_no_other(aws: Any, fraud: str, finance: str, grant: Any) -> None:
    grant(finance, "SELECT")
    glue = aws.client("glue", finance)
    assert glue.get_table(CatalogId=fraud, DatabaseName="raw", Name="t")["Table"]["CatalogId"] == fraud
    assert [each["Name"] for each in glue.get_tables(CatalogId=fraud, DatabaseName="raw")["TableList"]] == ["t"]
    refusal(glue.get_table, CatalogId=fraud, DatabaseName="raw", Name="other")
    refusal(glue.update_table, CatalogId=fraud, DatabaseName="raw", TableInput={"Name": "t"})


def test_a_role_needs_the_grant_passed_on_or_one_of_its_own(aws: Any, fraud: str, finance: str, grant: Any) -> None:
    role, address = as_role(aws, finance), {"CatalogId": fraud, "DatabaseName": "raw", "Name": "t"}
    grant(finance, "SELECT", "DESCRIBE")
    refusal(role.get_table, **address)
    grant(f"arn:aws:iam::{finance}:role/{ROLE}", "DESCRIBE", by=finance)
    assert role.get_table(**address)["Table"]["Name"] == "t"
    other = next(_accounts)
    grant(f"arn:aws:iam::{other}:role/{ROLE}", "SELECT")
    assert as_role(aws, other).get_table(**address)["Table"]["Name"] == "t"


def test_a_grant_passed_on_without_the_owners_opens_nothing(aws: Any, fraud: str, finance: str, grant: Any) -> None:
    grant(f"arn:aws:iam::{finance}:role/{ROLE}", "SELECT", by=finance)
    refusal(as_role(aws, finance).get_table, CatalogId=fraud, DatabaseName="raw", Name="t")


def test_a_link_shows_itself_alone_until_its_target_may_be_seen(aws: Any, fraud: str, finance: str, grant: Any) -> None:
    glue = aws.client("glue", finance)
    glue.create_database(DatabaseInput={"Name": "raw"})
    target = {"CatalogId": fraud, "DatabaseName": "raw", "Name": "t"}
    glue.create_table(DatabaseName="raw", TableInput={"Name": "t", "TargetTable": target})
    assert "Parameters" not in glue.get_table(DatabaseName="raw", Name="t")["Table"]
    refusal(glue.get_table_versions, DatabaseName="raw", TableName="t")
    grant(finance, "DESCRIBE")
    assert glue.get_table(DatabaseName="raw", Name="t")["Table"]["Parameters"] == {"release": "a"}
