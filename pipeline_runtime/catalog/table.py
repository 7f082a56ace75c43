"""A table as the Glue Data Catalog describes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pipeline_runtime.schema.columns import Schema

if TYPE_CHECKING:
    from pipeline_runtime.catalog.connections import JdbcEndpoint
    from pipeline_runtime.catalog.deprecation import Deprecation

__all__ = ["QUARANTINE_SUFFIX", "CatalogTable", "Partition", "PinnedSource", "TableIdentity"]

#: What is added to a target's table name and location to name its quarantine.
QUARANTINE_SUFFIX = "__quarantine"


@dataclass(frozen=True)
class TableIdentity:
    """What GetTable says the table is: never what a descriptor calls it (design decision D3)."""

    region: str
    account: str
    database: str
    table: str

    @property
    def namespace(self) -> str:
        return f"arn:aws:glue:{self.region}:{self.account}"

    @property
    def name(self) -> str:
        return f"table/{self.database}/{self.table}"

    @property
    def arn(self) -> str:
        """The ARN of the asset in the catalog; DataZone's sourceIdentifier."""
        return f"{self.namespace}:{self.name}"

    @property
    def fqn(self) -> str:
        return f"{self.database}.{self.table}"


@dataclass(frozen=True)
class CatalogTable:
    """A table's current definition.

    `version` is Glue's VersionId; `location` an s3:// prefix without a trailing slash. `partition_columns` are
    the columns partitioned by their own value; `hidden_partitions` are an Iceberg table's other partition
    fields, as text such as `day(event_time)`. `input_format` is the Hive class that reads the files, None where
    the catalog does not say.
    """

    identity: TableIdentity
    version: int
    schema: Schema
    location: str
    is_iceberg: bool
    partition_columns: tuple[str, ...] = ()
    hidden_partitions: tuple[str, ...] = ()
    metadata_location: str | None = None
    current_snapshot: int | None = None
    parameters: Mapping[str, str] = field(default_factory=dict)
    input_format: str | None = None


@dataclass(frozen=True)
class Partition:
    """A registered partition: its values as the catalog's text, in the order of the keys, None for NULL.

    `location` is an s3:// prefix without a trailing slash.
    """

    values: tuple[str | None, ...]
    location: str

    def shown(self, keys: Sequence[str]) -> str:
        """`dt=2026-08-01/country=DE`, for a message."""
        return "/".join(f"{key}={value}" for key, value in zip(keys, self.values, strict=True))


@dataclass(frozen=True)
class PinnedSource:
    """A source whose columns were compared with its pin and found the same.

    `pinned` is the reference schema that the pin names; `table` what the catalog holds now. `partitions` are
    those registered then; empty where the reader does not go by registered partitions. `jdbc` is the database
    behind a source of kind `jdbc`, None for every other kind. `deprecation` is until when the pinned version stays
    readable, None where nobody deprecated it.
    """

    table: CatalogTable
    pinned: Schema
    pinned_version: int
    published_by: str | None = None
    published_release: str | None = None
    partitions: tuple[Partition, ...] = ()
    jdbc: JdbcEndpoint | None = None
    deprecation: Deprecation | None = None
