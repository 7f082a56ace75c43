"""Finding databases and tables in the Glue Data Catalog, through resource links, or saying what comes closest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline_runtime.catalog.answers import closest, code_of, in_catalog, named, refusals_as, refused
from pipeline_runtime.errors import CatalogError, TableNotFound

if TYPE_CHECKING:
    from mypy_boto3_glue import GlueClient
    from mypy_boto3_glue.type_defs import TableTypeDef

__all__ = ["find_database", "find_table", "table_not_found"]


def find_table(
    glue: GlueClient, *, database: str, table: str, region: str, catalog_id: str | None = None
) -> TableTypeDef | None:
    """GetTable's answer, None where there is no such table. A resource link is followed to its target.

    The answer to a link of a table mixes the link's name with the target's columns, so the target is asked
    itself: its name is the table's identity. Raises CatalogError.
    """
    found = _get_table(glue, database, table, catalog_id)
    if found is None or "TargetTable" not in found:
        return found
    link = found["TargetTable"]
    owner, target = link["CatalogId"], f"{link['DatabaseName']}.{link['Name']}"
    if link.get("Region", region) != region:
        raise CatalogError(
            f"{database}.{table} is a resource link to {target} in region {link['Region']}; "
            f"this job works on the catalog of {region}. Run it in the table's region."
        )
    followed = _get_table(glue, link["DatabaseName"], link["Name"], owner)
    if followed is None:
        raise TableNotFound(
            f"{database}.{table} is a resource link to {target} in {named(owner)}, where there is no such table"
        )
    return followed


def find_database(glue: GlueClient, name: str, catalog_id: str | None = None) -> str:
    """The catalog that holds a database, a resource link's target included.

    Raises TableNotFound with the closest name of that catalog; CatalogError.
    """
    from botocore.exceptions import ClientError

    try:
        found = glue.get_database(Name=name, **in_catalog(catalog_id))["Database"]
    except ClientError as error:
        if code_of(error) != "EntityNotFoundException":
            raise CatalogError(refused(error, f"look up database {name} in {named(catalog_id)}")) from error
        raise TableNotFound(
            f"database {name} is not in {named(catalog_id)}.{closest(name, _database_names(glue, catalog_id))}"
        ) from error
    return found["TargetDatabase"]["CatalogId"] if "TargetDatabase" in found else found["CatalogId"]


def table_not_found(glue: GlueClient, database: str, table: str, catalog_id: str | None) -> TableNotFound:
    """Says what is missing, the database or the table, and what comes closest."""
    searched = find_database(glue, database, catalog_id)
    with refusals_as(TableNotFound, f"find {database}.{table} in {named(searched)}, nor list the tables there"):
        pages = glue.get_paginator("get_tables").paginate(DatabaseName=database, **in_catalog(catalog_id))
        names = [found["Name"] for page in pages for found in page["TableList"]]
    return TableNotFound(f"{database}.{table} is not in {named(searched)}.{closest(table, names)}")


def _database_names(glue: GlueClient, catalog_id: str | None) -> list[str]:
    """For a suggestion only: none where the role may not list them."""
    from botocore.exceptions import ClientError

    try:
        pages = glue.get_paginator("get_databases").paginate(**in_catalog(catalog_id))
        return [database["Name"] for page in pages for database in page["DatabaseList"]]
    except ClientError:
        return []


def _get_table(glue: GlueClient, database: str, table: str, catalog_id: str | None) -> TableTypeDef | None:
    from botocore.exceptions import ClientError

    try:
        return glue.get_table(DatabaseName=database, Name=table, **in_catalog(catalog_id))["Table"]
    except ClientError as error:
        if code_of(error) == "EntityNotFoundException":
            return None
        raise CatalogError(refused(error, f"look up {database}.{table} in {named(catalog_id)}")) from error
