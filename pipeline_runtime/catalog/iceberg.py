"""An Iceberg table's metadata file: the truth about its columns, which Glue's own list only resembles.

Glue keeps dropped columns, shows `timestamp` and `timestamptz` alike and loses nested nullability (design
decision D1). The layout is that of the Iceberg table specification, format versions 1 to 3.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pipeline_runtime.catalog.answers import code_of, refused
from pipeline_runtime.catalog.locations import bucket_and_key
from pipeline_runtime.errors import CatalogError
from pipeline_runtime.schema.columns import Column, Schema
from pipeline_runtime.schema.types import from_iceberg

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

__all__ = ["IcebergMetadata", "MetadataGone", "read_document", "read_metadata"]

_GZIP_MAGIC = b"\x1f\x8b"


class MetadataGone(CatalogError):
    """The metadata file that a table definition names is no longer there."""


@dataclass(frozen=True)
class IcebergMetadata:
    """What we need of one metadata file.

    `partition_columns` are those partitioned by their own value; `hidden_partitions` the transforms among the
    partition fields, e.g. `day(event_time)`. `snapshot` is None where nothing was ever written.
    """

    schema: Schema
    location: str
    snapshot: int | None
    partition_columns: tuple[str, ...]
    hidden_partitions: tuple[str, ...]


def read_metadata(s3: S3Client, metadata_location: str, table: str) -> IcebergMetadata:
    """The metadata file at `metadata_location`, plain or gzipped; `table` names it in errors.

    Raises MetadataGone, CatalogError.
    """
    document = read_document(s3, metadata_location, table)
    try:
        return _parsed(document, table)
    except (KeyError, TypeError, StopIteration) as error:
        raise _no_metadata_file(metadata_location, table, error) from error


def read_document(s3: S3Client, metadata_location: str, table: str) -> dict[str, Any]:
    """The metadata file as it stands, in the specification's own layout. Raises MetadataGone, CatalogError."""
    try:
        document = json.loads(_text(_bytes(s3, metadata_location, table)))
        return dict(document)
    except (OSError, EOFError, ValueError, TypeError) as error:
        raise _no_metadata_file(metadata_location, table, error) from error


def _no_metadata_file(metadata_location: str, table: str, error: Exception) -> CatalogError:
    return CatalogError(
        f"{table}: {metadata_location} is not an Iceberg metadata file ({type(error).__name__}: {error})"
    )


def _bytes(s3: S3Client, metadata_location: str, table: str) -> bytes:
    from botocore.exceptions import ClientError

    bucket, key = bucket_and_key(metadata_location)
    try:
        return s3.get_object(Bucket=bucket, Key=key)["Body"].read()
    except ClientError as error:
        if code_of(error) in ("NoSuchKey", "NoSuchBucket"):
            raise MetadataGone(
                f"{table}: the catalog names {metadata_location} as its metadata file, which does not exist"
            ) from error
        raise CatalogError(refused(error, f"read {metadata_location}, the metadata file of {table}")) from error


def _text(content: bytes) -> bytes:
    """Unzipped where it is gzip: writers name such files both `.gz.metadata.json` and `.metadata.json.gz`."""
    return gzip.decompress(content) if content.startswith(_GZIP_MAGIC) else content


def _parsed(metadata: Mapping[str, Any], table: str) -> IcebergMetadata:
    schema = _current_schema(metadata)
    names = dict(_names(schema["fields"]))
    partitions = [(field["transform"], names[field["source-id"]]) for field in _partition_fields(metadata)]
    snapshot = metadata.get("current-snapshot-id")
    return IcebergMetadata(
        schema=Schema(tuple(_column(field, table) for field in schema["fields"])),
        location=metadata["location"],
        # Format version 1 writes -1 for "no snapshot".
        snapshot=snapshot if snapshot is not None and snapshot >= 0 else None,
        partition_columns=tuple(name for transform, name in partitions if transform == "identity"),
        # `void` is what is left of a partition field that was dropped in format version 1.
        hidden_partitions=tuple(
            f"{transform}({name})" for transform, name in partitions if transform not in ("identity", "void")
        ),
    )


def _column(field: Mapping[str, Any], table: str) -> Column:
    try:
        type_ = from_iceberg(field["type"])
    except ValueError as error:
        raise CatalogError(f"{table}: column {field['name']}: {error}") from error
    return Column(field["name"], type_, nullable=not field["required"], field_id=field["id"])


def _current_schema(metadata: Mapping[str, Any]) -> Any:
    """The schema in force; `schemas` is optional in format version 1, which has a single `schema` as well."""
    if "schemas" not in metadata:
        return metadata["schema"]
    current = metadata["current-schema-id"]
    return next(schema for schema in metadata["schemas"] if schema["schema-id"] == current)


def _partition_fields(metadata: Mapping[str, Any]) -> Any:
    if "partition-specs" not in metadata:
        return metadata["partition-spec"]
    current = metadata["default-spec-id"]
    return next(spec["fields"] for spec in metadata["partition-specs"] if spec["spec-id"] == current)


def _names(fields: list[Mapping[str, Any]], parents: str = "") -> Iterator[tuple[int, str]]:
    """Field id and dotted name of each field, those of structs included: a partition may stand on one."""
    for field in fields:
        yield field["id"], parents + field["name"]
        if isinstance(field["type"], dict) and field["type"]["type"] == "struct":
            yield from _names(field["type"]["fields"], f"{parents}{field['name']}.")
