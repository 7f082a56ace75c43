"""LF-tags: resolved against the ontology, set beside other people's, taken back when refused."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.stub import Stubber
from glue_lake import Lake

from pipeline_runtime.catalog.lakeformation import assign_tags, read_ontology, resolve_tags, restore_tags
from pipeline_runtime.catalog.table import TableIdentity
from pipeline_runtime.errors import PolicyError, TagsRefused, UnknownTagKey, UnknownTagValue

GOVERNANCE = "444455556666"
ONTOLOGY = {"sensitivity": ("low", "high"), "residency": ("eu", "us"), "subject_type": ("customer",)}


@pytest.fixture
def lf(aws: Any) -> Any:
    return aws.client("lakeformation", "111122223333")


@pytest.fixture
def table(lake: Lake) -> TableIdentity:
    lake.hive_table("scored", {"id": "int"})
    return TableIdentity(lake.region, lake.account, lake.database, "scored")


@pytest.fixture
def define(aws: Any, lake: Lake) -> Any:
    """Defines a tag key of this test's own, in the job's catalog or another; its name."""

    def create(key: str, *values: str, account: str = "111122223333") -> str:
        name = f"{key}_{lake.database}"
        aws.client("lakeformation", account).create_lf_tag(TagKey=name, TagValues=list(values))
        return name

    return create


def tags_of(lf: Any, table: TableIdentity) -> dict[tuple[str, str], str]:
    resource = {"Table": {"CatalogId": table.account, "DatabaseName": table.database, "Name": table.table}}
    answer = lf.get_resource_lf_tags(Resource=resource, ShowAssignedLFTags=True)
    return {(tag["CatalogId"], tag["TagKey"]): tag["TagValues"][0] for tag in answer.get("LFTagsOnTable", [])}


# -- the ontology ------------------------------------------------------------------------------


def test_the_ontology_is_read_to_its_last_page(aws: Any) -> None:
    governance = aws.client("lakeformation", "777788889999")
    for number in range(120):
        governance.create_lf_tag(TagKey=f"key_{number:03}", TagValues=["a", "b"])
    ontology = read_ontology(aws.client("lakeformation", "111122223333"), "777788889999")
    assert len(ontology) == 120
    assert ontology["key_119"] == ("a", "b")


def test_an_ontology_that_may_not_be_read_is_a_policy_error(lf: Any) -> None:
    with Stubber(lf) as stub:
        stub.add_client_error("list_lf_tags", "AccessDeniedException", "Insufficient Lake Formation permission(s)")
        with pytest.raises(PolicyError, match=f"access denied: cannot list the LF-tags of catalog {GOVERNANCE}"):
            read_ontology(lf, GOVERNANCE)


def test_reported_lf_7_tags_match_whatever_their_case_and_take_lake_formations(lf: Any, define: Any) -> None:
    key = define("domain", "Sales")
    resolved = resolve_tags({key.title(): "SALES"}, read_ontology(lf))
    assert resolved == {key: "sales"}


def test_an_unknown_value_lists_what_is_allowed_and_the_closest() -> None:
    with pytest.raises(UnknownTagValue) as unknown:
        resolve_tags({"residency": "eu", "sensitivity": "hgh"}, ONTOLOGY, GOVERNANCE)
    assert str(unknown.value) == (
        "LF-tag sensitivity=hgh: the ontology of catalog 444455556666 does not allow hgh for sensitivity. "
        "Did you mean high? Allowed: high, low."
    )


def test_an_unknown_key_lists_the_known_ones_and_the_closest() -> None:
    with pytest.raises(UnknownTagKey) as unknown:
        resolve_tags({"Residencey": "eu"}, ONTOLOGY)
    assert str(unknown.value) == (
        "LF-tag Residencey=eu: the ontology of the job's own catalog has no key Residencey. "
        "Did you mean residency? Known keys: residency, sensitivity, subject_type."
    )


def test_an_empty_ontology_says_that_the_role_may_see_none() -> None:
    with pytest.raises(UnknownTagKey, match="Known keys: none that this role may see"):
        resolve_tags({"residency": "eu"}, {}, GOVERNANCE)


# -- the tags of a table -----------------------------------------------------------------------


def test_reported_lf_4_setting_ours_leaves_the_tags_of_others(lf: Any, table: TableIdentity, define: Any) -> None:
    theirs, ours = define("owner_team", "x"), define("domain", "sales")
    resource = {"Table": {"DatabaseName": table.database, "Name": table.table}}
    lf.add_lf_tags_to_resource(Resource=resource, LFTags=[{"TagKey": theirs, "TagValues": ["x"]}])
    previous = assign_tags(lf, table, {ours: "sales"})
    assert tags_of(lf, table) == {(table.account, theirs): "x", (table.account, ours): "sales"}
    restore_tags(lf, table, previous)
    assert tags_of(lf, table) == {(table.account, theirs): "x"}


def test_restoring_gives_a_changed_tag_its_old_value(lf: Any, table: TableIdentity, define: Any) -> None:
    kept, changed = define("residency", "eu"), define("sensitivity", "low", "high")
    assign_tags(lf, table, {kept: "eu", changed: "low"})
    previous = assign_tags(lf, table, {kept: "eu", changed: "high"})
    assert tags_of(lf, table)[(table.account, changed)] == "high"
    restore_tags(lf, table, previous)
    assert tags_of(lf, table) == {(table.account, kept): "eu", (table.account, changed): "low"}


def test_tags_that_are_set_already_are_not_sent_again(lf: Any, table: TableIdentity, define: Any, calls: Any) -> None:
    key = define("residency", "eu")
    assign_tags(lf, table, {key: "eu"})
    sent = calls(lf)
    previous = assign_tags(lf, table, {key: "eu"})
    restore_tags(lf, table, previous)
    assert sent == ["GetResourceLFTags", "GetResourceLFTags"]


def test_a_tag_inherited_from_the_database_is_set_on_the_table_itself(
    lf: Any, table: TableIdentity, define: Any
) -> None:
    key = define("residency", "eu")
    lf.add_lf_tags_to_resource(
        Resource={"Database": {"Name": table.database}}, LFTags=[{"TagKey": key, "TagValues": ["eu"]}]
    )
    previous = assign_tags(lf, table, {key: "eu"})
    assert tags_of(lf, table) == {(table.account, key): "eu"}
    assert previous.values == {key: None}


def test_reported_lf_2_a_failure_inside_a_200_answer_fails_and_is_undone(
    lf: Any, table: TableIdentity, define: Any
) -> None:
    good = define("residency", "eu", "us")
    assign_tags(lf, table, {good: "us"})
    with pytest.raises(TagsRefused) as refused:
        assign_tags(lf, table, {good: "eu", "nowhere": "x"})
    assert "nowhere=x (EntityNotFoundException: Tag or tag value does not exist.)" in str(refused.value)
    assert good not in str(refused.value)
    assert "catalog 111122223333" in str(refused.value)
    assert tags_of(lf, table) == {(table.account, good): "us"}


def test_a_failure_that_cannot_be_undone_says_so(lf: Any, table: TableIdentity) -> None:
    failure = {
        "LFTag": {"TagKey": "b", "TagValues": ["2"]},
        "Error": {"ErrorCode": "EntityNotFoundException", "ErrorMessage": "no such tag"},
    }
    applied = {"LFTagsOnTable": [{"CatalogId": table.account, "TagKey": "a", "TagValues": ["1"]}]}
    with Stubber(lf) as stub:
        stub.add_response("get_resource_lf_tags", {})
        stub.add_response("add_lf_tags_to_resource", {"Failures": [failure]})
        stub.add_response("get_resource_lf_tags", applied)
        stub.add_client_error("remove_lf_tags_from_resource", "AccessDeniedException", "no DROP")
        with pytest.raises(TagsRefused, match=r"b=2 .*could not be taken back: access denied.*no DROP"):
            assign_tags(lf, table, {"a": "1", "b": "2"})


def test_reported_lf_6_a_tag_of_the_governance_account_is_set_on_our_table(
    lf: Any, table: TableIdentity, define: Any
) -> None:
    key = define("residency", "eu", account=GOVERNANCE)
    assign_tags(lf, table, {key: "eu"}, GOVERNANCE)
    assert tags_of(lf, table) == {(GOVERNANCE, key): "eu"}


def test_reported_lf_6_one_key_of_two_catalogs_is_two_tags(lf: Any, table: TableIdentity, define: Any) -> None:
    key = define("residency", "eu", account=GOVERNANCE)
    define("residency", "us")
    assign_tags(lf, table, {key: "us"})
    previous = assign_tags(lf, table, {key: "eu"}, GOVERNANCE)
    assert tags_of(lf, table) == {(table.account, key): "us", (GOVERNANCE, key): "eu"}
    restore_tags(lf, table, previous)
    assert tags_of(lf, table) == {(table.account, key): "us"}


def test_reported_lf_6_a_catalog_inside_an_account_is_named_in_the_resource(lf: Any) -> None:
    nested = TableIdentity("eu-central-1", "111122223333:s3tablescatalog/foo", "db", "t")
    resource = {"Table": {"CatalogId": "111122223333:s3tablescatalog/foo", "DatabaseName": "db", "Name": "t"}}
    with Stubber(lf) as stub:
        stub.add_response(
            "get_resource_lf_tags",
            {},
            {"CatalogId": "111122223333", "Resource": resource, "ShowAssignedLFTags": True},
        )
        stub.add_response(
            "add_lf_tags_to_resource",
            {"Failures": []},
            {
                "CatalogId": "111122223333",
                "Resource": resource,
                "LFTags": [{"CatalogId": "222233334444", "TagKey": "residency", "TagValues": ["eu"]}],
            },
        )
        assign_tags(lf, nested, {"residency": "eu"}, "222233334444")
        stub.assert_no_pending_responses()


def test_a_table_that_lake_formation_does_not_know_is_a_policy_error_naming_the_catalog(lf: Any, lake: Lake) -> None:
    gone = TableIdentity(lake.region, lake.account, lake.database, "gone")
    with pytest.raises(PolicyError, match=r"cannot read the LF-tags of .*\.gone in catalog 111122223333"):
        assign_tags(lf, gone, {"residency": "eu"})
