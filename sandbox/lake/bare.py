"""The card transactions as a catalog knows them, without rows and without an engine.

    python -m sandbox.lake.bare

For whatever asks the catalog only: the producer's check, publishing a version, a run that stops at its pin. The
table has the columns that the fraud domain pins, and the releases of the sample lake, so it is at v7.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline_runtime.schema.columns import Column
from pipeline_runtime.schema.recorded import load_recorded, recorded_path
from sandbox.errors import SandboxError
from sandbox.lake.catalog import create_buckets, create_databases, create_ontology, register_releases, source_table
from sandbox.lake.places import BUCKETS, RAW, SOURCE_LOCATION, TABLE
from sandbox.lake.seed import require_stand_in

if TYPE_CHECKING:
    from mypy_boto3_glue import GlueClient
    from mypy_boto3_lakeformation import LakeFormationClient
    from mypy_boto3_s3 import S3Client

__all__ = ["lay_out", "main"]

_FRAUD = Path(__file__).resolve().parents[2] / "domains" / "fraud"
_TABLE_UUID = "7d2c5a0e-4d51-4f0f-9b0a-4f7f3b1d9a11"
_CREATED_MS = 1_785_542_400_000  # 2026-08-01T00:00:00Z
_TYPES = {"string": "string", "timestamp": "timestamptz", "date": "date", "bigint": "long", "double": "double"}


def lay_out(glue: GlueClient, s3: S3Client, lakeformation: LakeFormationClient) -> None:
    """Buckets, databases, ontology and the source table at v7; a table that is there already stays as it is."""
    create_buckets(s3)
    create_databases(glue)
    create_ontology(lakeformation)
    if source_table(glue) is not None:
        return
    columns = load_recorded(recorded_path(_FRAUD, RAW, TABLE, 7)).schema
    key = f"{TABLE}/metadata/00000-{_TABLE_UUID}.metadata.json"
    s3.put_object(Bucket=BUCKETS[RAW], Key=key, Body=json.dumps(_metadata(list(columns))).encode())
    glue.create_table(
        DatabaseName=RAW,
        TableInput={
            "Name": TABLE,
            "TableType": "EXTERNAL_TABLE",
            "StorageDescriptor": {"Location": SOURCE_LOCATION, "Columns": [_glue_column(each) for each in columns]},
            "Parameters": {"table_type": "ICEBERG", "metadata_location": f"s3://{BUCKETS[RAW]}/{key}"},
        },
    )
    _append_nothing(glue)
    register_releases(glue, {})


def _append_nothing(glue: GlueClient) -> None:
    """Version 1, which is the data in the sample lake."""
    from sandbox.lake.catalog import update_table

    table = source_table(glue)
    assert table is not None
    update_table(glue, table)


def _metadata(columns: list[Column]) -> dict[str, Any]:
    """A metadata file of format version 2 (https://iceberg.apache.org/spec/#table-metadata) without a snapshot."""
    fields = [
        {"id": column.field_id, "name": column.name, "required": not column.nullable, "type": _iceberg(column.type)}
        for column in columns
    ]
    booked_at = next(column.field_id for column in columns if column.name == "booked_at")
    return {
        "format-version": 2,
        "table-uuid": _TABLE_UUID,
        "location": SOURCE_LOCATION,
        "last-sequence-number": 0,
        "last-updated-ms": _CREATED_MS,
        "last-column-id": len(columns),
        "current-schema-id": 0,
        "schemas": [{"type": "struct", "schema-id": 0, "fields": fields}],
        "default-spec-id": 0,
        "partition-specs": [
            {
                "spec-id": 0,
                "fields": [{"name": "booked_at_day", "transform": "day", "source-id": booked_at, "field-id": 1000}],
            }
        ],
        "last-partition-id": 1000,
        "default-sort-order-id": 0,
        "sort-orders": [{"order-id": 0, "fields": []}],
        "properties": {},
        "snapshots": [],
        "snapshot-log": [],
        "metadata-log": [],
    }


def _iceberg(type_: str) -> str:
    return type_.replace(",", ", ") if type_.startswith("decimal") else _TYPES[type_]


def _glue_column(column: Column) -> Any:
    """As Iceberg's GlueCatalog writes it."""
    return {
        "Name": column.name,
        "Type": column.type,
        "Parameters": {
            "iceberg.field.current": "true",
            "iceberg.field.id": str(column.field_id),
            "iceberg.field.optional": str(column.nullable).lower(),
        },
    }


def main() -> int:
    import boto3

    try:
        require_stand_in()
    except SandboxError as error:
        print(f"sandbox: {error}", file=sys.stderr)
        return 1
    session = boto3.Session()
    lay_out(session.client("glue"), session.client("s3"), session.client("lakeformation"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
