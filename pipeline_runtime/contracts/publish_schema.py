"""Publishing a proposed version: one UpdateTable that changes the columns and says who published them.

The version that is replaced stays in the catalog's archive, so that a pin on it can still be explained (D1), and
everything else of the table stays as it is (D5).
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from pipeline_runtime.catalog.account import job_account
from pipeline_runtime.catalog.answers import refusals_as
from pipeline_runtime.catalog.glue import described, identity_of
from pipeline_runtime.catalog.iceberg import read_document
from pipeline_runtime.catalog.locations import bucket_and_key
from pipeline_runtime.catalog.lookup import find_table, table_not_found
from pipeline_runtime.catalog.parameters import COLUMNS, PUBLISHED_BY, PUBLISHED_RELEASE
from pipeline_runtime.catalog.update import change_table
from pipeline_runtime.contracts.iceberg_evolution import evolved
from pipeline_runtime.contracts.references import Clients, connected
from pipeline_runtime.errors import CatalogError, ForeignTarget, VersionRefused
from pipeline_runtime.schema.diff import SchemaDiff, diff
from pipeline_runtime.schema.meaning import DeclaredColumn, dump_columns
from pipeline_runtime.schema.types import canonical, from_iceberg, loosened, same, widens

if TYPE_CHECKING:
    from mypy_boto3_glue.type_defs import TableInputTypeDef, TableTypeDef

    from pipeline_runtime.catalog.table import TableIdentity
    from pipeline_runtime.contracts.proposal import Proposal

__all__ = ["Published", "publish_schema"]

#: One column as Glue has it: Name, Type, Comment, Parameters.
Column = Mapping[str, Any]

_METADATA_NUMBER = re.compile(r"/(\d+)-[^/]*$")


@dataclass(frozen=True)
class Published:
    """`version` is the catalog's number; `changes` what became of the columns. `changed` is False where the catalog
    said all of it before."""

    fqn: str
    version: int
    changes: SchemaDiff
    changed: bool


def publish_schema(proposal: Proposal) -> Published:
    """Makes the proposal the table's next version, with its producer and release.

    Raises VersionRefused where the table's format cannot make the change, TableNotFound, ForeignTarget where the
    table lies in another account, CatalogConflict, CatalogError, ConfigurationError. Nothing has changed then.
    """
    with connected() as clients:
        found = _own_table(proposal, clients)
        identity = identity_of(found, clients.region)
        before = described(clients.s3, found, clients.region)
        written: list[str] = []

        def next_version(held: TableInputTypeDef) -> TableInputTypeDef:
            _forget(clients, written)
            is_iceberg = held.get("Parameters", {}).get("table_type", "").upper() == "ICEBERG"
            if is_iceberg:
                return _signed(_iceberg_version(held, proposal, identity, clients, written), proposal)
            return _signed(_hive_version(held, proposal, identity), proposal)

        version = None
        try:
            version = change_table(clients.glue, identity, next_version, f"publish {proposal.release}", archive=True)
        finally:
            if version is None:
                _forget(clients, written)
        changes = diff(before.schema, proposal.schema)
        return Published(proposal.fqn, version or before.version, changes, changed=version is not None)


def _own_table(proposal: Proposal, clients: Clients) -> TableTypeDef:
    """GetTable's answer, for a table of the caller's own account."""
    import boto3

    found = find_table(clients.glue, database=proposal.database, table=proposal.table, region=clients.region)
    if found is None:
        missing = table_not_found(clients.glue, proposal.database, proposal.table, None)
        raise type(missing)(f"{missing} A version is published on a table that exists: create it first.")
    identity = identity_of(found, clients.region)
    account = job_account(boto3.Session().client("sts", region_name=clients.region))
    if (identity.account, identity.fqn) != (account, proposal.fqn):
        raise ForeignTarget(
            f"{proposal.fqn} is {identity.fqn} in account {identity.account}, and we are {account}: a version is "
            "published by the account that owns the table"
        )
    return found


def _signed(held: TableInputTypeDef, proposal: Proposal) -> TableInputTypeDef:
    declared = [
        DeclaredColumn(
            each.name, each.type, each.nullable, each.description, each.unit, each.definition, each.classification
        )
        for each in proposal.columns
    ]
    says_more = any(
        (each.description, each.unit, each.definition, each.classification) != (None,) * 4 for each in declared
    )
    facts: Mapping[str, str | None] = {
        PUBLISHED_BY: proposal.producer,
        PUBLISHED_RELEASE: proposal.release,
        COLUMNS: dump_columns(declared) if says_more else None,
    }
    wanted = {**held.get("Parameters", {}), **facts}
    return {**held, "Parameters": {key: value for key, value in wanted.items() if value is not None}}


# -- Iceberg: a metadata file more ----------------------------------------------------------------


def _iceberg_version(
    held: TableInputTypeDef, proposal: Proposal, identity: TableIdentity, clients: Clients, written: list[str]
) -> TableInputTypeDef:
    parameters = held.get("Parameters", {})
    location = parameters.get("metadata_location")
    if location is None:
        raise CatalogError(f"{identity.fqn} calls itself an Iceberg table and has no metadata_location")
    document = evolved(read_document(clients.s3, location, identity.fqn), location, proposal)
    if document is None:
        return held
    after = _next_location(location)
    bucket, key = bucket_and_key(after)
    with refusals_as(CatalogError, f"write {after}, the next metadata file of {identity.fqn}"):
        clients.s3.put_object(Bucket=bucket, Key=key, Body=json.dumps(document).encode())
    written.append(after)
    return {
        **_with_columns(held, _glue_columns(_columns_of(held), document)),
        "Parameters": {**parameters, "metadata_location": after, "previous_metadata_location": location},
    }


def _next_location(location: str) -> str:
    """Beside the current metadata file, under the next number, as Iceberg's own catalogs name it."""
    number = _METADATA_NUMBER.search(location)
    folder = location.rpartition("/")[0]
    return f"{folder}/{int(number[1]) + 1 if number else 0:05}-{uuid.uuid4()}.metadata.json"


def _forget(clients: Clients, written: list[str]) -> None:
    """Removes metadata files that no table names: of an attempt that another writer overtook."""
    while written:
        bucket, key = bucket_and_key(written.pop())
        clients.s3.delete_object(Bucket=bucket, Key=key)


def _glue_columns(known: list[Column], document: Mapping[str, Any]) -> list[Column]:
    """Glue's own list, which is for people and crawlers: the current columns, then those that are no more."""
    current_id = document["current-schema-id"]
    fields = next(each for each in document["schemas"] if each["schema-id"] == current_id)["fields"]
    by_id = {each.get("Parameters", {}).get("iceberg.field.id"): each for each in known}
    current: list[Column] = []
    for field in fields:
        before = by_id.pop(str(field["id"]), None) or {"Name": field["name"]}
        column: Column = {
            **before,
            "Name": field["name"],
            "Type": loosened(from_iceberg(field["type"])).replace("timestamp_ntz", "timestamp"),
            "Parameters": {
                **before.get("Parameters", {}),
                "iceberg.field.id": str(field["id"]),
                "iceberg.field.optional": str(not field["required"]).lower(),
                "iceberg.field.current": "true",
            },
        }
        current.append({**column, "Comment": field["doc"]} if field.get("doc") else column)
    gone = [
        {**each, "Parameters": {**each.get("Parameters", {}), "iceberg.field.current": "false"}}
        for number, each in by_id.items()
        if number is not None
    ]
    return [*current, *gone]


# -- Hive: the columns as Glue lists them ---------------------------------------------------------


def _hive_version(held: TableInputTypeDef, proposal: Proposal, identity: TableIdentity) -> TableInputTypeDef:
    """Columns keep their place and their own definition, new ones come last: some formats read by position."""
    keys = {key["Name"].casefold(): key for key in cast("list[Column]", held.get("PartitionKeys", []))}
    wanted = {each.name.casefold(): each for each in proposal.columns}
    for folded, key in keys.items():
        if folded not in wanted or not same(_canonical(key), wanted[folded].type):
            raise VersionRefused(
                f"{identity.fqn}: {key['Name']} {key.get('Type')} is a partition key, which no version can change or "
                "leave out; publish the columns as a table of their own beside it"
            )
    columns: list[Column] = []
    for column in _columns_of(held):
        proposed = wanted.pop(column["Name"].casefold(), None)
        if proposed is None:
            continue
        before, kept = _canonical(column), same(_canonical(column), proposed.type)
        if not kept and not widens(before, proposed.type):
            raise VersionRefused(
                f"{identity.fqn}: the files that are there hold {column['Name']} as {before}, which cannot be read as "
                f"{proposed.type}; publish the columns as a table of their own beside it"
            )
        changed = column if kept else {**column, "Type": loosened(proposed.type)}
        columns.append({**changed, "Comment": proposed.description} if proposed.description else changed)
    for folded, proposed in wanted.items():
        if folded not in keys:
            added = {"Name": proposed.name.lower(), "Type": loosened(proposed.type)}
            columns.append({**added, "Comment": proposed.description} if proposed.description else added)
    return _with_columns(held, columns)


def _columns_of(held: TableInputTypeDef) -> list[Column]:
    storage = cast("dict[str, Any]", held.get("StorageDescriptor", {}))
    return list(storage.get("Columns", []))


def _with_columns(held: TableInputTypeDef, columns: list[Column]) -> TableInputTypeDef:
    storage = cast("dict[str, Any]", held.get("StorageDescriptor", {}))
    return cast("TableInputTypeDef", {**held, "StorageDescriptor": {**storage, "Columns": columns}})


def _canonical(column: Column) -> str:
    try:
        return canonical(column.get("Type", ""))
    except ValueError as error:
        raise CatalogError(f"column {column['Name']}: {error}") from error
