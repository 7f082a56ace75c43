"""The next metadata file of an Iceberg table: the same table with the proposed columns.

pyiceberg decides which change the format allows and which field ids the columns get; everything else of the metadata
file is kept as it stands, so nothing is lost that pyiceberg does not model.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from itertools import count
from typing import TYPE_CHECKING, Any

from pipeline_runtime.contracts.proposal import Proposal
from pipeline_runtime.errors import ConfigurationError, VersionRefused
from pipeline_runtime.schema.columns import Column, Schema
from pipeline_runtime.schema.diff import diff
from pipeline_runtime.schema.type_tree import Node, parse
from pipeline_runtime.schema.types import from_iceberg

if TYPE_CHECKING:
    from pyiceberg.schema import Schema as IcebergSchema
    from pyiceberg.types import IcebergType

__all__ = ["evolved"]

_NAME_MAPPING = "schema.name-mapping.default"


def evolved(metadata: Mapping[str, Any], metadata_location: str, proposal: Proposal) -> dict[str, Any] | None:
    """The metadata with the proposed columns as its current schema; None where they are that already.

    Raises VersionRefused for a change that Iceberg cannot make, ConfigurationError where pyiceberg is not installed.
    """
    before = _current(metadata)
    _refuse_what_is_needed(metadata, before, proposal)
    update = _staged(metadata, metadata_location, proposal)
    current = json.loads(update.schema().model_dump_json(by_alias=True, exclude_none=True))
    result = _columns(current["fields"])
    if (left := diff(result, proposal.schema)) or len(result) != len(proposal.schema):
        raise VersionRefused(
            f"{proposal.fqn} is an Iceberg table, and Iceberg cannot make this change: {left}. "
            "Publish the columns as a table of their own beside it."
        )
    if current["fields"] == before["fields"]:
        return None
    return _document(metadata, metadata_location, current, update)


def _current(metadata: Mapping[str, Any]) -> dict[str, Any]:
    return next(schema for schema in metadata["schemas"] if schema["schema-id"] == metadata["current-schema-id"])


def _staged(metadata: Mapping[str, Any], metadata_location: str, proposal: Proposal) -> Any:
    """pyiceberg's table metadata with the change staged; nothing is committed anywhere."""
    try:
        from pyiceberg.catalog.noop import NoopCatalog
        from pyiceberg.exceptions import ValidationError
        from pyiceberg.io import load_file_io
        from pyiceberg.table import Table
        from pyiceberg.table.metadata import TableMetadataUtil
    except ImportError:
        raise ConfigurationError(
            "an Iceberg table is evolved by pyiceberg, which is not installed: pip install 'pipeline-runtime[publish]'"
        ) from None
    table = Table(
        (proposal.database, proposal.table),
        TableMetadataUtil.parse_obj(dict(metadata)),
        metadata_location,
        load_file_io(location=metadata_location),
        NoopCatalog("staged"),
    )
    transaction = table.transaction()
    is_empty = metadata.get("current-snapshot-id") in (None, -1)
    held = {field["name"].casefold(): field["name"] for field in _current(metadata)["fields"]}
    wanted = _iceberg_schema(proposal, held)
    removed = [name for folded, name in held.items() if proposal.schema.find(folded) is None]
    try:
        # A required column has no value in rows that are there already.
        with transaction.update_schema(allow_incompatible_changes=is_empty) as update:
            for name in removed:
                update.delete_column(name)
            update.union_by_name(wanted, format_version=metadata["format-version"])
    except (ValueError, ValidationError) as error:
        raise VersionRefused(f"{proposal.fqn} is an Iceberg table, and Iceberg refuses: {error}") from error
    return transaction.table_metadata


def _refuse_what_is_needed(metadata: Mapping[str, Any], before: Mapping[str, Any], proposal: Proposal) -> None:
    """A column that the table is partitioned, sorted or identified by cannot go."""
    uses: dict[int, str] = dict.fromkeys(before.get("identifier-field-ids", ()), "is one of its identifier fields")
    for spec in metadata.get("partition-specs", ()):
        if spec["spec-id"] == metadata["default-spec-id"]:
            uses |= {field["source-id"]: "partitions it" for field in spec["fields"]}
    for order in metadata.get("sort-orders", ()):
        if order["order-id"] == metadata.get("default-sort-order-id"):
            uses |= {field["source-id"]: "sorts it" for field in order["fields"]}
    for field in before["fields"]:
        if field["id"] in uses and proposal.schema.find(field["name"]) is None:
            raise VersionRefused(
                f"{proposal.fqn}: column {field['name']} {uses[field['id']]}, so it cannot be removed from the table"
            )


def _document(metadata: Mapping[str, Any], location: str, current: dict[str, Any], update: Any) -> dict[str, Any]:
    schema = {**current, "type": "struct", "schema-id": update.current_schema_id}
    known = [each for each in metadata["schemas"] if each["schema-id"] != schema["schema-id"]]
    log = {"timestamp-ms": metadata["last-updated-ms"], "metadata-file": location}
    document: dict[str, Any] = {
        **metadata,
        "schemas": [*known, schema],
        "current-schema-id": schema["schema-id"],
        "last-column-id": update.last_column_id,
        "last-updated-ms": max(int(time.time() * 1000), metadata["last-updated-ms"]),
        "metadata-log": [*metadata.get("metadata-log", []), log],
    }
    if metadata["format-version"] == 1:
        document["schema"] = schema
    if (mapping := update.properties.get(_NAME_MAPPING)) is not None:
        document["properties"] = {**metadata.get("properties", {}), _NAME_MAPPING: mapping}
    return document


def _columns(fields: list[dict[str, Any]]) -> Schema:
    return Schema(tuple(Column(each["name"], from_iceberg(each["type"]), not each["required"]) for each in fields))


def _iceberg_schema(proposal: Proposal, held: Mapping[str, str]) -> IcebergSchema:
    """The proposed columns as Iceberg's, in the table's own spelling of names; the ids are placeholders."""
    from pyiceberg.schema import Schema as Made
    from pyiceberg.types import NestedField

    ids = count(1)
    fields = [
        NestedField(
            next(ids),
            held.get(column.name.casefold(), column.name),
            _iceberg_type(parse(column.type), ids, f"{proposal.fqn}: column {column.name}"),
            required=not column.nullable,
            doc=column.description,
        )
        for column in proposal.columns
    ]
    return Made(*fields)


def _iceberg_type(node: Node, ids: Iterator[int], where: str) -> IcebergType:
    from pyiceberg import types

    def child(position: int) -> tuple[IcebergType, bool]:
        return _iceberg_type(node.children[position].node, ids, where), node.children[position].required

    match node.kind:
        case "decimal":
            return types.DecimalType(*node.args)
        case "array":
            element, required = child(0)
            return types.ListType(next(ids), element, element_required=required)
        case "map":
            (key, _), (value, required) = child(0), child(1)
            return types.MapType(next(ids), key, next(ids), value, value_required=required)
        case "struct":
            inner = [(each.name, *child(position)) for position, each in enumerate(node.children)]
            return types.StructType(*(types.NestedField(next(ids), n, t, required=r) for n, t, r in inner))
    primitive = {
        "boolean": types.BooleanType,
        "int": types.IntegerType,
        "bigint": types.LongType,
        "float": types.FloatType,
        "double": types.DoubleType,
        "date": types.DateType,
        "timestamp": types.TimestamptzType,
        "timestamp_ntz": types.TimestampType,
        "string": types.StringType,
        "binary": types.BinaryType,
    }.get(node.kind)
    if primitive is None:
        use = {"tinyint": "int", "smallint": "int"}.get(node.kind, "string")
        raise VersionRefused(f"{where}: Iceberg has no {node.kind}; propose {use}")
    return primitive()
