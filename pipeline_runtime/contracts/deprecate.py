"""Setting until when a version of a table stays readable."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

from pipeline_runtime.catalog.deprecation import with_deprecation
from pipeline_runtime.catalog.glue import identity_of
from pipeline_runtime.catalog.lookup import find_table, table_not_found
from pipeline_runtime.catalog.parameters import DEPRECATED_AFTER, SUCCESSOR
from pipeline_runtime.catalog.update import set_parameters
from pipeline_runtime.contracts.references import connected
from pipeline_runtime.errors import CatalogError, TableNotFound, UsageError

if TYPE_CHECKING:
    from mypy_boto3_glue import GlueClient
    from mypy_boto3_glue.type_defs import TableTypeDef

__all__ = ["Deprecated", "deprecate"]


@dataclass(frozen=True)
class Deprecated:
    """`after` is None where the deprecation was taken back; `changed` is False where the catalog said so before."""

    fqn: str
    version: int
    after: date | None
    changed: bool


def deprecate(database: str, table: str, version: int, after: date | None, successor: str | None) -> Deprecated:
    """Sets, or with None takes back, the last day on which pins up to `version` hold.

    Raises TableNotFound, CatalogError for a version that the catalog has not reached, UsageError for a successor that
    is not <database>.<table>, ConfigurationError.
    """
    with connected() as clients:
        found = find_table(clients.glue, database=database, table=table, region=clients.region)
        if found is None:
            raise table_not_found(clients.glue, database, table, None)
        current = int(found["VersionId"])
        if version > current:
            raise CatalogError(f"{database}.{table} is at v{current}; there is no v{version} to deprecate")
        if successor is not None:
            _require(clients.glue, successor, clients.region)
        wanted = _wanted(found, version, after, successor)
        changed = set_parameters(clients.glue, identity_of(found, clients.region), wanted)
        return Deprecated(f"{database}.{table}", version, after, bool(changed))


def _wanted(found: TableTypeDef, version: int, after: date | None, successor: str | None) -> Mapping[str, str | None]:
    parameters = found.get("Parameters", {})
    text = with_deprecation(parameters, version, after, f"{found['DatabaseName']}.{found['Name']}")
    if text is None:
        return {DEPRECATED_AFTER: None, SUCCESSOR: None}
    return {DEPRECATED_AFTER: text} | ({SUCCESSOR: successor.lower()} if successor is not None else {})


def _require(glue: GlueClient, successor: str, region: str) -> None:
    database, _, table = successor.partition(".")
    if not database or not table:
        raise UsageError(f"--successor {successor!r} is not <database>.<table>")
    if find_table(glue, database=database, table=table, region=region) is None:
        raise TableNotFound(
            f"the successor {successor} is not in the catalog: publish it first, so that both can be read until then"
        )
