"""The partitions that a Hive-style table has registered in the Glue Data Catalog (design decision D12).

Glue keeps a partition's values as text, in the order of the table's partition keys. They stay text here, as
the folders' names are: `01` of a string key is not 1. What they must be read as is checked, not converted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date, datetime
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from pipeline_runtime.catalog.answers import refusals_as
from pipeline_runtime.catalog.locations import normal_location
from pipeline_runtime.catalog.table import CatalogTable, Partition
from pipeline_runtime.errors import CatalogError
from pipeline_runtime.schema.columns import Schema
from pipeline_runtime.schema.type_tree import parse

if TYPE_CHECKING:
    from mypy_boto3_glue import GlueClient
    from mypy_boto3_glue.type_defs import PartitionTypeDef

__all__ = ["DEFAULT_PARTITION", "registered_partitions", "value_problem"]

#: How Hive, Spark and Athena spell NULL as a partition's value.
DEFAULT_PARTITION: Final = "__HIVE_DEFAULT_PARTITION__"

_INTEGER_BITS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
_INTEGER = re.compile(r"[+-]?\d+")
_DECIMAL = re.compile(r"[+-]?0*(?P<whole>\d*)(?:\.(?P<fraction>\d*?)0*)?")
_FLOAT = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?|[+-]?(nan|infinity)", re.IGNORECASE)
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_CLOCK = re.compile(r"\d{4}-\d{2}-\d{2}([ T]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?)?")


def registered_partitions(glue: GlueClient, table: CatalogTable) -> tuple[Partition, ...]:
    """Every partition of the table, all pages, ordered by location.

    Raises CatalogError where the role may not list them, a value does not fit its key's type, a partition has
    no location, or one partition's location lies in another's: its files would count twice.
    """
    identity = table.identity
    with refusals_as(CatalogError, f"list the partitions of {identity.fqn} in catalog {identity.account}"):
        pages = glue.get_paginator("get_partitions").paginate(
            CatalogId=identity.account,
            DatabaseName=identity.database,
            TableName=identity.table,
            # A wide table repeats its columns with every partition otherwise, and answers are cut by their size.
            ExcludeColumnSchema=True,
        )
        found = [_partition(table, entry) for page in pages for entry in page["Partitions"]]
    partitions = tuple(sorted(found, key=lambda partition: partition.location + "/"))
    _refuse_shared_folders(table, partitions)
    return partitions


def value_problem(values: Iterable[str | None], keys: Iterable[str], schema: Schema) -> str | None:
    """What is wrong with a partition's values, by the types that `schema` gives its keys; None where all fit."""
    for key, value in zip(keys, values, strict=True):
        column = schema.find(key)
        type_ = column.type if column is not None else "string"
        if value is not None and not _holds(type_, value):
            return f"{key}={value}, and {key} is {type_}"
    return None


def _partition(table: CatalogTable, entry: PartitionTypeDef) -> Partition:
    values = tuple(None if value == DEFAULT_PARTITION else value for value in entry["Values"])
    shown = f"{table.identity.fqn}: partition [{', '.join(entry['Values'])}]"
    location = normal_location(entry.get("StorageDescriptor", {}).get("Location", ""))
    if len(values) != len(table.partition_columns):
        raise CatalogError(f"{shown} has {len(values)} values for the keys {', '.join(table.partition_columns)}")
    if not location:
        raise CatalogError(f"{shown} has no location. Register it again with its prefix.")
    if problem := value_problem(values, table.partition_columns, table.schema):
        raise CatalogError(f"{shown} is registered with {problem}. Register it again with a value of that type.")
    return Partition(values, location)


def _refuse_shared_folders(table: CatalogTable, partitions: tuple[Partition, ...]) -> None:
    """Sorted by location, what lies in a folder comes right after it."""
    for one, other in pairwise(partitions):
        if (other.location + "/").startswith(one.location + "/"):
            keys = table.partition_columns
            raise CatalogError(
                f"{table.identity.fqn}: partition {other.shown(keys)} is at {other.location}, inside partition "
                f"{one.shown(keys)} at {one.location}: its rows would be read twice. Drop one, or move it."
            )


def _holds(type_: str, text: str) -> bool:
    """Whether Spark casts the text to the type without losing anything of it."""
    node = parse(type_)
    if node.kind == "decimal":
        digits, scale = node.args
        found = _DECIMAL.fullmatch(text)
        if found is None or not any(character.isdigit() for character in text):
            return False
        return len(found["whole"]) <= digits - scale and len(found["fraction"] or "") <= scale
    return node.kind in _CHECKS and _CHECKS[node.kind](text)


def _is_integer(bits: int) -> Callable[[str], bool]:
    limit = 1 << (bits - 1)
    return lambda text: _INTEGER.fullmatch(text) is not None and -limit <= int(text) < limit


def _is_moment(pattern: re.Pattern[str], read: Callable[[str], object]) -> Callable[[str], bool]:
    def check(text: str) -> bool:
        if pattern.fullmatch(text) is None:
            return False
        try:
            read(text)
        except ValueError:
            return False
        return True

    return check


def _checks() -> Iterator[tuple[str, Callable[[str], bool]]]:
    yield from ((kind, _is_integer(bits)) for kind, bits in _INTEGER_BITS.items())
    yield from ((kind, lambda _text: True) for kind in ("string", "varchar", "char"))
    yield from ((kind, lambda text: _FLOAT.fullmatch(text) is not None) for kind in ("float", "double"))
    yield "boolean", lambda text: text.lower() in ("true", "false")
    yield "date", _is_moment(_DATE, date.fromisoformat)
    yield from ((kind, _is_moment(_CLOCK, datetime.fromisoformat)) for kind in ("timestamp", "timestamp_ntz"))


_CHECKS: Mapping[str, Callable[[str], bool]] = dict(_checks())
