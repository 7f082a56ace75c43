"""A target before anything is written: whose it is, what it is, and what its location could hit."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import ClientError
from botocore.stub import Stubber
from glue_lake import Lake, optional, partition

from pipeline_runtime.catalog.glue import describe_table
from pipeline_runtime.catalog.table import CatalogTable, TableIdentity
from pipeline_runtime.catalog.targets import check_location, inspect_target
from pipeline_runtime.descriptor.blocks import Target
from pipeline_runtime.errors import CatalogError, ForeignTarget, LocationRefused, TableNotFound

FIELDS = [optional(1, "id", "long"), optional(2, "event_date", "date"), optional(3, "seen", "timestamptz")]


def target(lake: Lake, **changes: Any) -> Target:
    declared = {
        "kind": "iceberg",
        "database": lake.database,
        "table": "scored",
        "partition_by": ["event_date"],
        "location": lake.location("scored") + "/",
    }
    return Target(**{**declared, **changes})


def inspect(lake: Lake, declared: Target) -> CatalogTable | None:
    return inspect_target(declared, lake.glue, lake.s3, region=lake.region, account="111122223333")


def check(lake: Lake, location: str, *, source: str = "source", table: str = "scored") -> None:
    found = describe_table(lake.glue, lake.s3, database=lake.database, table=source, region=lake.region)
    check_location(location, TableIdentity(lake.region, lake.account, lake.database, table), found, lake.glue)


# -- the existing table ------------------------------------------------------------------------


def test_a_target_that_is_not_there_yet_is_none(lake: Lake) -> None:
    assert inspect(lake, target(lake)) is None


def test_a_target_that_fits_its_descriptor_is_described(lake: Lake) -> None:
    lake.iceberg_table("scored", FIELDS, partitions=[partition(2, "event_date")], snapshot=5)
    existing = inspect(lake, target(lake))
    assert existing is not None
    assert (existing.identity.fqn, existing.current_snapshot) == (f"{lake.database}.scored", 5)


def test_a_database_that_does_not_exist_names_the_closest(lake: Lake, new_lake: Any) -> None:
    owner = new_lake("777788889999")
    with pytest.raises(TableNotFound) as missing:
        inspect_target(
            target(owner, database=owner.database + "x"),
            owner.glue,
            owner.s3,
            region=owner.region,
            account="777788889999",
        )
    assert str(missing.value) == (
        f"database {owner.database}x is not in the job's own catalog. Did you mean {owner.database}?"
    )


def test_a_target_in_a_linked_database_of_another_account_is_refused(lake: Lake, new_lake: Any) -> None:
    owner = new_lake("444455556666")
    link = {"CatalogId": owner.account, "DatabaseName": owner.database}
    lake.glue.create_database(DatabaseInput={"Name": f"{lake.database}_link", "TargetDatabase": link})
    with pytest.raises(ForeignTarget, match="lives in catalog 444455556666, the job runs in account 111122223333"):
        inspect(lake, target(lake, database=f"{lake.database}_link"))


def test_a_linked_database_that_the_role_may_not_follow_is_refused_as_well(lake: Lake) -> None:
    link = {"CatalogId": "444455556666", "DatabaseName": "theirs"}
    database = {"Name": lake.database, "CatalogId": lake.account, "TargetDatabase": link}
    with Stubber(lake.glue) as glue:
        glue.add_response("get_database", {"Database": database})
        with pytest.raises(ForeignTarget, match="lives in catalog 444455556666"):
            inspect(lake, target(lake))


def test_a_target_that_links_to_another_accounts_table_is_refused(lake: Lake, new_lake: Any) -> None:
    owner = new_lake("444455556666")
    owner.iceberg_table("theirs", FIELDS)
    link = {"CatalogId": owner.account, "DatabaseName": owner.database, "Name": "theirs"}
    lake.glue.create_table(DatabaseName=lake.database, TableInput={"Name": "scored", "TargetTable": link})
    with pytest.raises(ForeignTarget, match=rf"\.scored, which is {owner.database}\.theirs, lives in catalog 4444"):
        inspect(lake, target(lake))


def test_a_table_of_another_kind_is_refused(lake: Lake) -> None:
    lake.hive_table("scored", {"id": "bigint"}, keys={"event_date": "date"})
    with pytest.raises(
        CatalogError, match=r"\.scored is not an Iceberg table, the descriptor's target kind is iceberg"
    ):
        inspect(lake, target(lake))
    assert inspect(lake, target(lake, kind="parquet")) is not None
    lake.iceberg_table("ice", FIELDS)
    with pytest.raises(CatalogError, match=r"\.ice is an Iceberg table, the descriptor's target kind is parquet"):
        inspect(lake, target(lake, kind="parquet", table="ice", location=lake.location("ice")))


@pytest.mark.parametrize(
    ("partitions", "declared", "said"),
    [
        ([partition(2, "event_date")], [], r"partitioned by \[event_date\], the descriptor says partition_by: \[\]"),
        ([], ["event_date"], r"partitioned by \[\], the descriptor says partition_by: \[event_date\]"),
        (
            [partition(2, "event_date"), partition(1, "id")],
            ["id", "event_date"],
            r"by \[event_date, id\], .*: \[id, ev",
        ),
        (
            [partition(3, "seen_day", "day")],
            [],
            r"partitioned by \[day\(seen\)\], the descriptor says partition_by: \[\]",
        ),
    ],
)
def test_other_partitions_are_refused_with_both_lists(
    lake: Lake, partitions: list[dict[str, Any]], declared: list[str], said: str
) -> None:
    lake.iceberg_table("scored", FIELDS, partitions=partitions)
    with pytest.raises(CatalogError, match=said):
        inspect(lake, target(lake, partition_by=declared))


def test_another_location_is_refused_with_both(lake: Lake) -> None:
    lake.iceberg_table("scored", FIELDS, partitions=[partition(2, "event_date")])
    with pytest.raises(CatalogError) as elsewhere:
        inspect(lake, target(lake, location=f"s3://{lake.bucket}/elsewhere/"))
    assert f"is at {lake.location('scored')}, the descriptor says location: s3://{lake.bucket}/elsewhere" in str(
        elsewhere.value
    )


# -- the location ------------------------------------------------------------------------------


@pytest.fixture
def sourced(lake: Lake) -> Lake:
    """A lake with a source beside which the target is to be written."""
    lake.iceberg_table("source", FIELDS)
    return lake


@pytest.mark.parametrize(
    "location",
    ["", "s3://{bucket}", "s3://{bucket}/", "s3://{bucket}/a/../b", "s3://{bucket}/a//b", "file:///tmp/a", "a/b"],
)
def test_a_location_that_no_table_should_have_is_refused(sourced: Lake, location: str) -> None:
    with pytest.raises(LocationRefused, match=rf"^{sourced.database}\.scored: location "):
        check(sourced, location.format(bucket=sourced.bucket))


def test_a_prefix_of_its_own_is_accepted_next_to_names_that_begin_alike(sourced: Lake) -> None:
    sourced.hive_table("other", {"id": "int"}, location=f"s3://{sourced.bucket}/curated/scored_old/")
    check(sourced, f"s3://{sourced.bucket}/curated/scored/")
    check(sourced, f"s3://{sourced.bucket}/curated/scored_old2")


@pytest.mark.parametrize("inside", ["{source}/scored", "{source}", "{source}/"])
def test_a_location_in_the_sources_is_refused(sourced: Lake, inside: str) -> None:
    with pytest.raises(LocationRefused, match=rf"which holds the source {sourced.database}\.source"):
        check(sourced, inside.format(source=sourced.location("source")))


def test_a_location_around_the_sources_is_refused(sourced: Lake) -> None:
    with pytest.raises(LocationRefused, match="lies in or around"):
        check(sourced, f"s3://{sourced.bucket}/{sourced.database}/")


def test_a_location_that_overlaps_a_source_of_another_account_is_refused(lake: Lake, new_lake: Any) -> None:
    owner = new_lake("444455556666")
    owner.iceberg_table("theirs", FIELDS)
    link = {"CatalogId": owner.account, "DatabaseName": owner.database, "Name": "theirs"}
    lake.glue.create_table(DatabaseName=lake.database, TableInput={"Name": "linked", "TargetTable": link})
    with pytest.raises(LocationRefused, match=rf"which holds the source {owner.database}\.theirs"):
        check(lake, owner.location("theirs") + "/scored", source="linked")


def test_any_table_of_any_database_is_found_on_every_page_and_under_every_scheme(sourced: Lake, new_lake: Any) -> None:
    elsewhere = new_lake()
    place = f"s3://{sourced.bucket}/curated"
    for number in range(101):
        location = f"s3a://{sourced.bucket}/curated/scored/part" if number == 100 else f"{place}/n{number}/"
        elsewhere.hive_table(f"t{number:03}", {"id": "int"}, location=location)
    with pytest.raises(LocationRefused) as refused:
        check(sourced, f"{place}/scored/")
    assert str(refused.value) == (
        f"{sourced.database}.scored: its location {place}/scored lies in or around {place}/scored/part, "
        f"which holds {elsewhere.database}.t100. Give the target a prefix of its own."
    )


def test_the_quarantine_beside_the_target_must_be_free_as_well(sourced: Lake) -> None:
    place = f"s3://{sourced.bucket}/curated/scored"
    sourced.hive_table("squatter", {"id": "int"}, location=f"{place}__quarantine/")
    with pytest.raises(LocationRefused, match=r"its quarantine .*scored__quarantine lies in or around .*\.squatter"):
        check(sourced, place)


def test_the_targets_own_tables_are_no_obstacle(sourced: Lake, new_lake: Any) -> None:
    place = f"s3://{sourced.bucket}/curated/scored"
    sourced.hive_table("scored", {"id": "int"}, location=place)
    sourced.hive_table("scored__quarantine", {"id": "int"}, location=f"{place}__quarantine")
    link = {"CatalogId": sourced.account, "DatabaseName": sourced.database, "Name": "scored"}
    sourced.glue.create_table(
        DatabaseName=new_lake().database,
        TableInput={"Name": "alias", "TargetTable": link, "StorageDescriptor": {"Location": place}},
    )
    sourced.hive_table("jdbc", {"id": "int"}, location="db.public.scored")
    sourced.hive_table("no_place", {"id": "int"}, location="")
    check(sourced, place + "/")


def deny(lake: Lake, operation: str, code: str = "AccessDeniedException") -> None:
    def refuse(model: Any, **_: Any) -> None:
        if model.name == operation:
            raise ClientError({"Error": {"Code": code, "Message": "not authorized"}}, operation)

    lake.glue.meta.events.register("before-call.glue", refuse)


def test_databases_that_the_role_may_not_list_are_passed_over(sourced: Lake) -> None:
    sourced.hive_table("hidden", {"id": "int"}, location=f"s3://{sourced.bucket}/curated/")
    with pytest.raises(LocationRefused):
        check(sourced, f"s3://{sourced.bucket}/curated/scored")
    deny(sourced, "GetTables")
    check(sourced, f"s3://{sourced.bucket}/curated/scored")


def test_a_catalog_that_cannot_be_listed_at_all_is_an_error(sourced: Lake) -> None:
    deny(sourced, "GetDatabases")
    with pytest.raises(CatalogError, match="access denied: cannot list the databases"):
        check(sourced, f"s3://{sourced.bucket}/curated/scored")


def test_a_listing_that_breaks_off_is_an_error_not_a_pass(sourced: Lake) -> None:
    deny(sourced, "GetTables", "InternalServiceException")
    with pytest.raises(CatalogError, match=r"cannot list the tables of .*: InternalServiceException"):
        check(sourced, f"s3://{sourced.bucket}/curated/scored")


def test_a_parquet_table_that_shows_a_runs_folder_is_still_at_its_own_prefix(sourced: Lake) -> None:
    place = f"s3://{sourced.bucket}/curated/scored"
    sourced.hive_table("scored", {"id": "bigint"}, location=f"{place}/_runs/0b8c7c1e-0000-4000-8000-000000000000")
    declared = target(sourced, kind="parquet", location=place, partition_by=[])

    assert inspect(sourced, declared) is not None
    with pytest.raises(CatalogError, match=rf"is at {place}, the descriptor says location: {place}/_runs/elsewhere"):
        inspect(sourced, target(sourced, kind="parquet", location=f"{place}/_runs/elsewhere", partition_by=[]))


def test_the_whole_prefix_of_a_table_that_shows_a_runs_folder_is_taken(sourced: Lake) -> None:
    place = f"s3://{sourced.bucket}/curated/other"
    sourced.hive_table("other", {"id": "bigint"}, location=f"{place}/_runs/0b8c7c1e-0000-4000-8000-000000000000")

    with pytest.raises(LocationRefused, match=rf"lies in or around {place}, which holds .*\.other"):
        check(sourced, f"{place}/part")
