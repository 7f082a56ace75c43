"""The policy domain's part of the sample lake: the landing zone of claims and its table, made without an engine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from sandbox.errors import SandboxError
from sandbox.lake.catalog import update_table
from sandbox.lake.claims import CLAIMS
from sandbox.lake.landing import BAD_FILE, COMMIT_TIMESTAMP, bad_file, landed_files
from sandbox.lake.places import BUCKETS, CLAIMS_LOCATION, CLAIMS_TABLE, POLICY

if TYPE_CHECKING:
    from mypy_boto3_glue import GlueClient
    from mypy_boto3_s3 import S3Client

__all__ = ["COLUMNS", "PRODUCER", "RELEASES", "land_bad_claims", "remove_bad_claims", "seed_claims"]

PRODUCER = "policy-core"
#: The releases behind catalog versions 0 to 3; the last one added `channel`. The policy domain pins 3.
RELEASES = ("v2.0.0", "v2.1.0", "v2.2.0", "v2.3.0")

#: name -> type, in the catalog's order: the source table's columns, not those that DMS adds.
COLUMNS: Mapping[str, str] = {
    "claim_id": "string",
    "policy_id": "string",
    "claimant_id": "string",
    "claim_type": "string",
    "incident_date": "date",
    "reported_at": "timestamp",
    "amount_claimed": "decimal(12,2)",
    "amount_approved": "decimal(12,2)",
    "currency": "string",
    "status": "string",
    "adjuster_id": "bigint",
    "channel": "string",
}

_BUCKET = BUCKETS[POLICY]
_SEEDED = "sandbox.seeded"


def seed_claims(glue: GlueClient, s3: S3Client, claims: int = CLAIMS) -> bool:
    """The landing zone with `claims` submissions, and its table at version 3; False where it was there already.

    Needs the database and the bucket. Claims that do not belong there, the bad ones too, are taken away.
    """
    wanted = f"claims={claims}"
    table = _table(glue)
    if table is not None:
        if table["Parameters"].get(_SEEDED) == wanted:
            return False
        glue.delete_table(DatabaseName=POLICY, Name=CLAIMS_TABLE)
    for key in list(_keys(s3)):
        s3.delete_object(Bucket=_BUCKET, Key=key)
    for name, content in landed_files(claims).items():
        s3.put_object(Bucket=_BUCKET, Key=_key(name), Body=content)
    _register(glue, wanted)
    return True


def land_bad_claims(glue: GlueClient, s3: S3Client) -> str:
    """A further file of changes, with claims that break their rules; returns its location.

    Raises SandboxError where there is no landing zone.
    """
    if _table(glue) is None:
        raise SandboxError(f"there is no {POLICY}.{CLAIMS_TABLE}: run `python -m sandbox.stack up` first.")
    s3.put_object(Bucket=_BUCKET, Key=_key(BAD_FILE), Body=bad_file())
    return CLAIMS_LOCATION + BAD_FILE


def remove_bad_claims(s3: S3Client) -> None:
    """Takes that file away again; does nothing where it is not there."""
    s3.delete_object(Bucket=_BUCKET, Key=_key(BAD_FILE))


def _register(glue: GlueClient, seeded: str) -> None:
    """Creates the table as the first release published it, then has each further release publish it in turn.

    The last version is written last of all: where it is there, so is everything else.
    """
    before = {name: type_ for name, type_ in COLUMNS.items() if name != "channel"}
    parameters = {
        "EXTERNAL": "TRUE",
        "classification": "parquet",
        "cordata.primary_keys": "claim_id",
        "cordata.cdc_timestamp": COMMIT_TIMESTAMP,
        "cordata.published_by": PRODUCER,
    }
    first, *further = ({**parameters, "cordata.published_release": release} for release in RELEASES)
    glue.create_table(
        DatabaseName=POLICY,
        TableInput={
            "Name": CLAIMS_TABLE,
            "TableType": "EXTERNAL_TABLE",
            "Parameters": first,
            "StorageDescriptor": _storage(before),
            "PartitionKeys": [],
        },
    )
    for number, release in enumerate(further, start=1):
        is_last = number == len(further)
        table = _table(glue)
        assert table is not None
        update_table(
            glue,
            table,
            Parameters=release | ({_SEEDED: seeded} if is_last else {}),
            StorageDescriptor=_storage(COLUMNS if is_last else before),
        )


def _storage(columns: Mapping[str, str]) -> Any:
    hive = "org.apache.hadoop.hive.ql.io.parquet"
    return {
        "Columns": [{"Name": name, "Type": type_} for name, type_ in columns.items()],
        "Location": CLAIMS_LOCATION,
        "InputFormat": f"{hive}.MapredParquetInputFormat",
        "OutputFormat": f"{hive}.MapredParquetOutputFormat",
        "SerdeInfo": {"SerializationLibrary": f"{hive}.serde.ParquetHiveSerDe"},
    }


def _table(glue: GlueClient) -> dict[str, Any] | None:
    try:
        return dict(glue.get_table(DatabaseName=POLICY, Name=CLAIMS_TABLE)["Table"])
    except glue.exceptions.EntityNotFoundException:
        return None


def _keys(s3: S3Client) -> Iterator[str]:
    for page in s3.get_paginator("list_objects_v2").paginate(Bucket=_BUCKET, Prefix=_key("")):
        yield from (found["Key"] for found in page.get("Contents", []))


def _key(name: str) -> str:
    return f"{CLAIMS_TABLE}/{name}"
