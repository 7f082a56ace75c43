"""Recorded schemas: what a pinned version of a table looked like, kept in the domain's own repository.

`schemas/<database>.<table>.v<N>.yml` is the reference of every pin on that version (design decision D1):
the catalog itself forgets, because Iceberg's commits are not archived.

    database: fraud_raw
    table: transactions
    schema_version: 7
    producer: card-ledger
    release: v4.11.2
    columns:
      - {name: transaction_id, type: string, nullable: false, field_id: 1}
      - {name: amount, type: "decimal(10,2)", nullable: true, field_id: 2}

`producer` and `release` are optional, and so are a column's `nullable` and `field_id`: Hive-style tables
state neither.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pipeline_runtime.descriptor.yaml_source import YamlDocument, YamlPath, dotted, load_yaml
from pipeline_runtime.errors import DescriptorError, FileProblem, Problem
from pipeline_runtime.schema.columns import Column, Schema
from pipeline_runtime.schema.types import canonical

__all__ = ["RecordedSchema", "dump_recorded", "load_recorded", "recorded_path"]

_KEYS = {"database": True, "table": True, "schema_version": True, "producer": False, "release": False, "columns": True}
_COLUMN_KEYS = {"name": True, "type": True, "nullable": False, "field_id": False}
#: Words that every YAML reader takes for the text they are; anything else is quoted.
_WORD = re.compile(r"(?!(?:true|false|yes|no|on|off|null|[yn])$)[a-z_][a-z0-9_-]*", re.IGNORECASE)


@dataclass(frozen=True)
class RecordedSchema:
    """The columns of `<database>.<table>` at catalog version `version`, and the release that published them."""

    database: str
    table: str
    version: int
    schema: Schema
    producer: str | None = None
    release: str | None = None


def recorded_path(domain_root: Path, database: str, table: str, version: int) -> Path:
    """Where the recorded schema of that version lives, whether or not it exists."""
    return domain_root / "schemas" / f"{database}.{table}.v{version}.yml"


def load_recorded(path: Path, shown_as: str | None = None) -> RecordedSchema:
    """The recorded schema in the file at `path`; `shown_as` is how messages name the file.

    Raises FileProblem with every problem of the file, among them that its name says another table or
    version than its content.
    """
    try:
        document = load_yaml(path, shown_as)
    except DescriptorError as error:
        raise FileProblem(error.problems) from None
    return _Check(document).recorded(path.name)


def dump_recorded(recorded: RecordedSchema) -> str:
    """The file's text: the same bytes for the same schema, one line a column."""
    head: dict[str, object] = {
        "database": recorded.database,
        "table": recorded.table,
        "schema_version": recorded.version,
        "producer": recorded.producer,
        "release": recorded.release,
    }
    lines = [f"{key}: {_scalar(value)}" for key, value in head.items() if value is not None]
    return "\n".join([*lines, "columns:", *(f"  - {{{_column_line(column)}}}" for column in recorded.schema)]) + "\n"


def _column_line(column: Column) -> str:
    facts = {"name": column.name, "type": column.type, "nullable": column.nullable, "field_id": column.field_id}
    return ", ".join(f"{key}: {_scalar(value)}" for key, value in facts.items() if value is not None)


def _scalar(value: object) -> str:
    if isinstance(value, str):
        return value if _WORD.fullmatch(value) else f'"{"".join(map(_escaped, value))}"'
    return str(value).lower()


def _escaped(character: str) -> str:
    if character in '\\"':
        return "\\" + character
    # Line separators and control characters mean something else, or nothing, where they stand unescaped.
    return character if character.isprintable() else f"\\U{ord(character):08x}"


class _Check:
    """Reads one document and collects what is wrong with it."""

    def __init__(self, document: YamlDocument) -> None:
        self.document = document
        self.problems: list[Problem] = []

    def recorded(self, file_name: str) -> RecordedSchema:
        data = self.document.data
        self._keys(data, _KEYS, ())
        database, table = self._text(data, ("database",)), self._text(data, ("table",))
        version = self._number(data, ("schema_version",))
        optional = {key: self._text(data, (key,)) for key in ("producer", "release") if key in data}
        columns = tuple(self._columns(data.get("columns", [])))
        self._each_once(columns)
        if not self.problems and file_name != recorded_path(Path(), database, table, version).name:
            self._problem((), f"is named {file_name} and records {database}.{table} at version {version}")
        if self.problems:
            raise FileProblem(self.problems)
        return RecordedSchema(database, table, version, Schema(columns), **optional)

    def _columns(self, items: object) -> Iterator[Column]:
        if not isinstance(items, list) or (not items and "columns" in self.document.data):
            self._problem(("columns",), "a list of columns is expected, at least one")
            return
        for position, item in enumerate(items):
            path: YamlPath = ("columns", position)
            if isinstance(item, dict):
                yield self._column(item, path)
            else:
                self._problem(path, "a mapping with name and type is expected")

    def _column(self, item: dict[str, object], path: YamlPath) -> Column:
        self._keys(item, _COLUMN_KEYS, path)
        name = self._text(item, (*path, "name"))
        type_ = self._type(self._text(item, (*path, "type")), (*path, "type"))
        nullable = item.get("nullable")
        if not isinstance(nullable, bool | None) or (nullable is None and "nullable" in item):
            self._problem((*path, "nullable"), "true or false is expected; leave it out where the catalog does not say")
            nullable = None
        field_id = self._number(item, (*path, "field_id")) if "field_id" in item else None
        return Column(name, type_, nullable, field_id)

    def _type(self, text: str, path: YamlPath) -> str:
        try:
            return canonical(text) if text else text
        except ValueError as error:
            self._problem(path, str(error))
            return text

    def _each_once(self, columns: tuple[Column, ...]) -> None:
        names: set[str] = set()
        ids: set[int | None] = set()
        for position, column in enumerate(columns):
            if column.name and column.name.casefold() in names:
                self._problem(("columns", position), f"column {column.name} is recorded twice (case does not count)")
            if column.field_id is not None and column.field_id in ids:
                self._problem(("columns", position), f"field id {column.field_id} is recorded twice")
            names.add(column.name.casefold())
            ids.add(column.field_id)

    def _keys(self, data: dict[str, object], known: dict[str, bool], path: YamlPath) -> None:
        for key in data.keys() - known.keys():
            near = difflib.get_close_matches(key, known, n=1)
            hint = f"did you mean {near[0]}?" if near else f"known keys: {', '.join(known)}"
            self._problem((*path, key), f"unknown key; {hint}")
        for key, required in known.items():
            if required and key not in data:
                self._problem((*path, key), "is missing")

    def _text(self, data: dict[str, object], path: YamlPath) -> str:
        """The text at the path's last key; empty where there is none, which is reported."""
        key = path[-1]
        value = data.get(str(key))
        if key in data and not (isinstance(value, str) and value):
            self._problem(path, "text is expected; put it in quotes")
        return value if isinstance(value, str) else ""

    def _number(self, data: dict[str, object], path: YamlPath) -> int:
        key = path[-1]
        value = data.get(str(key))
        if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
            return value
        if key in data:
            self._problem(path, "a whole number is expected, 0 or more")
        return 0

    def _problem(self, path: YamlPath, message: str) -> None:
        where = f"{dotted(path)}: " if path else ""
        line = self.document.line(path) if path else 0
        self.problems.append(Problem(self.document.shown_as, line, where + message))
