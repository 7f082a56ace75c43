"""A table as the catalog has it now, for who reads it without a descriptor and its pin."""

from __future__ import annotations

from collections.abc import Mapping

from pipeline_runtime.catalog.account import job_account, job_region
from pipeline_runtime.catalog.glue import described
from pipeline_runtime.catalog.lookup import find_table
from pipeline_runtime.catalog.table import PinnedSource
from pipeline_runtime.errors import TableNotFound
from pipeline_runtime.readers.parquet_source import prepared

__all__ = ["current_source"]


def current_source(database: str, table: str, environ: Mapping[str, str]) -> tuple[PinnedSource, str]:
    """The table, ready to be read in its current columns, and the job's own account. Raises CatalogError."""
    import boto3

    session = boto3.Session()
    region = job_region(session, environ)
    glue = session.client("glue", region_name=region)
    found = find_table(glue, database=database, table=table, region=region)
    if found is None:
        raise TableNotFound(f"the catalog in {region} holds no such table")
    now = described(session.client("s3", region_name=region), found, region)
    source = prepared(PinnedSource(now, now.schema, now.version), "glue_table", glue)
    return source, job_account(session.client("sts", region_name=region))
