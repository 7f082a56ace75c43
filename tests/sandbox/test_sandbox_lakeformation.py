"""The stand-in's LF-tags behave as Lake Formation's do, seen through boto3."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest
from botocore.exceptions import ClientError

#: Each test has accounts of its own: the stand-in is shared by the whole session.
_accounts = (f"2000{number:08}" for number in count())

TABLE = {"Table": {"DatabaseName": "curated", "Name": "scored"}}
DATABASE = {"Database": {"Name": "curated"}}


@pytest.fixture
def lakeformation(aws: Any) -> Any:
    """Lake Formation of the fraud account: two keys, and the table `curated.scored`."""
    account = next(_accounts)
    glue = aws.client("glue", account)
    glue.create_database(DatabaseInput={"Name": "curated"})
    glue.create_table(DatabaseName="curated", TableInput={"Name": "scored"})
    client = aws.client("lakeformation", account)
    client.create_lf_tag(TagKey="sensitivity", TagValues=["low", "high"])
    client.create_lf_tag(TagKey="residency", TagValues=["eu", "us"])
    return client


def tag(key: str, *values: str, **owner: str) -> dict[str, Any]:
    return {"TagKey": key, "TagValues": list(values), **owner}


def tags_of(client: Any, resource: dict[str, Any] = TABLE, **options: Any) -> dict[str, str]:
    found = client.get_resource_lf_tags(Resource=resource, **options)
    field = "LFTagsOnTable" if "Table" in resource else "LFTagOnDatabase"
    return {held["TagKey"]: held["TagValues"][0] for held in found.get(field, [])}


def code_of(error: pytest.ExceptionInfo[ClientError]) -> str:
    return str(error.value.response["Error"]["Code"])


def test_an_untagged_table_holds_nothing(lakeformation: Any) -> None:
    assert tags_of(lakeformation) == {}


def test_tags_are_merged_by_key(lakeformation: Any) -> None:
    lakeformation.add_lf_tags_to_resource(Resource=TABLE, LFTags=[tag("residency", "us")])
    lakeformation.add_lf_tags_to_resource(Resource=TABLE, LFTags=[tag("sensitivity", "low")])
    lakeformation.add_lf_tags_to_resource(Resource=TABLE, LFTags=[tag("sensitivity", "high")])
    assert tags_of(lakeformation) == {"residency": "us", "sensitivity": "high"}


@pytest.mark.parametrize("refused", [tag("colour", "red"), tag("sensitivity", "hgh")])
def test_an_unknown_tag_is_a_failure_inside_a_success(lakeformation: Any, refused: dict[str, Any]) -> None:
    answer = lakeformation.add_lf_tags_to_resource(Resource=TABLE, LFTags=[refused, tag("residency", "eu")])
    assert answer["ResponseMetadata"]["HTTPStatusCode"] == 200
    assert [failure["LFTag"]["TagKey"] for failure in answer["Failures"]] == [refused["TagKey"]]
    assert answer["Failures"][0]["Error"]["ErrorCode"] == "EntityNotFoundException"
    assert tags_of(lakeformation) == {"residency": "eu"}


def test_keys_and_values_are_kept_in_lower_case(lakeformation: Any) -> None:
    lakeformation.create_lf_tag(TagKey="Domain", TagValues=["Sales"])
    lakeformation.add_lf_tags_to_resource(Resource=TABLE, LFTags=[tag("DOMAIN", "SALES")])
    assert lakeformation.get_lf_tag(TagKey="domain")["TagValues"] == ["sales"]
    assert tags_of(lakeformation) == {"domain": "sales"}


def test_the_ontology_comes_in_pages(lakeformation: Any) -> None:
    for number in range(60):
        lakeformation.create_lf_tag(TagKey=f"key{number}", TagValues=["v"])
    first = lakeformation.list_lf_tags()
    second = lakeformation.list_lf_tags(NextToken=first["NextToken"])
    assert (len(first["LFTags"]), len(second["LFTags"])) == (50, 12)
    assert "NextToken" not in second


def test_a_value_taken_out_of_the_ontology_is_refused_from_then_on(lakeformation: Any) -> None:
    lakeformation.update_lf_tag(TagKey="sensitivity", TagValuesToDelete=["high"], TagValuesToAdd=["secret"])
    assert lakeformation.get_lf_tag(TagKey="sensitivity")["TagValues"] == ["low", "secret"]
    answer = lakeformation.add_lf_tags_to_resource(Resource=TABLE, LFTags=[tag("sensitivity", "high")])
    assert len(answer["Failures"]) == 1


def test_a_table_shows_its_databases_tags_unless_asked_for_its_own(lakeformation: Any) -> None:
    lakeformation.add_lf_tags_to_resource(Resource=DATABASE, LFTags=[tag("residency", "eu")])
    lakeformation.add_lf_tags_to_resource(Resource=TABLE, LFTags=[tag("sensitivity", "high")])
    assert tags_of(lakeformation) == {"residency": "eu", "sensitivity": "high"}
    assert tags_of(lakeformation, ShowAssignedLFTags=True) == {"sensitivity": "high"}
    assert tags_of(lakeformation, DATABASE) == {"residency": "eu"}


def test_a_removed_tag_is_gone_and_the_others_stay(lakeformation: Any) -> None:
    lakeformation.add_lf_tags_to_resource(Resource=TABLE, LFTags=[tag("residency", "eu"), tag("sensitivity", "low")])
    lakeformation.remove_lf_tags_from_resource(Resource=TABLE, LFTags=[tag("sensitivity", "low")])
    assert tags_of(lakeformation) == {"residency": "eu"}


def test_a_missing_table_cannot_be_tagged(lakeformation: Any) -> None:
    nowhere = {"Table": {"DatabaseName": "curated", "Name": "nowhere"}}
    with pytest.raises(ClientError) as error:
        lakeformation.add_lf_tags_to_resource(Resource=nowhere, LFTags=[tag("residency", "eu")])
    assert code_of(error) == "EntityNotFoundException"


def test_a_key_exists_once(lakeformation: Any) -> None:
    with pytest.raises(ClientError) as error:
        lakeformation.create_lf_tag(TagKey="Sensitivity", TagValues=["low"])
    assert code_of(error) == "AlreadyExistsException"


def test_the_governance_accounts_ontology_is_seen_and_used_by_its_catalog_id(aws: Any, lakeformation: Any) -> None:
    governance = next(_accounts)
    aws.client("lakeformation", governance).create_lf_tag(TagKey="subject_type", TagValues=["customer"])
    assert [found["TagKey"] for found in lakeformation.list_lf_tags(CatalogId=governance)["LFTags"]] == ["subject_type"]

    foreign = tag("subject_type", "customer", CatalogId=governance)
    assert lakeformation.add_lf_tags_to_resource(Resource=TABLE, LFTags=[foreign])["Failures"] == []
    assert lakeformation.add_lf_tags_to_resource(Resource=TABLE, LFTags=[tag("subject_type", "customer")])["Failures"]
    assert tags_of(lakeformation) == {"subject_type": "customer"}
