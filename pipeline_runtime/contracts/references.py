"""What a consumer's pin means, and what the catalog knows about the table (design decision D1)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline_runtime.errors import ConfigurationError, FileProblem, Problem, TableNotFound
from pipeline_runtime.schema.recorded import load_recorded, recorded_path

if TYPE_CHECKING:
    from mypy_boto3_glue import GlueClient
    from mypy_boto3_s3 import S3Client

    from pipeline_runtime.catalog.table import CatalogTable
    from pipeline_runtime.contracts.declared import Declared
    from pipeline_runtime.schema.columns import Schema

__all__ = [
    "CatalogFacts",
    "CatalogView",
    "Clients",
    "Reference",
    "UnknownPin",
    "connected",
    "is_recorded",
    "open_catalog",
    "reference_of",
]


@dataclass(frozen=True)
class CatalogView:
    """The proposed table in the catalog: as it is now, None where there is none, and as its archive tells it."""

    table: CatalogTable | None
    archived: Callable[[int], Schema | None]

    @property
    def version(self) -> int | None:
        return None if self.table is None else self.table.version

    def facts(self, pins: Iterable[int]) -> CatalogFacts:
        """What judging consumers with these pins needs. Raises CatalogError where the catalog does not answer."""
        if self.table is None:
            return CatalogFacts(None, {}, {})
        current = self.table.version
        schemas = {
            pin: self.table.schema if pin == current else self.archived(pin) for pin in set(pins) if pin <= current
        }
        return CatalogFacts(current, schemas, dict(self.table.parameters))


@dataclass(frozen=True)
class CatalogFacts:
    """What the catalog said: the current version, None where it has no such table; columns by version, None where the
    archive cannot tell; the table's Parameters."""

    version: int | None
    schemas: Mapping[int, Schema | None]
    parameters: Mapping[str, str]


@dataclass(frozen=True)
class Reference:
    """The columns that a pin names."""

    schema: Schema


@dataclass(frozen=True)
class UnknownPin:
    """Why nobody can say what a pin means. `problems` are those of a recorded file that is there and wrong."""

    reason: str
    problems: tuple[Problem, ...] = ()


def is_recorded(consumer: Declared) -> bool:
    """Whether the domain has a recorded file for the pin."""
    return _recorded_path(consumer).exists()


def reference_of(consumer: Declared, catalog: CatalogFacts | None) -> Reference | UnknownPin:
    """The columns that the consumer was written against: its recorded file, else the archived version.

    Without a catalog the recorded file is all there is.
    """
    ahead = _ahead(consumer, catalog)
    if ahead is not None:
        return ahead
    shown = recorded_path(consumer.shown_root, consumer.database, consumer.table, consumer.pin).as_posix()
    if is_recorded(consumer):
        path = _recorded_path(consumer)
        return _recorded(path, shown, path.stat().st_mtime_ns)
    if catalog is None:
        return UnknownPin(f"{shown} does not exist, and the catalog was not asked")
    schema = catalog.schemas.get(consumer.pin)
    if schema is None:
        return UnknownPin(f"{shown} does not exist, and the catalog's archive does not tell v{consumer.pin}")
    return Reference(schema)


def _recorded_path(consumer: Declared) -> Path:
    return recorded_path(consumer.domain_root, consumer.database, consumer.table, consumer.pin)


@lru_cache(maxsize=64)
def _recorded(path: Path, shown: str, _changed: int) -> Reference | UnknownPin:
    """Remembered until the file changes, for the consumers of one domain share it."""
    try:
        return Reference(load_recorded(path, shown).schema)
    except FileProblem as error:
        return UnknownPin(f"{shown} cannot be read", error.problems)


def _ahead(consumer: Declared, catalog: CatalogFacts | None) -> UnknownPin | None:
    if catalog is None:
        return None
    if catalog.version is None:
        return UnknownPin("the catalog has no such table")
    if consumer.pin > catalog.version:
        return UnknownPin(f"the catalog has not reached v{consumer.pin}; it is at v{catalog.version}")
    return None


@dataclass(frozen=True)
class Clients:
    """The catalog, the store that holds Iceberg's metadata files, and their region."""

    glue: GlueClient
    s3: S3Client
    region: str


@contextmanager
def connected() -> Iterator[Clients]:
    """Clients for the credentials and the region that the environment names.

    Inside the block a catalog that cannot be reached is a ConfigurationError, as are missing credentials or region.
    """
    import boto3
    from botocore.exceptions import BotoCoreError

    from pipeline_runtime.catalog.account import job_region

    try:
        session = boto3.Session()
        region = job_region(session)
        glue, s3 = session.client("glue", region_name=region), session.client("s3", region_name=region)
        yield Clients(glue, s3, region)
    except BotoCoreError as error:
        raise ConfigurationError(f"the catalog cannot be asked: {error}") from error


def open_catalog(database: str, table: str, catalog_id: str | None = None) -> CatalogView:
    """The table in the Glue Data Catalog that the environment's credentials and region lead to.

    A table that does not exist yet is an answer. Raises CatalogError, ConfigurationError.
    """
    from pipeline_runtime.catalog.glue import archived_schema, describe_table

    with connected() as clients:
        glue, s3, region = clients.glue, clients.s3, clients.region
        try:
            found = describe_table(glue, s3, database=database, table=table, region=region, catalog_id=catalog_id)
        except TableNotFound:
            return CatalogView(None, lambda _version: None)

    def archived(version: int) -> Schema | None:
        with connected() as again:
            return archived_schema(again.glue, again.s3, found.identity, version)

    return CatalogView(found, archived)
