"""The catalog side of the sample lake: buckets, databases, the LF-tag ontology, the producer's releases."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

from sandbox.lake.places import BUCKETS, RAW, REGION, TABLE

if TYPE_CHECKING:
    from mypy_boto3_glue import GlueClient
    from mypy_boto3_glue.type_defs import TableInputTypeDef
    from mypy_boto3_lakeformation import LakeFormationClient
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_s3.literals import BucketLocationConstraintType

__all__ = [
    "ONTOLOGY",
    "PRODUCER",
    "RELEASES",
    "create_buckets",
    "create_databases",
    "create_ontology",
    "register_releases",
    "source_table",
    "update_table",
]

PRODUCER = "card-ledger"

#: The releases behind catalog versions 2 to 7 (0 is the table's creation, 1 its data). The fraud domain pins 7.
RELEASES = ("v4.6.0", "v4.7.0", "v4.8.0", "v4.9.0", "v4.10.0", "v4.11.0")

#: Governance's vocabulary: LF-tag key -> allowed values.
ONTOLOGY: Mapping[str, Sequence[str]] = {
    "sensitivity": ("low", "medium", "high"),
    "residency": ("eu", "ch", "uk", "us"),
    "subject_type": ("customer", "employee", "merchant", "none"),
}

#: What UpdateTable takes back of what GetTable answers.
_INPUT_KEYS = frozenset(
    {"Name", "Description", "Owner", "Retention", "StorageDescriptor", "PartitionKeys", "TableType", "Parameters"}
)


def create_buckets(s3: S3Client, databases: Iterable[str] = tuple(BUCKETS)) -> None:
    """These databases' buckets, where they do not exist yet."""
    region = cast("BucketLocationConstraintType", REGION)
    for bucket in (BUCKETS[database] for database in databases):
        with suppress(s3.exceptions.BucketAlreadyExists, s3.exceptions.BucketAlreadyOwnedByYou):
            s3.create_bucket(Bucket=bucket, CreateBucketConfiguration={"LocationConstraint": region})


def create_databases(glue: GlueClient, databases: Iterable[str] = tuple(BUCKETS)) -> None:
    """These databases, where they do not exist yet; each lies in its own bucket."""
    pages = glue.get_paginator("get_databases").paginate()
    existing = {database["Name"] for page in pages for database in page["DatabaseList"]}
    for database in databases:
        if database not in existing:
            glue.create_database(DatabaseInput={"Name": database, "LocationUri": f"s3://{BUCKETS[database]}/"})


def create_ontology(lakeformation: LakeFormationClient) -> None:
    """The LF-tags and values that do not exist yet; what there is besides stays."""
    pages = lakeformation.get_paginator("list_lf_tags").paginate()
    existing = {tag["TagKey"]: tag["TagValues"] for page in pages for tag in page["LFTags"]}
    for key, values in ONTOLOGY.items():
        missing = [value for value in values if value not in existing.get(key, ())]
        if key not in existing:
            lakeformation.create_lf_tag(TagKey=key, TagValues=missing)
        elif missing:
            lakeformation.update_lf_tag(TagKey=key, TagValuesToAdd=missing)


def source_table(glue: GlueClient) -> dict[str, Any] | None:
    """The source table as GetTable answers it, None where there is none."""
    try:
        return cast("dict[str, Any]", glue.get_table(DatabaseName=RAW, Name=TABLE)["Table"])
    except glue.exceptions.EntityNotFoundException:
        return None


def update_table(glue: GlueClient, table: Mapping[str, Any], **changed: Any) -> None:
    """One UpdateTable: the table as it was read, some keys changed; the version before is archived."""
    table_input = {key: value for key, value in {**table, **changed}.items() if key in _INPUT_KEYS}
    glue.update_table(
        DatabaseName=table["DatabaseName"],
        TableInput=cast("TableInputTypeDef", table_input),
        VersionId=table["VersionId"],
    )


def register_releases(glue: GlueClient, further: Mapping[str, str]) -> None:
    """Each release in turn publishes the table; `further` Parameters come along."""
    for release in RELEASES:
        table = source_table(glue)
        assert table is not None
        facts = {"cordata.published_by": PRODUCER, "cordata.published_release": release}
        update_table(glue, table, Parameters={**table["Parameters"], **facts, **further})
