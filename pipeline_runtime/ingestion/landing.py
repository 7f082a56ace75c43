"""The Glue tables over the landed files: found by their location, and marked with the run that landed a batch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipeline_runtime.catalog.answers import in_catalog, refusals_as
from pipeline_runtime.catalog.lookup import find_database
from pipeline_runtime.catalog.parameters import REPLICATION_RUN
from pipeline_runtime.catalog.table import TableIdentity
from pipeline_runtime.catalog.update import set_parameters
from pipeline_runtime.errors import CatalogError, PipelineError

if TYPE_CHECKING:
    from mypy_boto3_glue import GlueClient

__all__ = ["Marked", "landing_tables", "mark"]


def landing_tables(glue: GlueClient, databases: Iterable[str], region: str) -> dict[str, TableIdentity]:
    """The tables of these databases by their s3:// location, without a slash at its end.

    Raises TableNotFound for an unknown database, CatalogError.
    """
    found: dict[str, TableIdentity] = {}
    for database in databases:
        catalog = find_database(glue, database)
        with refusals_as(CatalogError, f"list the tables of {database}"):
            pages = glue.get_paginator("get_tables").paginate(DatabaseName=database, **in_catalog(catalog))
            tables = [table for page in pages for table in page["TableList"]]
        for table in tables:
            location = table.get("StorageDescriptor", {}).get("Location", "").rstrip("/")
            if location:
                identity = TableIdentity(region, table.get("CatalogId", catalog), table["DatabaseName"], table["Name"])
                found[location] = identity
    return found


@dataclass(frozen=True)
class Marked:
    """Tables that were marked, and what their Parameters held before."""

    glue: GlueClient
    before: Mapping[TableIdentity, Mapping[str, str | None]]

    def undo(self) -> None:
        """Puts back what was there. Raises CatalogError."""
        for identity, parameters in self.before.items():
            set_parameters(self.glue, identity, parameters)


def mark(glue: GlueClient, tables: Iterable[TableIdentity], run_id: str) -> Marked:
    """Names the run on every table, or on none. Raises CatalogError."""
    before: dict[TableIdentity, Mapping[str, str | None]] = {}
    marked = Marked(glue, before)
    try:
        for identity in tables:
            before[identity] = set_parameters(glue, identity, {REPLICATION_RUN: run_id})
    except PipelineError:
        marked.undo()
        raise
    return marked
