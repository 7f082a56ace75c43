"""The producer's next release changes the source's columns, and can be rolled back.

Each is one UpdateTable and one new Iceberg metadata file, written without an engine: a release of an
application changes a schema, not the data.
"""

from __future__ import annotations

import json
import re
import time
import uuid
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sandbox.errors import SandboxError
from sandbox.lake.catalog import RELEASES, source_table, update_table
from sandbox.lake.places import BUCKETS, RAW, SOURCE_LOCATION, TABLE

if TYPE_CHECKING:
    from mypy_boto3_glue import GlueClient
    from mypy_boto3_s3 import S3Client

__all__ = ["DRIFT_COLUMN", "DRIFT_RELEASE", "publish_drift", "revert_drift"]

DRIFT_RELEASE = "v4.12.0"
DRIFT_COLUMN = "merchant_category_code"

Metadata = dict[str, Any]


def publish_drift(glue: GlueClient, s3: S3Client) -> str:
    """Adds the optional column `merchant_category_code string`; returns the catalog version afterwards.

    Does nothing where the column is there already. Raises SandboxError where there is no source table.
    """
    table = _source(glue)
    metadata = _read(s3, table["Parameters"]["metadata_location"])
    if _has_column(_current_schema(metadata)):
        return str(table["VersionId"])
    return _commit(glue, s3, table, _with_column(metadata), DRIFT_RELEASE)


def revert_drift(glue: GlueClient, s3: S3Client) -> str:
    """The columns as they were before `publish_drift`; returns the catalog version afterwards.

    Does nothing where the column is not there. Raises SandboxError where there is no source table.
    """
    table = _source(glue)
    metadata = _read(s3, table["Parameters"]["metadata_location"])
    if not _has_column(_current_schema(metadata)):
        return str(table["VersionId"])
    return _commit(glue, s3, table, _without_column(metadata), RELEASES[-1])


def _source(glue: GlueClient) -> dict[str, Any]:
    table = source_table(glue)
    if table is None:
        raise SandboxError(f"there is no {RAW}.{TABLE}: run `python -m sandbox.stack up` first.")
    return table


def _current_schema(metadata: Mapping[str, Any]) -> dict[str, Any]:
    current = metadata["current-schema-id"]
    return next(schema for schema in metadata["schemas"] if schema["schema-id"] == current)


def _has_column(schema: Mapping[str, Any]) -> bool:
    return any(field["name"] == DRIFT_COLUMN for field in schema["fields"])


def _with_column(metadata: Metadata) -> Metadata:
    """A further schema, current from now on. Field ids and schema ids are never used twice (Iceberg's spec)."""
    before = _current_schema(metadata)
    field_id = metadata["last-column-id"] + 1
    schema = {
        **before,
        "schema-id": 1 + max(known["schema-id"] for known in metadata["schemas"]),
        "fields": [*before["fields"], {"id": field_id, "name": DRIFT_COLUMN, "required": False, "type": "string"}],
    }
    return {
        **metadata,
        "schemas": [*metadata["schemas"], schema],
        "current-schema-id": schema["schema-id"],
        "last-column-id": field_id,
    }


def _without_column(metadata: Metadata) -> Metadata:
    """Current again: the newest schema that does not have the column."""
    earlier = [schema for schema in metadata["schemas"] if not _has_column(schema)]
    return {**metadata, "current-schema-id": earlier[-1]["schema-id"]}


def _commit(glue: GlueClient, s3: S3Client, table: Mapping[str, Any], metadata: Metadata, release: str) -> str:
    """Writes the next metadata file and points the table at it, as an Iceberg commit does."""
    before = table["Parameters"]["metadata_location"]
    log = {"timestamp-ms": metadata["last-updated-ms"], "metadata-file": before}
    document = {
        **metadata,
        "last-updated-ms": max(int(time.time() * 1000), metadata["last-updated-ms"]),
        "metadata-log": [*metadata.get("metadata-log", []), log],
    }
    after = f"{SOURCE_LOCATION}/metadata/{_number(before) + 1:05}-{uuid.uuid4()}.metadata.json"
    bucket, key = _bucket_and_key(after)
    s3.put_object(Bucket=bucket, Key=key, Body=json.dumps(document).encode())
    parameters = {
        **table["Parameters"],
        "metadata_location": after,
        "previous_metadata_location": before,
        "cordata.published_release": release,
    }
    columns = _glue_columns(table["StorageDescriptor"]["Columns"], _current_schema(metadata))
    update_table(
        glue, table, Parameters=parameters, StorageDescriptor={**table["StorageDescriptor"], "Columns": columns}
    )
    return str(_source(glue)["VersionId"])


def _glue_columns(known: list[dict[str, Any]], schema: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Glue's column list as Iceberg's catalog writes it: the current columns, then those that are no more."""
    current = {str(field["id"]): field for field in schema["fields"]}
    by_id = {column["Parameters"]["iceberg.field.id"]: column for column in known}
    for field_id, field in current.items():
        optional = str(not field["required"]).lower()
        parameters = {"iceberg.field.id": field_id, "iceberg.field.optional": optional}
        by_id.setdefault(field_id, {"Name": field["name"], "Type": field["type"], "Parameters": parameters})

    def marked(field_id: str) -> dict[str, Any]:
        is_current = str(field_id in current).lower()
        column = by_id[field_id]
        return {**column, "Parameters": {**column["Parameters"], "iceberg.field.current": is_current}}

    return [marked(field_id) for field_id in sorted(by_id, key=lambda field_id: field_id not in current)]


def _read(s3: S3Client, location: str) -> Metadata:
    bucket, key = _bucket_and_key(location)
    document: Metadata = json.loads(s3.get_object(Bucket=bucket, Key=key)["Body"].read())
    return document


def _bucket_and_key(location: str) -> tuple[str, str]:
    bucket, _, key = location.removeprefix("s3://").partition("/")
    assert bucket == BUCKETS[RAW], location
    return bucket, key


def _number(location: str) -> int:
    match = re.search(r"/(\d+)-[^/]+\.metadata\.json$", location)
    assert match is not None, location
    return int(match[1])
