"""A table as the catalog describes it: identity, columns, partitions, snapshot."""

from __future__ import annotations

import json
from typing import Any

import pytest
from botocore.stub import Stubber
from glue_lake import Lake, optional, partition, required

from pipeline_runtime.catalog.glue import archived_schema, describe_table
from pipeline_runtime.catalog.table import CatalogTable, TableIdentity
from pipeline_runtime.errors import CatalogError, TableNotFound
from pipeline_runtime.schema.columns import Column


def describe(lake: Lake, table: str, *, database: str | None = None, catalog_id: str | None = None) -> CatalogTable:
    return describe_table(
        lake.glue,
        lake.s3,
        database=database or lake.database,
        table=table,
        region=lake.region,
        catalog_id=catalog_id,
    )


# -- columns, partitions, snapshot -------------------------------------------------------------


def test_an_iceberg_table_has_the_columns_of_its_metadata_file(lake: Lake) -> None:
    uri = lake.iceberg_table(
        "transactions",
        [
            required(1, "transaction_id", "string"),
            optional(2, "amount", "decimal(12, 2)"),
            optional(3, "settled_at", "timestamptz"),
            optional(4, "seen_at", "timestamp"),
        ],
        snapshot=7723,
    )
    table = describe(lake, "transactions")
    assert table.schema.columns == (
        Column("transaction_id", "string", nullable=False, field_id=1),
        Column("amount", "decimal(12,2)", nullable=True, field_id=2),
        Column("settled_at", "timestamp", nullable=True, field_id=3),
        Column("seen_at", "timestamp_ntz", nullable=True, field_id=4),
    )
    assert table.is_iceberg
    assert (table.version, table.current_snapshot, table.metadata_location) == (0, 7723, uri)
    assert table.location == lake.location("transactions")


def test_reported_cat_1_a_dropped_iceberg_column_that_glue_still_lists_is_no_column(lake: Lake) -> None:
    glue_columns = [
        {"Name": name, "Type": type_, "Parameters": {"iceberg.field.current": current, "iceberg.field.id": field_id}}
        for name, type_, current, field_id in (
            ("id", "bigint", "true", "1"),
            ("amt", "decimal(10,2)", "true", "2"),
            ("old", "string", "false", "3"),
        )
    ]
    lake.iceberg_table("t", [optional(1, "id", "long"), optional(2, "amt", "decimal(10,2)")], glue_columns=glue_columns)
    assert describe(lake, "t").schema.names == ("id", "amt")

    # The same where Glue's list is all there is.
    storage = {"Columns": glue_columns, "Location": lake.location("converted")}
    lake.glue.create_table(DatabaseName=lake.database, TableInput={"Name": "converted", "StorageDescriptor": storage})
    assert describe(lake, "converted").schema.names == ("id", "amt")


def test_reported_cat_8_partition_keys_are_columns_and_are_counted_once(lake: Lake) -> None:
    lake.hive_table("hive", {"id": "bigint"}, keys={"dt": "string"})
    hive = describe(lake, "hive")
    assert hive.schema.columns == (Column("id", "bigint"), Column("dt", "string"))
    assert hive.partition_columns == ("dt",)
    assert not hive.is_iceberg

    lake.iceberg_table("ice", [optional(1, "id", "long"), optional(2, "dt", "string")], partitions=[partition(2, "dt")])
    ice = describe(lake, "ice")
    assert ice.schema.names == ("id", "dt")
    assert ice.partition_columns == ("dt",)


def test_partitions_by_a_transform_are_told_apart_from_partition_columns(lake: Lake) -> None:
    payment = {"type": "struct", "fields": [optional(4, "country", "string")]}
    lake.iceberg_table(
        "t",
        [optional(1, "event_time", "timestamptz"), optional(2, "region", "string"), optional(3, "payment", payment)],
        partitions=[
            partition(2, "region"),
            partition(1, "event_time_day", "day"),
            partition(4, "country"),
            partition(1, "dropped", "void"),
        ],
    )
    table = describe(lake, "t")
    assert table.partition_columns == ("region", "payment.country")
    assert table.hidden_partitions == ("day(event_time)",)


def test_a_table_that_was_never_written_has_no_snapshot(lake: Lake) -> None:
    lake.iceberg_table("never", [optional(1, "id", "long")])
    lake.iceberg_table("never_v1", [optional(1, "id", "long")], snapshot=-1)
    assert describe(lake, "never").current_snapshot is None
    assert describe(lake, "never_v1").current_snapshot is None


def test_metadata_of_format_version_1_and_a_gzipped_file_read_alike(lake: Lake) -> None:
    fields = [required(1, "id", "long"), optional(2, "dt", "date")]
    version_1 = {
        "format-version": 1,
        "location": lake.location("one") + "/",
        "schema": {"type": "struct", "fields": fields},
        "partition-spec": [partition(2, "dt")],
    }
    lake.iceberg_table("one", metadata_location=lake.put("one/v1.metadata.json", version_1))
    lake.iceberg_table("two", metadata_location=lake.put("two/00002.gz.metadata.json", version_1))
    one, two = describe(lake, "one"), describe(lake, "two")
    assert one.schema == two.schema
    assert one.schema.names == ("id", "dt")
    assert one.partition_columns == ("dt",)
    assert one.location == lake.location("one")


def test_a_location_is_an_s3_prefix_however_hadoop_spells_the_file_system(lake: Lake) -> None:
    lake.hive_table("t", {"id": "int"}, location=f"s3a://{lake.bucket}/t/")
    assert describe(lake, "t").location == f"s3://{lake.bucket}/t"


# -- identity ----------------------------------------------------------------------------------


def test_a_table_keeps_its_owners_identity_behind_a_link_to_its_database(lake: Lake, new_lake: Any) -> None:
    owner = new_lake("444455556666")
    owner.iceberg_table("claims", [optional(1, "id", "long")])
    link = {"CatalogId": owner.account, "DatabaseName": owner.database}
    lake.glue.create_database(DatabaseInput={"Name": f"{lake.database}_link", "TargetDatabase": link})
    table = describe(lake, "claims", database=f"{lake.database}_link")
    assert table.identity == TableIdentity(lake.region, owner.account, owner.database, "claims")


def test_a_link_to_a_table_is_followed_and_the_targets_name_is_the_identity(lake: Lake, new_lake: Any) -> None:
    owner = new_lake("444455556666")
    owner.hive_table("claims", {"id": "bigint"})
    link = {"CatalogId": owner.account, "DatabaseName": owner.database, "Name": "claims"}
    lake.glue.create_table(DatabaseName=lake.database, TableInput={"Name": "their_claims", "TargetTable": link})
    table = describe(lake, "their_claims")
    assert table.identity == TableIdentity(lake.region, owner.account, owner.database, "claims")
    assert table.schema.names == ("id",)


def linked(lake: Lake, **link: str) -> dict[str, Any]:
    """What AWS answers for a link: the link's own name and owner, beside the target's columns."""
    return {
        "Table": {
            "CatalogId": lake.account,
            "DatabaseName": lake.database,
            "Name": "link",
            "VersionId": "0",
            "StorageDescriptor": {"Columns": [{"Name": "id", "Type": "bigint"}]},
            "TargetTable": {"CatalogId": "444455556666", "DatabaseName": "claims", "Name": "claim", **link},
        }
    }


def test_an_answer_that_mixes_link_and_target_does_not_give_the_link_an_identity(lake: Lake) -> None:
    target = {"CatalogId": "444455556666", "DatabaseName": "claims", "Name": "claim", "VersionId": "3"}
    with Stubber(lake.glue) as glue:
        glue.add_response("get_table", linked(lake), {"DatabaseName": lake.database, "Name": "link"})
        glue.add_response(
            "get_table",
            {"Table": target},
            {"CatalogId": "444455556666", "DatabaseName": "claims", "Name": "claim"},
        )
        table = describe(lake, "link")
    assert (table.identity.account, table.identity.fqn, table.version) == ("444455556666", "claims.claim", 3)


def test_a_link_to_nowhere_and_a_link_into_another_region_say_where_they_lead(lake: Lake) -> None:
    with Stubber(lake.glue) as glue:
        glue.add_response("get_table", linked(lake))
        glue.add_client_error("get_table", "EntityNotFoundException", "Entity Not Found")
        with pytest.raises(TableNotFound, match=r"link is a resource link to claims\.claim in catalog 444455556666"):
            describe(lake, "link")
        glue.add_response("get_table", linked(lake, Region="us-east-1"))
        with pytest.raises(CatalogError, match=r"in region us-east-1; this job works on the catalog of eu-central-1"):
            describe(lake, "link")


# -- what goes wrong ---------------------------------------------------------------------------


def test_a_missing_table_names_the_catalog_searched_and_the_closest_table(lake: Lake) -> None:
    lake.hive_table("transactions", {"id": "int"})
    lake.hive_table("merchants", {"id": "int"})
    with pytest.raises(TableNotFound) as missing:
        describe(lake, "transactoins")
    assert str(missing.value) == (
        f"{lake.database}.transactoins is not in catalog 111122223333. Did you mean transactions?"
    )


def test_a_missing_database_names_the_catalog_searched_and_the_closest_database(lake: Lake) -> None:
    with pytest.raises(TableNotFound) as missing:
        describe(lake, "transactions", database=lake.database + "x", catalog_id="111122223333")
    assert str(missing.value).startswith(f"database {lake.database}x is not in catalog 111122223333. Did you mean ")


def test_a_refusal_of_glue_is_called_access_denied(lake: Lake) -> None:
    reason = "User: arn:aws:sts::111122223333:assumed-role/job is not authorized to perform: glue:GetTable"
    with Stubber(lake.glue) as glue:
        glue.add_client_error("get_table", "AccessDeniedException", reason, 400)
        with pytest.raises(CatalogError) as denied:
            describe(lake, "transactions")
    assert str(denied.value) == (
        f"access denied: cannot look up {lake.database}.transactions in the job's own catalog. "
        f"AWS says: {reason}. Grant the job's role that permission."
    )


def test_a_refusal_of_s3_is_called_access_denied(lake: Lake) -> None:
    lake.iceberg_table("t", [optional(1, "id", "long")])
    with Stubber(lake.s3) as s3:
        s3.add_client_error("get_object", "AccessDenied", "Access Denied", 403)
        with pytest.raises(CatalogError, match=r"access denied: cannot read s3://.*, the metadata file of .*\.t\."):
            describe(lake, "t")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "which does not exist"),
        (b"<html>", "is not an Iceberg metadata file"),
        (b"[]", "is not an Iceberg metadata file"),
        (b"{}", "is not an Iceberg metadata file"),
        (b"\x1f\x8b cut off", "is not an Iceberg metadata file"),
    ],
)
def test_an_unusable_metadata_file_is_named(lake: Lake, content: bytes | None, message: str) -> None:
    uri = f"s3://{lake.bucket}/gone.metadata.json" if content is None else lake.put("bad.metadata.json", content)
    lake.iceberg_table("t", metadata_location=uri)
    with pytest.raises(CatalogError, match=message) as broken:
        describe(lake, "t")
    assert uri in str(broken.value)
    assert f"{lake.database}.t" in str(broken.value)


def test_an_iceberg_table_without_a_metadata_location_is_refused(lake: Lake) -> None:
    lake.hive_table("t", {"id": "int"}, parameters={"table_type": "iceberg"})
    with pytest.raises(CatalogError, match="has no metadata_location"):
        describe(lake, "t")


def test_a_column_type_that_no_engine_here_reads_names_the_column(lake: Lake) -> None:
    lake.iceberg_table("ice", [optional(1, "opened", "time")])
    lake.hive_table("hive", {"either": "uniontype<int,string>"})
    with pytest.raises(CatalogError, match=r"\.ice: column opened: Iceberg type time"):
        describe(lake, "ice")
    with pytest.raises(CatalogError, match=r"\.hive: column either: "):
        describe(lake, "hive")


# -- the archive -------------------------------------------------------------------------------


def test_an_archived_version_shows_the_columns_of_its_time(lake: Lake) -> None:
    lake.hive_table("t", {"id": "bigint"}, keys={"dt": "string"})
    lake.hive_table("t", {"id": "bigint", "note": "string"}, keys={"dt": "string"}, update=True)
    table = describe(lake, "t")
    archived = archived_schema(lake.glue, lake.s3, table.identity, 0)
    assert (table.version, archived and archived.names) == (1, ("id", "dt"))
    assert archived_schema(lake.glue, lake.s3, table.identity, 5) is None


def test_an_archived_iceberg_version_counts_only_with_its_own_metadata_file(lake: Lake) -> None:
    uri = lake.iceberg_table("t", [required(1, "id", "long")])
    lake.glue.update_table(  # archives, as an engine configured to do so
        DatabaseName=lake.database,
        TableInput={
            "Name": "t",
            "StorageDescriptor": {"Columns": [{"Name": "id", "Type": "bigint"}]},
            "Parameters": {
                "table_type": "ICEBERG",
                "metadata_location": lake.put("new.metadata.json", lake.metadata("t", [required(1, "other", "long")])),
            },
        },
    )
    identity = describe(lake, "t").identity
    archived = archived_schema(lake.glue, lake.s3, identity, 0)
    assert archived is not None
    assert archived.columns == (Column("id", "bigint", nullable=False, field_id=1),)
    lake.s3.delete_object(Bucket=lake.bucket, Key=uri.removeprefix(f"s3://{lake.bucket}/"))
    assert archived_schema(lake.glue, lake.s3, identity, 0) is None


def test_metadata_reads_the_schema_in_force_not_the_first(lake: Lake) -> None:
    content = lake.metadata("t", [optional(1, "now", "long")])
    assert json.dumps(content).index("before") < json.dumps(content).index("now")
    lake.iceberg_table("t", metadata_location=lake.put("t.metadata.json", content))
    assert describe(lake, "t").schema.names == ("now",)
