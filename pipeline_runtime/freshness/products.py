"""The products that promise a freshness: those that are registered in the catalog, and those that are only declared."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from pipeline_runtime.catalog import parameters
from pipeline_runtime.catalog.answers import refusals_as
from pipeline_runtime.catalog.glue import identity_of
from pipeline_runtime.catalog.table import TableIdentity
from pipeline_runtime.descriptor.duration import freshness_sla, parse_duration
from pipeline_runtime.errors import CatalogError, ConfigurationError

if TYPE_CHECKING:
    from mypy_boto3_glue import GlueClient
    from mypy_boto3_glue.type_defs import TableTypeDef

__all__ = ["Product", "declared_products", "product_of", "registered_products"]

_DECLARED = ("database", "table", "domain", "pipeline", "owner", "freshness_sla")


@dataclass(frozen=True)
class Product:
    """A table that promises a freshness.

    `sla` is the author's spelling of an ISO 8601 duration; texts that nobody registered are empty. `registered_at` is
    when the catalog got the table, None where it has none yet.
    """

    identity: TableIdentity
    domain: str
    pipeline: str
    owner: str
    sla: str
    registered_at: datetime | None = None

    @property
    def allowed_age(self) -> timedelta:
        """How old it may get. Raises CatalogError where the SLA is no duration."""
        try:
            return parse_duration(freshness_sla(self.sla))
        except ValueError as error:
            raise CatalogError(
                f"{self.identity.fqn}: the table Parameter {parameters.FRESHNESS_SLA}: {error}. The next run that "
                "publishes sets it as its descriptor says."
            ) from None

    @property
    def job(self) -> tuple[str, str]:
        """The pipeline's job in lineage: namespace and name."""
        return f"cordata.{self.domain}", self.pipeline


def registered_products(glue: GlueClient, region: str, domain: str | None = None) -> list[Product]:
    """The tables of the caller's own catalog that carry a freshness SLA, of one domain where it is named; by name.

    A resource link is another account's product, watched over there. Raises CatalogError.
    """
    found = (product_of(table, region) for table in _tables(glue))
    products = (each for each in found if each is not None and domain in (None, each.domain))
    return sorted(products, key=lambda product: product.identity.fqn)


def product_of(table: TableTypeDef, region: str) -> Product | None:
    """The product that a table is, None for one that promises nothing, and for a resource link."""
    said = table.get("Parameters", {})
    if parameters.FRESHNESS_SLA not in said or "TargetTable" in table:
        return None
    return Product(
        identity=identity_of(table, region),
        domain=said.get(parameters.DOMAIN, ""),
        pipeline=said.get(parameters.PIPELINE, ""),
        owner=said.get(parameters.OWNER, ""),
        sla=said[parameters.FRESHNESS_SLA],
        registered_at=table.get("CreateTime"),
    )


def declared_products(text: str, *, region: str, account: str) -> list[Product]:
    """The products that a deployment declares: a JSON list of objects, each with database, table, domain, pipeline,
    owner and freshness_sla. Raises ConfigurationError for anything else.
    """
    try:
        items = json.loads(text)
        return [_declared(item, region, account) for item in _listed(items)]
    except (ValueError, KeyError, TypeError) as error:
        raise ConfigurationError(
            f"CORDATA_FRESHNESS_PRODUCTS is no JSON list of objects with {', '.join(_DECLARED)} ({error})"
        ) from None


def _declared(item: Mapping[str, str], region: str, account: str) -> Product:
    given = {key: str(item[key]) for key in _DECLARED}
    identity = TableIdentity(region, account, given["database"].lower(), given["table"].lower())
    sla = freshness_sla(given["freshness_sla"])
    return Product(identity, given["domain"], given["pipeline"], given["owner"], sla)


def _listed(items: object) -> Iterable[Mapping[str, str]]:
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise TypeError("it is no list of objects")
    return items


def _tables(glue: GlueClient) -> Iterator[TableTypeDef]:
    with refusals_as(CatalogError, "list the databases and tables, to see which products promise a freshness"):
        for databases in glue.get_paginator("get_databases").paginate():
            for database in databases["DatabaseList"]:
                if "TargetDatabase" in database:
                    continue
                for tables in glue.get_paginator("get_tables").paginate(DatabaseName=database["Name"]):
                    yield from tables["TableList"]
