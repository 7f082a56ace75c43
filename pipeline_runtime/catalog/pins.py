"""The gate: are a source's columns still those that the pipeline was written against? (Design decision D1.)

A pin names a schema, not a counter: `schema_version: 7` means the columns that the catalog had at table
version 7. The number may have moved since without a change of columns; an Iceberg table's moves with every
append.
"""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline_runtime.catalog.answers import named
from pipeline_runtime.catalog.deprecation import Deprecation, deprecation_of, deprecation_text
from pipeline_runtime.catalog.glue import archived_schema, describe_table
from pipeline_runtime.catalog.parameters import PUBLISHED_BY, PUBLISHED_RELEASE
from pipeline_runtime.catalog.table import CatalogTable, PinnedSource
from pipeline_runtime.errors import PinAhead, PinNotRetrievable, SchemaDrift, VersionDeprecated
from pipeline_runtime.schema.diff import SchemaDiff, diff
from pipeline_runtime.schema.recorded import RecordedSchema, load_recorded, recorded_path

if TYPE_CHECKING:
    from mypy_boto3_glue import GlueClient
    from mypy_boto3_s3 import S3Client

    from pipeline_runtime.descriptor.model import Source
    from pipeline_runtime.schema.columns import Schema

__all__ = ["pin_text", "resolve_pin"]


def resolve_pin(
    source: Source,
    domain_root: Path,
    glue: GlueClient,
    s3: S3Client,
    region: str,
    catalog_id: str | None = None,
    *,
    today: date | None = None,
) -> PinnedSource:
    """The source with the schema that its pin names, once that is what the catalog holds now.

    The pinned schema is the recorded file in the domain, else the archived table version. `today` is the day in UTC
    that a deprecation is held against. Raises SchemaDrift where the columns differ, PinAhead where the catalog has
    not reached the pin, PinNotRetrievable where nothing says what it meant, VersionDeprecated where its last day is
    over, TableNotFound, CatalogError, FileProblem for a broken recorded file.
    """
    table = describe_table(glue, s3, database=source.database, table=source.table, region=region, catalog_id=catalog_id)
    if source.schema_version > table.version:
        raise PinAhead(
            f"{source.fqn} is at v{table.version}, descriptor pins v{source.schema_version}, which "
            f"{named(table.identity.account)} has not reached. Pin a version that is published; where the table was "
            "created anew its versions start again, so pin the current one."
        )
    recorded = _recorded(source, domain_root)
    pinned = recorded.schema if recorded is not None else _remembered(source, glue, s3, table)
    changes = diff(pinned, table.schema)
    if changes:
        raise _drift(source, table, changes)
    producer, release = _publisher(table)
    if producer is None and recorded is not None:
        producer, release = recorded.producer, recorded.release
    return PinnedSource(
        table=table,
        pinned=pinned,
        pinned_version=source.schema_version,
        published_by=producer,
        published_release=release,
        deprecation=_deprecation(source, table, today or datetime.now(UTC).date()),
    )


def pin_text(source: PinnedSource) -> str:
    """A pin that held, as the trace says it."""
    pinned, current = source.pinned_version, source.table.version
    if pinned == current:
        return f"pinned v{pinned}, catalog v{current}"
    return f"catalog v{current}, schema unchanged since v{pinned}"


def _deprecation(source: Source, table: CatalogTable, today: date) -> Deprecation | None:
    found = deprecation_of(table.parameters, source.schema_version, source.fqn)
    if found is not None and today > found.after:
        raise VersionDeprecated(deprecation_text(source.fqn, source.schema_version, found, over=True))
    return found


def _recorded(source: Source, domain_root: Path) -> RecordedSchema | None:
    path = recorded_path(domain_root, source.database, source.table, source.schema_version)
    return load_recorded(path, _shown(source)) if path.exists() else None


def _shown(source: Source) -> str:
    """The recorded file as messages name it: from the domain root, with forward slashes."""
    return recorded_path(Path(), source.database, source.table, source.schema_version).as_posix()


def _remembered(source: Source, glue: GlueClient, s3: S3Client, table: CatalogTable) -> Schema:
    """The pinned schema as the catalog itself still has it."""
    if source.schema_version == table.version:
        # No commit since: the current columns are, by definition, those of the pinned version.
        return table.schema
    archived = archived_schema(glue, s3, table.identity, source.schema_version)
    if archived is not None:
        return archived
    raise PinNotRetrievable(
        f"{source.fqn} is at v{table.version}; the pinned version v{source.schema_version} is not retrievable: "
        f"{_shown(source)} does not exist, and the archive of {named(table.identity.account)} does not tell "
        f"v{source.schema_version} (an Iceberg commit archives nothing, and old metadata files are cleaned up). Check "
        f"that file in as it was, or review the columns of v{table.version}, record them with "
        "`python -m pipeline_runtime pin` and pin that version."
    )


def _drift(source: Source, table: CatalogTable, changes: SchemaDiff) -> SchemaDrift:
    pinned, current = source.schema_version, table.version
    if pinned == current:
        # Then the recorded file is what is wrong: bumping to the same number would accept nothing.
        remedy = f"The recorded schema is not that of v{pinned}: record it again with `python -m pipeline_runtime pin`."
    else:
        remedy = f"Bump the pin to v{current} to accept."
    return SchemaDrift(
        f"{source.fqn} is at v{current}, descriptor pins v{pinned}. {_publication(table)}Diff: {changes}. {remedy}",
        diff=changes,
        pinned_version=pinned,
        current_version=current,
    )


def _publisher(table: CatalogTable) -> tuple[str | None, str | None]:
    """The producer and the release that published the current columns, as far as the catalog knows."""
    return table.parameters.get(PUBLISHED_BY), table.parameters.get(PUBLISHED_RELEASE)


def _publication(table: CatalogTable) -> str:
    """Who published the current version, as a sentence; empty where the catalog does not know."""
    producer, release = _publisher(table)
    if producer is None:
        return ""
    return f"v{table.version} was published by {producer}{f' release {release}' if release else ''}. "
