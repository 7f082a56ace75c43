"""`python -m pipeline_runtime pin`: writes or bumps a descriptor's pin and records the columns that it names."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import TypeAdapter, ValidationError

from pipeline_runtime.catalog.access import CatalogAccess, open_catalog_access
from pipeline_runtime.catalog.glue import archived_schema, describe_table
from pipeline_runtime.catalog.parameters import PUBLISHED_BY, PUBLISHED_RELEASE
from pipeline_runtime.cli.descriptors import changes, replace_file, shown
from pipeline_runtime.descriptor.blocks import CatalogName, Places
from pipeline_runtime.descriptor.load import MODELS
from pipeline_runtime.descriptor.rewrite import repinned
from pipeline_runtime.descriptor.yaml_source import YamlDocument, parse_yaml, read_content
from pipeline_runtime.errors import DescriptorError, FileProblem, PinNotRetrievable, PipelineError, Problem
from pipeline_runtime.schema.diff import diff
from pipeline_runtime.schema.recorded import RecordedSchema, dump_recorded, load_recorded, recorded_path

if TYPE_CHECKING:
    from pipeline_runtime.catalog.table import CatalogTable
    from pipeline_runtime.schema.columns import Schema

__all__ = ["main"]

_NAME = TypeAdapter(CatalogName)


@dataclass(frozen=True)
class _Unpinned:
    """As much of a descriptor as pinning needs: it may be written before there is a pin."""

    path: Path
    content: bytes
    document: YamlDocument
    places: Places
    database: str
    table: str

    @property
    def domain_root(self) -> Path:
        return Path(os.path.abspath(self.path)).parents[1]  # noqa: PTH100 - a symlink's domain is where it stands

    @property
    def pin(self) -> int | None:
        """The pin that the file has now, None where it has none that makes sense."""
        value: object = self.document.data
        for key in self.places.pin:
            value = value.get(key) if isinstance(value, dict) else None
        return value if isinstance(value, int) and not isinstance(value, bool) else None


def main(argv: Sequence[str]) -> int:
    """0 where the pin is written or was so already, 1 where the catalog has no such version, 2 for a bad file."""
    try:
        options = _parser().parse_args(argv)
    except SystemExit as stop:
        return int(stop.code or 0)
    try:
        descriptor = _read(Path(options.descriptor))
        with open_catalog_access(os.environ) as catalog:
            _pin(descriptor, options.to, catalog)
    except PipelineError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    return 0


def _pin(descriptor: _Unpinned, wanted: int | None, catalog: CatalogAccess) -> None:
    table = describe_table(
        catalog.glue, catalog.s3, database=descriptor.database, table=descriptor.table, region=catalog.region
    )
    version = table.version if wanted is None else wanted
    schema = _schema_at(descriptor, table, version, catalog)
    after = repinned(descriptor.content, descriptor.places, version, descriptor.document.shown_as)
    record_path, record = _record(descriptor, table, version, schema)
    before = _before(descriptor, table, catalog)
    if after != descriptor.content:
        _say(changes(descriptor.content, after, shown(descriptor.path)))
        replace_file(descriptor.path, after)
    held = record_path.read_bytes() if record_path.exists() else b""
    if record != held:
        _say(changes(held, record, shown(record_path)))
        replace_file(record_path, record)
    if before is not None:
        for change in diff(before, schema):
            _say(str(change))
    unchanged = after == descriptor.content and record == held
    name = f"{descriptor.database}.{descriptor.table}"
    _say(f"{shown(descriptor.path)}: {name} pinned v{version}{', as it was' if unchanged else ''}, {_origin(table)}")


def _schema_of(table: CatalogTable, version: int, catalog: CatalogAccess) -> Schema:
    """The columns of that version. Raises PinNotRetrievable where the catalog does not tell them."""
    if version == table.version:
        return table.schema
    found = archived_schema(catalog.glue, catalog.s3, table.identity, version) if version < table.version else None
    if found is None:
        why = "the catalog has not reached it" if version > table.version else "its archive does not tell that version"
        raise PinNotRetrievable(
            f"{table.identity.fqn} is at v{table.version}, and v{version} cannot be pinned: {why}. Without --to, "
            f"v{table.version} is pinned."
        )
    return found


def _schema_at(descriptor: _Unpinned, table: CatalogTable, version: int, catalog: CatalogAccess) -> Schema:
    """As `_schema_of`; where the catalog has forgotten, the domain's own record counts. Raises PinNotRetrievable."""
    try:
        return _schema_of(table, version, catalog)
    except PinNotRetrievable:
        held = _recorded(descriptor, version)
        if held is None or version > table.version:
            raise
        return held


def _recorded(descriptor: _Unpinned, version: int) -> Schema | None:
    path = recorded_path(descriptor.domain_root, descriptor.database, descriptor.table, version)
    try:
        return load_recorded(path).schema if path.exists() else None
    except FileProblem:
        return None


def _before(descriptor: _Unpinned, table: CatalogTable, catalog: CatalogAccess) -> Schema | None:
    """What the pin of the file meant until now, None where there is none or nothing tells."""
    if descriptor.pin is None:
        return None
    try:
        return _recorded(descriptor, descriptor.pin) or _schema_of(table, descriptor.pin, catalog)
    except PinNotRetrievable:
        return None


def _record(descriptor: _Unpinned, table: CatalogTable, version: int, schema: Schema) -> tuple[Path, bytes]:
    """Where the columns are recorded, and the text: the file's own where it says the same already."""
    path = recorded_path(descriptor.domain_root, descriptor.database, descriptor.table, version)
    is_current = version == table.version
    recorded = RecordedSchema(
        descriptor.database,
        descriptor.table,
        version,
        schema,
        table.parameters.get(PUBLISHED_BY) if is_current else None,
        table.parameters.get(PUBLISHED_RELEASE) if is_current else None,
    )
    if path.exists():
        try:
            held = load_recorded(path, shown(path))
        except FileProblem:
            held = None
        if held is not None and tuple(held.schema) == tuple(schema):
            return path, path.read_bytes()
    return path, dump_recorded(recorded).encode()


def _origin(table: CatalogTable) -> str:
    producer, release = (table.parameters.get(key) for key in (PUBLISHED_BY, PUBLISHED_RELEASE))
    by = f", published by {producer}{f' release {release}' if release else ''}" if producer else ""
    return f"the catalog is at v{table.version}{by}"


def _read(path: Path) -> _Unpinned:
    """Raises DescriptorError for a file that does not say which table it reads, or in which version it is written."""
    name = shown(path)
    content = read_content(path, name)
    document, problems, _ = parse_yaml(content, name)
    version = document.data.get("apiVersion")
    model = MODELS.get(version.strip()) if isinstance(version, str) else None
    source = document.data.get("source")
    names = [_name(source.get(key)) for key in ("database", "table")] if isinstance(source, dict) else [None, None]
    if model is None:
        problems.append(Problem(name, document.line(("apiVersion",)), f"apiVersion: write one of {', '.join(MODELS)}"))
    if None in names:
        message = "source: database and table are needed to know what is pinned"
        problems.append(Problem(name, document.line(("source",)), message))
    if path.absolute().parent.name != "pipelines":
        problems.append(Problem(name, 0, "a descriptor lives in <domain root>/pipelines/; move it there"))
    if problems or model is None:
        raise DescriptorError(problems)
    return _Unpinned(path, content, document, model.places, str(names[0]), str(names[1]))


def _name(value: object) -> str | None:
    try:
        return _NAME.validate_python(value.strip()) if isinstance(value, str) else None
    except ValidationError:
        return None


def _say(line: str) -> None:
    print(line)  # noqa: T201


def _version(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a version of the catalog, a whole number such as 7")
    return int(text)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m pipeline_runtime pin",
        description="Write or bump a descriptor's pin to what the catalog holds now, show the difference, and record "
        "the columns in schemas/<database>.<table>.v<N>.yml of the domain. Nothing else in the descriptor changes. "
        "Review both files like any other change: they accept what the producer published.",
        epilog="exit codes: 0 pinned, 1 nothing tells that version, 2 the file or the catalog cannot be used",
        allow_abbrev=False,
    )
    parser.add_argument("descriptor", help="the descriptor, in <domain root>/pipelines/")
    parser.add_argument("--to", type=_version, metavar="N", help="another version than the current one")
    return parser
