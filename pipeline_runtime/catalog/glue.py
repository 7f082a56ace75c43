"""Tables as the Glue Data Catalog has them now, and had them in its archive."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline_runtime.catalog.answers import code_of, named, refused
from pipeline_runtime.catalog.iceberg import MetadataGone, read_metadata
from pipeline_runtime.catalog.locations import normal_location
from pipeline_runtime.catalog.lookup import find_table, table_not_found
from pipeline_runtime.catalog.table import CatalogTable, TableIdentity
from pipeline_runtime.errors import CatalogError
from pipeline_runtime.schema.columns import Column, Schema
from pipeline_runtime.schema.types import canonical

if TYPE_CHECKING:
    from mypy_boto3_glue import GlueClient
    from mypy_boto3_glue.type_defs import ColumnOutputTypeDef, TableTypeDef
    from mypy_boto3_s3 import S3Client

__all__ = ["archived_schema", "describe_table", "described", "identity_of"]


def describe_table(
    glue: GlueClient, s3: S3Client, *, database: str, table: str, region: str, catalog_id: str | None = None
) -> CatalogTable:
    """The current definition of a table, under the identity that the catalog gives it.

    `catalog_id` is None for the job's own catalog. An Iceberg table's columns, partitions and snapshot come
    from its metadata file; other tables have Glue's columns followed by the partition keys, of unknown
    nullability. Raises TableNotFound with the catalog that was searched and the closest name; CatalogError.
    """
    found = find_table(glue, database=database, table=table, region=region, catalog_id=catalog_id)
    if found is None:
        raise table_not_found(glue, database, table, catalog_id)
    return described(s3, found, region)


def described(s3: S3Client, found: TableTypeDef, region: str) -> CatalogTable:
    """GetTable's answer as a CatalogTable. Raises CatalogError where an Iceberg table's metadata cannot be read."""
    identity = identity_of(found, region)
    parameters = found.get("Parameters", {})
    version = int(found["VersionId"])
    if parameters.get("table_type", "").upper() != "ICEBERG":
        return CatalogTable(
            identity=identity,
            version=version,
            schema=_hive_schema(found),
            location=normal_location(found.get("StorageDescriptor", {}).get("Location", "")),
            is_iceberg=False,
            partition_columns=tuple(key["Name"] for key in found.get("PartitionKeys", [])),
            parameters=parameters,
            input_format=found.get("StorageDescriptor", {}).get("InputFormat") or None,
        )
    metadata_location = parameters.get("metadata_location")
    if metadata_location is None:
        raise CatalogError(
            f"{identity.fqn} in {named(identity.account)} calls itself an Iceberg table and has no "
            "metadata_location: another writer replaced its Parameters. Register its latest metadata file again."
        )
    metadata = read_metadata(s3, metadata_location, identity.fqn)
    return CatalogTable(
        identity=identity,
        version=version,
        schema=metadata.schema,
        location=normal_location(metadata.location),
        is_iceberg=True,
        partition_columns=metadata.partition_columns,
        hidden_partitions=metadata.hidden_partitions,
        metadata_location=metadata_location,
        current_snapshot=metadata.snapshot,
        parameters=parameters,
    )


def archived_schema(glue: GlueClient, s3: S3Client, identity: TableIdentity, version: int) -> Schema | None:
    """The columns of an archived table version, None where the catalog cannot say.

    For Iceberg that is also where the version's metadata file has been cleaned up: Glue's own columns do not
    tell `timestamp` from `timestamptz`, and a reference that guesses could pass a drifted table. Raises CatalogError.
    """
    from botocore.exceptions import ClientError

    try:
        answer = glue.get_table_version(
            CatalogId=identity.account,
            DatabaseName=identity.database,
            TableName=identity.table,
            VersionId=str(version),
        )
    except ClientError as error:
        if code_of(error) == "EntityNotFoundException":
            return None
        doing = f"read version {version} of {identity.fqn} in {named(identity.account)}"
        raise CatalogError(refused(error, doing)) from error
    try:
        # The archived definition's own VersionId, CatalogId and names are optional; ours are known.
        return described(s3, {**answer["TableVersion"]["Table"], **_address(identity, version)}, identity.region).schema
    except MetadataGone:
        return None


def identity_of(found: TableTypeDef, region: str) -> TableIdentity:
    """Whose table it is, by GetTable's answer (design decision D3)."""
    return TableIdentity(region, found["CatalogId"], found["DatabaseName"], found["Name"])


def _address(identity: TableIdentity, version: int) -> TableTypeDef:
    return {
        "CatalogId": identity.account,
        "DatabaseName": identity.database,
        "Name": identity.table,
        "VersionId": str(version),
    }


def _hive_schema(found: TableTypeDef) -> Schema:
    """Glue's columns and partition keys; without those that Iceberg's catalog keeps after dropping them."""
    columns = [
        column
        for column in found.get("StorageDescriptor", {}).get("Columns", [])
        if column.get("Parameters", {}).get("iceberg.field.current") != "false"
    ]
    columns += found.get("PartitionKeys", [])
    return Schema(tuple(Column(column["Name"], _hive_type(found, column)) for column in columns))


def _hive_type(found: TableTypeDef, column: ColumnOutputTypeDef) -> str:
    try:
        return canonical(column["Type"])
    except ValueError as error:
        raise CatalogError(f"{found['DatabaseName']}.{found['Name']}: column {column['Name']}: {error}") from error
