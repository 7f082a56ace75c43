"""What a source of parquet files needs beside its pin, found out before an engine starts."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pipeline_runtime.catalog.partitions import registered_partitions
from pipeline_runtime.catalog.table import CatalogTable, PinnedSource
from pipeline_runtime.errors import CatalogError
from pipeline_runtime.readers.dms_parameters import check_dms

if TYPE_CHECKING:
    from mypy_boto3_glue import GlueClient

__all__ = ["prepared"]


def prepared(source: PinnedSource, kind: str, glue: GlueClient) -> PinnedSource:
    """The source as the reader of that kind needs it: for `glue_table` on parquet, with its registered partitions.

    Raises CatalogError where the table is not one that the reader can read, or its partitions are broken.
    """
    table = source.table
    if kind == "s3_parquet" and table.is_iceberg:
        raise CatalogError(
            f"{table.identity.fqn} is an Iceberg table: its folder also holds files that are no longer part of it. "
            "Read it with kind glue_table."
        )
    if kind == "dms_landing":
        check_dms(table)
    if kind not in ("glue_table", "s3_parquet", "dms_landing") or table.is_iceberg:
        return source
    _check_files_are_named(table)
    if kind != "glue_table" or not table.partition_columns:
        return source
    if table.parameters.get("projection.enabled", "").lower() == "true":
        raise CatalogError(
            f"{table.identity.fqn} computes its partitions (projection.enabled), which only Athena does, and registers "
            "none: nothing would be read. Register them, or read the prefix with kind s3_parquet."
        )
    return replace(source, partitions=registered_partitions(glue, table))


def _check_files_are_named(table: CatalogTable) -> None:
    """Parquet files under a location; a table that does not say what its files are may be that."""
    said = table.input_format or table.parameters.get("classification")
    if said and "parquet" not in said.lower():
        raise CatalogError(
            f"{table.identity.fqn} is not parquet, the catalog says {said.rpartition('.')[2]}; the executor reads "
            "Iceberg and parquet tables. Have it published as one of these."
        )
    if not table.location:
        raise CatalogError(
            f"{table.identity.fqn} has no location; a view cannot be a source. Name the table that it is made of."
        )
