"""What a target is before anything is written: whose it is, what is there already, and what its location could hit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from pipeline_runtime.catalog.answers import is_denied, named, refusals_as, refused
from pipeline_runtime.catalog.glue import described, identity_of
from pipeline_runtime.catalog.locations import normal_location, overlap, table_root
from pipeline_runtime.catalog.lookup import find_database, find_table
from pipeline_runtime.catalog.table import QUARANTINE_SUFFIX, CatalogTable, TableIdentity
from pipeline_runtime.descriptor.location import location_problem
from pipeline_runtime.errors import CatalogError, ForeignTarget, LocationRefused

if TYPE_CHECKING:
    from mypy_boto3_glue import GlueClient
    from mypy_boto3_glue.type_defs import TableTypeDef
    from mypy_boto3_s3 import S3Client

    from pipeline_runtime.descriptor.blocks import Target

__all__ = ["check_location", "inspect_target"]


def inspect_target(target: Target, glue: GlueClient, s3: S3Client, *, region: str, account: str) -> CatalogTable | None:
    """The table that a target names, None where the first run will create it.

    `account` is the job's own. Raises TableNotFound where the database does not exist; ForeignTarget where the
    target is reached through a link into another account's catalog; CatalogError where the existing table is of
    another kind, partitioned otherwise or elsewhere than the descriptor says.
    """
    owner = find_database(glue, target.database)
    if owner != account:
        raise _foreign(f"database {target.database}", owner, account)
    found = find_table(glue, database=target.database, table=target.table, region=region)
    if found is None:
        return None
    identity = identity_of(found, region)
    if identity.account != account:
        raise _foreign(f"{target.fqn}, which is {identity.fqn},", identity.account, account)
    existing = described(s3, found, region)
    _check_kind(target, existing)
    _check_partitions(target, existing)
    _check_place(target, existing)
    return existing


def check_location(location: str, target: TableIdentity, source: CatalogTable | None, glue: GlueClient) -> None:
    """Raises LocationRefused for a location at which writing the target could destroy something else.

    That is one that no table should have (empty, a bucket's root, climbing), and one that lies in or around
    the source's location or that of any other table of the job's catalog. The same goes for the quarantine
    beside it. A table that this role may not see cannot be looked at.
    """
    problem = location_problem(location)
    if problem is not None:
        raise LocationRefused(f"{target.fqn}: location {problem}")
    if source is not None:
        _refuse_overlap(location, target, f"the source {source.identity.fqn}", table_root(source.location))
    own = (target, replace(target, table=target.table + QUARANTINE_SUFFIX))
    for found in _tables(glue):
        place = found.get("StorageDescriptor", {}).get("Location", "")
        holder = _holder(found, target.region)
        if place and holder not in own:
            _refuse_overlap(location, target, holder.fqn, table_root(place))


def _foreign(subject: str, owner: str, account: str) -> ForeignTarget:
    return ForeignTarget(
        f"{subject} lives in {named(owner)}, the job runs in account {account}. Writing through a resource link "
        "would change its owner's table: name a target in the job's own account, and let the owner's pipeline read it."
    )


def _check_kind(target: Target, existing: CatalogTable) -> None:
    if existing.is_iceberg == (target.kind == "iceberg"):
        return
    is_now = "an Iceberg table" if existing.is_iceberg else "not an Iceberg table"
    raise CatalogError(
        f"{target.fqn} is {is_now}, the descriptor's target kind is {target.kind}. "
        "Change the kind, or publish under another table name."
    )


def _check_partitions(target: Target, existing: CatalogTable) -> None:
    declared = list(target.partition_by)
    actual = [column.lower() for column in existing.partition_columns] + list(existing.hidden_partitions)
    if declared != actual:
        raise CatalogError(
            f"{target.fqn} is partitioned by [{', '.join(actual)}], the descriptor says partition_by: "
            f"[{', '.join(declared)}]. Say what the table is, or publish under another table name."
        )


def _check_place(target: Target, existing: CatalogTable) -> None:
    declared = normal_location(target.location)
    if declared != table_root(existing.location):
        raise CatalogError(
            f"{target.fqn} is at {table_root(existing.location)}, the descriptor says location: {declared}. "
            "Say where the table is, or publish under another table name."
        )


def _refuse_overlap(location: str, target: TableIdentity, other: str, place: str) -> None:
    for ours, what in ((location, "location"), (normal_location(location) + QUARANTINE_SUFFIX, "quarantine")):
        if overlap(ours, place):
            raise LocationRefused(
                f"{target.fqn}: its {what} {normal_location(ours)} lies in or around {normal_location(place)}, "
                f"which holds {other}. Give the target a prefix of its own."
            )


def _tables(glue: GlueClient) -> Iterator[TableTypeDef]:
    """Every table of the job's catalog that the role may see, database by database."""
    from botocore.exceptions import ClientError

    with refusals_as(CatalogError, "list the databases, to see that the location holds no other table"):
        pages = glue.get_paginator("get_databases").paginate()
        databases = [database["Name"] for page in pages for database in page["DatabaseList"]]
    for database in databases:
        try:
            for page in glue.get_paginator("get_tables").paginate(DatabaseName=database):
                yield from page["TableList"]
        except ClientError as error:
            # A job's role often sees its own databases only; the bucket's policy guards the others.
            if not is_denied(error):
                raise CatalogError(refused(error, f"list the tables of {database}")) from error


def _holder(found: TableTypeDef, region: str) -> TableIdentity:
    """Whose location an entry of GetTables shows: for a resource link, its target's."""
    link = found.get("TargetTable")
    if link is None:
        return identity_of(found, region)
    return TableIdentity(link.get("Region", region), link["CatalogId"], link["DatabaseName"], link["Name"])
