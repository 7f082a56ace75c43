"""A Hive-style parquet table in the Glue Data Catalog: what it says of itself, how it comes and goes."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from pipeline_runtime.catalog import parameters
from pipeline_runtime.catalog.answers import code_of, refusals_as, refused
from pipeline_runtime.catalog.glue import described
from pipeline_runtime.catalog.locations import RUNS
from pipeline_runtime.catalog.lookup import find_table
from pipeline_runtime.catalog.update import change_table
from pipeline_runtime.errors import CatalogError, OutputRefused
from pipeline_runtime.schema.columns import Column, Schema
from pipeline_runtime.schema.types import loosened
from pipeline_runtime.writers.plan import TargetPlan
from pipeline_runtime.writers.staged import WriterTools

if TYPE_CHECKING:
    from mypy_boto3_glue import GlueClient
    from mypy_boto3_glue.type_defs import TableInputTypeDef
    from mypy_boto3_s3 import S3Client

__all__ = [
    "ParquetTable",
    "check_table",
    "create_table",
    "drop_columns",
    "drop_table",
    "follow_columns",
    "open_table",
    "table_schema",
]

_PARQUET = "org.apache.hadoop.hive.ql.io.parquet"
#: No run is called so: a location at which there never is a file.
_NOTHING = "nothing"


@dataclass(frozen=True)
class ParquetTable:
    """A table as GetTable answered. `columns` are those in the files, `keys` those in the paths."""

    schema: Schema
    keys: tuple[str, ...]
    storage: Mapping[str, Any]
    parameters: Mapping[str, str]

    def with_columns(self, added: Schema) -> ParquetTable:
        """The table with these columns behind those of its files, before the keys."""
        split = len(self.schema) - len(self.keys)
        columns = self.schema.columns
        return replace(self, schema=Schema((*columns[:split], *added, *columns[split:])))

    @property
    def never_published(self) -> bool:
        """Whether a first run created the table and none has published to it yet."""
        return parameters.FIRST_RUN in self.parameters and parameters.RUN_ID not in self.parameters


def open_table(glue: GlueClient, s3: S3Client, plan: TargetPlan) -> ParquetTable | None:
    """The table as the catalog has it now, None where there is none. Raises CatalogError."""
    identity = plan.identity
    found = find_table(glue, database=identity.database, table=identity.table, region=identity.region)
    if found is None:
        return None
    return ParquetTable(
        schema=described(s3, found, identity.region).schema,
        keys=tuple(key["Name"] for key in found.get("PartitionKeys", [])),
        storage=found.get("StorageDescriptor", {}),
        parameters=found.get("Parameters", {}),
    )


def check_table(table: ParquetTable, plan: TargetPlan) -> None:
    """Raises OutputRefused for a table whose readers would not see what switching its locations publishes."""
    fqn = plan.identity.fqn
    serde = str(table.storage.get("SerdeInfo", {}).get("SerializationLibrary", ""))
    if not serde.startswith(_PARQUET):
        raise OutputRefused(
            f"{fqn} is not a parquet table: its files are read by {serde or 'an unnamed library'}. Nothing was "
            "written. Publish under another table name, or change the table first."
        )
    if table.parameters.get("projection.enabled", "").lower() == "true":
        raise OutputRefused(
            f"{fqn} has projection.enabled: Athena then computes where partitions are and never asks the catalog, "
            "in which a run publishes them. Nothing was written. Remove the parameter from the table."
        )
    held = [key.casefold() for key in table.keys]
    if held != [name.casefold() for name in plan.partition_by]:
        raise OutputRefused(
            f"{fqn}: partition_by is [{', '.join(plan.partition_by)}], the table is partitioned by "
            f"[{', '.join(table.keys)}]; the run would replace other rows than it declares. Nothing was written. "
            "Bring the two in line."
        )


def table_schema(output: Schema, plan: TargetPlan) -> Schema:
    """The columns of the table that a first run creates: lower case, partition columns last, all nullable.

    Raises OutputRefused for a wall-clock column: the catalog's one timestamp type is an instant.
    """
    wall_clocks = [column.name for column in output if "timestamp_ntz" in column.type]
    if wall_clocks:
        raise OutputRefused(
            f"{plan.identity.fqn}: {', '.join(wall_clocks)}: a parquet table's timestamp is an instant, and "
            "timestamp_ntz is a wall clock, which is none until a zone is named. Nothing was written. Use "
            "to_utc_timestamp(column, zone) in the last step, or an Iceberg target."
        )
    columns = {column.name.lower(): Column(column.name.lower(), loosened(column.type)) for column in output}
    keys = [columns.pop(name.lower()) for name in plan.partition_by]
    return Schema((*columns.values(), *keys))


def create_table(glue: GlueClient, plan: TargetPlan, schema: Schema, run_id: str) -> None:
    """Creates the table, empty, unless another run did so meanwhile. Raises CatalogError."""
    from botocore.exceptions import ClientError

    identity, partitioned = plan.identity, len(plan.partition_by)
    columns = [{"Name": column.name, "Type": column.type} for column in schema]
    split = len(columns) - partitioned
    table_input = {
        "Name": identity.table,
        "TableType": "EXTERNAL_TABLE",
        "Parameters": {"EXTERNAL": "TRUE", "classification": "parquet", parameters.FIRST_RUN: run_id},
        "PartitionKeys": columns[split:],
        "StorageDescriptor": {
            "Columns": columns[:split],
            # An unpartitioned table shows whatever is at its location, and nothing is to be seen yet.
            "Location": plan.location if partitioned else f"{plan.location}/{RUNS}/{_NOTHING}",
            "InputFormat": f"{_PARQUET}.MapredParquetInputFormat",
            "OutputFormat": f"{_PARQUET}.MapredParquetOutputFormat",
            "SerdeInfo": {
                "SerializationLibrary": f"{_PARQUET}.serde.ParquetHiveSerDe",
                "Parameters": {"serialization.format": "1"},
            },
        },
    }
    try:
        glue.create_table(
            CatalogId=identity.account,
            DatabaseName=identity.database,
            TableInput=cast("TableInputTypeDef", table_input),
        )
    except ClientError as error:
        if code_of(error) != "AlreadyExistsException":
            raise CatalogError(refused(error, f"create {identity.fqn}")) from error


def drop_table(glue: GlueClient, plan: TargetPlan) -> None:
    """Removes a table that never showed a row; one with partitions stays. Leaves files. Raises CatalogError."""
    identity = plan.identity
    address: Any = {"CatalogId": identity.account, "DatabaseName": identity.database}
    with refusals_as(CatalogError, f"remove {identity.fqn}, which holds nothing"):
        if plan.partition_by and glue.get_partitions(**address, TableName=identity.table, MaxResults=1)["Partitions"]:
            return
        glue.delete_table(**address, Name=identity.table)


def follow_columns(tools: WriterTools, plan: TargetPlan, wanted: Schema) -> Schema:
    """Adds to the table the columns of `wanted` that it lacks; returns those that it had before.

    They come behind those that the table's files have; files without them show NULL. Raises CatalogError.
    """
    table = open_table(tools.glue, tools.s3, plan)
    held = Schema(()) if table is None else table.schema
    added = [column for column in wanted if held.find(column.name) is None]

    def with_columns(definition: TableInputTypeDef) -> TableInputTypeDef:
        storage: Mapping[str, Any] = definition.get("StorageDescriptor", {})
        columns = list(storage.get("Columns", []))
        known = {column["Name"].casefold() for column in columns}
        new = [{"Name": c.name.lower(), "Type": loosened(c.type)} for c in added if c.name.casefold() not in known]
        changed = {**definition, "StorageDescriptor": {**storage, "Columns": [*columns, *new]}}
        return cast("TableInputTypeDef", changed)

    if added:
        change_table(tools.glue, plan.identity, with_columns, f"add {', '.join(column.name for column in added)}")
    return held


def drop_columns(tools: WriterTools, plan: TargetPlan, names: Collection[str]) -> None:
    """Removes columns from the table's definition; files that have them keep them. Raises CatalogError."""
    folded = {name.casefold() for name in names}

    def without(definition: TableInputTypeDef) -> TableInputTypeDef:
        storage: Mapping[str, Any] = definition.get("StorageDescriptor", {})
        kept = [column for column in storage.get("Columns", []) if column["Name"].casefold() not in folded]
        return cast("TableInputTypeDef", {**definition, "StorageDescriptor": {**storage, "Columns": kept}})

    if folded:
        change_table(tools.glue, plan.identity, without, f"remove {', '.join(sorted(folded))}")
