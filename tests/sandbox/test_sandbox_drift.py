"""The producer's release that adds a column, and its rollback: one UpdateTable each, as a release makes it."""

from __future__ import annotations

import json
from itertools import count
from typing import Any

import pytest

from sandbox.errors import SandboxError
from sandbox.lake.catalog import create_buckets, create_databases, register_releases, source_table
from sandbox.lake.drift import publish_drift, revert_drift
from sandbox.lake.places import BUCKETS, RAW, SOURCE_LOCATION, TABLE

_accounts = (f"3000{number:08}" for number in count())

FIRST = f"{SOURCE_LOCATION}/metadata/00001-a.metadata.json"
METADATA: dict[str, Any] = {
    "format-version": 2,
    "last-updated-ms": 1,
    "last-column-id": 2,
    "current-schema-id": 0,
    "schemas": [
        {
            "type": "struct",
            "schema-id": 0,
            "fields": [
                {"id": 1, "name": "tx_id", "required": True, "type": "string"},
                {"id": 2, "name": "amount", "required": False, "type": "decimal(12, 2)"},
            ],
        }
    ],
    "metadata-log": [],
}
COLUMNS = [
    {"Name": "tx_id", "Type": "string", "Comment": "the id", "Parameters": {"iceberg.field.id": "1"}},
    {"Name": "amount", "Type": "decimal(12,2)", "Parameters": {"iceberg.field.id": "2"}},
]


class Source:
    """The source table of an account of its own, at catalog version 7 and without data."""

    def __init__(self, aws: Any) -> None:
        account = next(_accounts)
        self.glue, self.s3 = aws.client("glue", account), aws.client("s3", account)
        create_databases(self.glue)
        # Buckets are one world for all accounts: what another test made is used.
        create_buckets(self.s3)
        self.s3.put_object(Bucket=BUCKETS[RAW], Key=FIRST.split("/", 3)[3], Body=json.dumps(METADATA).encode())
        table = {
            "Name": TABLE,
            "TableType": "EXTERNAL_TABLE",
            "Parameters": {"table_type": "ICEBERG", "metadata_location": FIRST, "kept": "yes"},
            "StorageDescriptor": {"Location": SOURCE_LOCATION, "Columns": COLUMNS},
        }
        self.glue.create_table(DatabaseName=RAW, TableInput=table)
        self.glue.update_table(DatabaseName=RAW, TableInput=table, SkipArchive=True)
        register_releases(self.glue, {})

    @property
    def table(self) -> dict[str, Any]:
        found = source_table(self.glue)
        assert found is not None
        return found

    @property
    def metadata(self) -> dict[str, Any]:
        key = self.table["Parameters"]["metadata_location"].split("/", 3)[3]
        return json.loads(self.s3.get_object(Bucket=BUCKETS[RAW], Key=key)["Body"].read())

    @property
    def columns(self) -> list[str]:
        """Names of the current Iceberg schema."""
        current = self.metadata["current-schema-id"]
        schema = next(schema for schema in self.metadata["schemas"] if schema["schema-id"] == current)
        return [field["name"] for field in schema["fields"]]


@pytest.fixture
def source(aws: Any) -> Source:
    return Source(aws)


def test_the_table_is_published_by_release_v4_11_0_at_version_7(source: Source) -> None:
    assert source.table["VersionId"] == "7"
    assert source.table["Parameters"]["cordata.published_by"] == "card-ledger"
    assert source.table["Parameters"]["cordata.published_release"] == "v4.11.0"


def test_the_drift_is_one_version_with_an_optional_column_and_the_release(source: Source) -> None:
    assert publish_drift(source.glue, source.s3) == "8"
    assert source.columns == ["tx_id", "amount", "merchant_category_code"]
    added = source.metadata["schemas"][-1]["fields"][-1]
    assert added == {"id": 3, "name": "merchant_category_code", "required": False, "type": "string"}
    assert source.metadata["last-column-id"] == 3
    assert source.table["Parameters"]["cordata.published_release"] == "v4.12.0"


def test_the_drift_changes_nothing_else(source: Source) -> None:
    before = source.table
    publish_drift(source.glue, source.s3)
    after = source.table
    assert after["Parameters"]["kept"] == "yes"
    assert after["Parameters"]["previous_metadata_location"] == FIRST
    assert after["StorageDescriptor"]["Location"] == before["StorageDescriptor"]["Location"]
    assert after["StorageDescriptor"]["Columns"][0]["Comment"] == "the id"
    archived = source.glue.get_table_version(DatabaseName=RAW, TableName=TABLE, VersionId="7")
    assert archived["TableVersion"]["Table"]["Parameters"]["metadata_location"] == FIRST


def test_the_metadata_log_leads_back(source: Source) -> None:
    publish_drift(source.glue, source.s3)
    assert source.metadata["metadata-log"] == [{"timestamp-ms": 1, "metadata-file": FIRST}]
    assert source.table["Parameters"]["metadata_location"].startswith(f"{SOURCE_LOCATION}/metadata/00002-")


def test_the_rollback_brings_the_columns_back_and_glue_keeps_the_dropped_one_as_gone(source: Source) -> None:
    publish_drift(source.glue, source.s3)
    assert revert_drift(source.glue, source.s3) == "9"
    assert source.columns == ["tx_id", "amount"]
    assert source.table["Parameters"]["cordata.published_release"] == "v4.11.0"
    listed = [
        (column["Name"], column["Parameters"]["iceberg.field.current"])
        for column in source.table["StorageDescriptor"]["Columns"]
    ]
    assert listed == [("tx_id", "true"), ("amount", "true"), ("merchant_category_code", "false")]


def test_a_second_drift_or_rollback_does_nothing(source: Source) -> None:
    assert revert_drift(source.glue, source.s3) == "7"
    assert publish_drift(source.glue, source.s3) == publish_drift(source.glue, source.s3) == "8"


def test_a_column_that_comes_again_gets_a_new_field_id(source: Source) -> None:
    publish_drift(source.glue, source.s3)
    revert_drift(source.glue, source.s3)
    assert publish_drift(source.glue, source.s3) == "10"
    assert source.metadata["schemas"][-1]["fields"][-1]["id"] == 4
    assert len({schema["schema-id"] for schema in source.metadata["schemas"]}) == 3


def test_without_a_lake_there_is_nothing_to_drift(aws: Any) -> None:
    account = next(_accounts)
    with pytest.raises(SandboxError, match=r"there is no fraud_raw\.transactions"):
        publish_drift(aws.client("glue", account), aws.client("s3", account))
