"""The stand-in's Glue behaves as AWS's does, seen through boto3."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest
from botocore.exceptions import ClientError

#: Each test has accounts of its own: the stand-in is shared by the whole session.
_accounts = (f"1000{number:08}" for number in count())


@pytest.fixture
def fraud() -> str:
    return next(_accounts)


@pytest.fixture
def finance() -> str:
    return next(_accounts)


@pytest.fixture
def glue(aws: Any, fraud: str) -> Any:
    """Glue of the fraud account, empty but for the database `raw`."""
    client = aws.client("glue", fraud)
    client.create_database(DatabaseInput={"Name": "raw"})
    return client


@pytest.fixture
def finance_glue(aws: Any, finance: str) -> Any:
    """Glue of another account, empty."""
    return aws.client("glue", finance)


def table(name: str = "t", **parameters: str) -> dict[str, Any]:
    return {
        "Name": name,
        "TableType": "EXTERNAL_TABLE",
        "Parameters": parameters,
        "StorageDescriptor": {"Columns": [{"Name": "id", "Type": "bigint"}], "Location": f"s3://lake/{name}"},
    }


def update(glue: Any, release: str, **options: Any) -> None:
    glue.update_table(DatabaseName="raw", TableInput=table(release=release), **options)


def version_and_release(glue: Any) -> tuple[str, str]:
    found = glue.get_table(DatabaseName="raw", Name="t")["Table"]
    return found["VersionId"], found["Parameters"]["release"]


def code_of(error: pytest.ExceptionInfo[ClientError]) -> str:
    return str(error.value.response["Error"]["Code"])


def test_versions_count_from_zero_and_move_with_every_update(glue: Any) -> None:
    glue.create_table(DatabaseName="raw", TableInput=table(release="a"))
    assert version_and_release(glue) == ("0", "a")
    update(glue, "b")
    update(glue, "c", SkipArchive=True)
    assert version_and_release(glue) == ("2", "c")


def test_an_update_of_a_stale_version_changes_nothing(glue: Any) -> None:
    glue.create_table(DatabaseName="raw", TableInput=table(release="a"))
    update(glue, "b", VersionId="0")
    with pytest.raises(ClientError) as error:
        update(glue, "late", VersionId="0")
    assert code_of(error) == "ConcurrentModificationException"
    assert version_and_release(glue) == ("1", "b")


def test_a_replaced_version_is_fetchable_unless_the_archive_was_skipped(glue: Any) -> None:
    glue.create_table(DatabaseName="raw", TableInput=table(release="a"))
    update(glue, "b")
    update(glue, "c", SkipArchive=True)
    update(glue, "d", SkipArchive=False)

    versions = glue.get_table_versions(DatabaseName="raw", TableName="t")["TableVersions"]
    assert [(v["VersionId"], v["Table"]["Parameters"]["release"]) for v in versions] == [
        ("3", "d"),
        ("2", "c"),
        ("0", "a"),
    ]
    archived = glue.get_table_version(DatabaseName="raw", TableName="t", VersionId="0")["TableVersion"]
    assert archived["Table"]["Parameters"] == {"release": "a"}
    with pytest.raises(ClientError) as error:
        glue.get_table_version(DatabaseName="raw", TableName="t", VersionId="1")
    assert code_of(error) == "EntityNotFoundException"


def test_table_versions_come_in_pages(glue: Any) -> None:
    glue.create_table(DatabaseName="raw", TableInput=table(release="0"))
    for number in range(1, 5):
        update(glue, str(number))

    first = glue.get_table_versions(DatabaseName="raw", TableName="t", MaxResults=2)
    assert [version["VersionId"] for version in first["TableVersions"]] == ["4", "3"]
    pages = glue.get_paginator("get_table_versions").paginate(
        DatabaseName="raw", TableName="t", PaginationConfig={"PageSize": 2}
    )
    assert [version["VersionId"] for page in pages for version in page["TableVersions"]] == ["4", "3", "2", "1", "0"]


def test_more_than_a_hundred_tables_need_a_second_page(glue: Any) -> None:
    for number in range(103):
        glue.create_table(DatabaseName="raw", TableInput=table(f"t{number:03}"))
    first = glue.get_tables(DatabaseName="raw")
    second = glue.get_tables(DatabaseName="raw", NextToken=first["NextToken"])
    assert (len(first["TableList"]), len(second["TableList"])) == (100, 3)
    assert "NextToken" not in second


def test_names_are_lower_case_however_they_are_spelled(glue: Any) -> None:
    glue.create_table(DatabaseName="RAW", TableInput=table("Orders"))
    found = glue.get_table(DatabaseName="Raw", Name="ORDERS")["Table"]
    assert (found["DatabaseName"], found["Name"]) == ("raw", "orders")


def test_an_account_sees_another_accounts_catalog_by_its_id_only(glue: Any, finance_glue: Any, fraud: str) -> None:
    glue.create_table(DatabaseName="raw", TableInput=table(release="a"))
    found = finance_glue.get_table(CatalogId=fraud, DatabaseName="raw", Name="t")["Table"]
    assert found["CatalogId"] == fraud
    with pytest.raises(ClientError) as error:
        finance_glue.get_table(DatabaseName="raw", Name="t")
    assert code_of(error) == "EntityNotFoundException"


def linked(finance_glue: Any, fraud: str, kind: str) -> dict[str, Any]:
    """The address of the fraud account's `raw.t` as finance sees it through a link of this kind."""
    if kind == "database":
        target = {"CatalogId": fraud, "DatabaseName": "raw"}
        finance_glue.create_database(DatabaseInput={"Name": "fraud_link", "TargetDatabase": target})
        return {"DatabaseName": "fraud_link", "Name": "t"}
    finance_glue.create_database(DatabaseInput={"Name": "own"})
    target = {"CatalogId": fraud, "DatabaseName": "raw", "Name": "t"}
    finance_glue.create_table(DatabaseName="own", TableInput={"Name": "link", "TargetTable": target})
    return {"DatabaseName": "own", "Name": "link"}


def test_behind_a_link_to_a_database_tables_keep_their_identity(glue: Any, finance_glue: Any, fraud: str) -> None:
    glue.create_table(DatabaseName="raw", TableInput=table(release="a"))
    found = finance_glue.get_table(**linked(finance_glue, fraud, "database"))["Table"]
    assert (found["CatalogId"], found["DatabaseName"], found["Name"]) == (fraud, "raw", "t")
    assert found["Parameters"] == {"release": "a"}


def test_a_link_to_a_table_answers_with_its_own_names_and_its_targets_properties(
    glue: Any, finance_glue: Any, fraud: str, finance: str
) -> None:
    glue.create_table(DatabaseName="raw", TableInput=table(release="a"))
    update(glue, "b")
    found = finance_glue.get_table(**linked(finance_glue, fraud, "table"))["Table"]
    assert (found["CatalogId"], found["DatabaseName"], found["Name"]) == (finance, "own", "link")
    assert found["TargetTable"] == {"CatalogId": fraud, "DatabaseName": "raw", "Name": "t"}
    assert (found["VersionId"], found["Parameters"]) == ("1", {"release": "b"})


def test_an_update_through_a_resource_link_changes_the_target(glue: Any, finance_glue: Any, fraud: str) -> None:
    glue.create_table(DatabaseName="raw", TableInput=table(release="a"))
    database = linked(finance_glue, fraud, "table")["DatabaseName"]
    finance_glue.update_table(DatabaseName=database, TableInput=table("link", release="b"))
    assert version_and_release(glue) == ("1", "b")


def test_deleting_a_resource_link_leaves_its_target(glue: Any, finance_glue: Any, fraud: str) -> None:
    glue.create_table(DatabaseName="raw", TableInput=table(release="a"))
    finance_glue.delete_table(**linked(finance_glue, fraud, "table"))
    assert version_and_release(glue) == ("0", "a")


def test_a_dangling_resource_link_finds_nothing(finance_glue: Any, fraud: str) -> None:
    address = linked(finance_glue, fraud, "table")
    with pytest.raises(ClientError) as error:
        finance_glue.get_table(**address)
    assert code_of(error) == "EntityNotFoundException"
