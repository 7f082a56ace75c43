"""One spelling for every column type, whoever spells it: Glue, Iceberg's metadata or Spark. Pure.

Canonical types are Hive's names, so that they read like the catalog's own: `bigint`, `decimal(10,2)`,
`timestamp` (an instant) and `timestamp_ntz` (a wall clock), `struct<iban:string not null,tags:array<string>>`.
Two of Iceberg's types have no name of their own, because no engine here tells them apart when it reads:
`uuid` is `string` and `fixed[n]` is `binary`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pipeline_runtime.schema.type_tree import Child, Node, parse, render, unknown_type

__all__ = ["canonical", "fits", "from_iceberg", "from_spark", "loosened", "same", "to_spark", "widens"]

#: https://iceberg.apache.org/spec/#primitive-types; what Spark cannot read (time, *_ns, …) is left out.
_ICEBERG = {
    "boolean": "boolean",
    "int": "int",
    "long": "bigint",
    "float": "float",
    "double": "double",
    "date": "date",
    "timestamp": "timestamp_ntz",
    "timestamptz": "timestamp",
    "string": "string",
    "uuid": "string",
    "binary": "binary",
}
_INTEGERS = ("tinyint", "smallint", "int", "bigint")
_FLOATS = ("float", "double")


def canonical(text: str) -> str:
    """The canonical spelling of a type as Glue, Hive or a person writes it.

    Raises ValueError for a type that is malformed or that no engine here reads.
    """
    return render(parse(text))


def from_iceberg(type_: str | Mapping[str, Any]) -> str:
    """The canonical spelling of a type in Iceberg's table metadata (spec, appendix C).

    Raises ValueError for a type that Spark cannot read, such as `time`.
    """
    return render(_iceberg_node(type_))


def from_spark(json_value: str | Mapping[str, Any]) -> str:
    """The canonical spelling of a Spark type, given as `DataType.jsonValue()`. Raises ValueError as above."""
    return render(_spark_node(json_value))


def loosened(text: str) -> str:
    """The type without any `not null` inside: what a table should declare whose rows come from ever new queries."""
    return render(_loosened(parse(text)))


def to_spark(text: str) -> str:
    """Spark DDL of a canonical type, for casting.

    varchar and char become string: Spark casts to neither, and a frame holds neither. `not null` is left
    out: no cast can assure it.
    """
    return _ddl(parse(text))


def same(one: str, other: str) -> bool:
    """Whether two canonical types are the same, nested names compared without regard to case.

    The order of a struct's fields counts: Spark casts and unions structs by position.
    """
    return _folded(parse(one)) == _folded(parse(other))


def widens(old: str, new: str) -> bool:
    """Whether `new` differs from `old`, and only so that every old value is kept exactly.

    Integers to longer integers, float to double, more decimal precision at the same scale, a longer
    varchar, and these inside nested types.
    """
    before, after = _folded(parse(old)), _folded(parse(new))
    return before != after and _widens(before, after)


def fits(frame: str, pinned: str) -> bool:
    """Whether a frame's column of one type can be handed on as the pinned type without any loss.

    As `widens`, or the same; a frame's string fits a pinned varchar or char (a frame has no other type for
    them); nullability does not count (a frame over files never says `not null`).
    """
    return _fits(_folded(parse(frame)), _folded(parse(pinned)))


def _iceberg_node(type_: str | Mapping[str, Any]) -> Node:
    if isinstance(type_, str):
        return _iceberg_primitive(type_.strip())
    match type_.get("type"):
        case "struct":
            fields = (
                Child(field["name"], _iceberg_node(field["type"]), bool(field["required"])) for field in type_["fields"]
            )
            return Node("struct", children=tuple(fields))
        case "list":
            element = Child("element", _iceberg_node(type_["element"]), bool(type_["element-required"]))
            return Node("array", children=(element,))
        case "map":
            key = Child("key", _iceberg_node(type_["key"]))
            value = Child("value", _iceberg_node(type_["value"]), bool(type_["value-required"]))
            return Node("map", children=(key, value))
        case other:
            raise unknown_type(str(other), str(other))


def _iceberg_primitive(name: str) -> Node:
    if name in _ICEBERG:
        return Node(_ICEBERG[name])
    if re.fullmatch(r"fixed\[\d+\]", name):
        return Node("binary")
    if re.fullmatch(r"decimal\(\s*\d+\s*,\s*\d+\s*\)", name):
        return parse(name)
    raise ValueError(
        f"Iceberg type {name} is not one that Spark reads; readable: "
        f"{', '.join(_ICEBERG)}, decimal(p,s), fixed[n], struct, list, map"
    )


def _spark_node(value: str | Mapping[str, Any]) -> Node:
    if isinstance(value, str):
        return parse(value)
    match value.get("type"):
        case "struct":
            fields = (
                Child(field["name"], _spark_node(field["type"]), not field["nullable"]) for field in value["fields"]
            )
            return Node("struct", children=tuple(fields))
        case "array":
            element = Child("element", _spark_node(value["elementType"]), not value["containsNull"])
            return Node("array", children=(element,))
        case "map":
            key = Child("key", _spark_node(value["keyType"]))
            entry = Child("value", _spark_node(value["valueType"]), not value["valueContainsNull"])
            return Node("map", children=(key, entry))
        case other:
            raise unknown_type(str(other), str(other))


def _loosened(node: Node) -> Node:
    return Node(node.kind, node.args, tuple(Child(child.name, _loosened(child.node)) for child in node.children))


def _ddl(node: Node) -> str:
    if node.kind in ("varchar", "char"):
        return "string"
    if node.kind == "struct":
        return f"struct<{', '.join(_ddl_field(child) for child in node.children)}>"
    if node.children:
        return f"{node.kind}<{', '.join(_ddl(child.node) for child in node.children)}>"
    return render(node)


def _ddl_field(child: Child) -> str:
    name = child.name.replace("`", "``")
    return f"`{name}`: {_ddl(child.node)}"


def _folded(node: Node) -> Node:
    children = (Child(child.name.casefold(), _folded(child.node), child.required) for child in node.children)
    return Node(node.kind, node.args, tuple(children))


def _widens(before: Node, after: Node) -> bool:
    """Same or wider, for trees with folded names and the same nullability throughout."""
    return _leaf_widens(before, after) and (
        len(before.children) == len(after.children)
        and all(
            (old.name, old.required) == (new.name, new.required) and _widens(old.node, new.node)
            for old, new in zip(before.children, after.children, strict=True)
        )
    )


def _fits(frame: Node, pinned: Node) -> bool:
    if frame.kind == "string" and pinned.kind in ("varchar", "char"):
        return True
    return _leaf_widens(frame, pinned) and (
        len(frame.children) == len(pinned.children)
        and all(
            held.name == wanted.name and _fits(held.node, wanted.node)
            for held, wanted in zip(frame.children, pinned.children, strict=True)
        )
    )


def _leaf_widens(before: Node, after: Node) -> bool:
    for ladder in (_INTEGERS, _FLOATS):
        if before.kind in ladder and after.kind in ladder:
            return ladder.index(before.kind) <= ladder.index(after.kind)
    if before.kind == "varchar" and after.kind == "string":
        return True
    if before.kind != after.kind:
        return False
    match before.kind:
        case "decimal":
            return before.args[0] <= after.args[0] and before.args[1] == after.args[1]
        case "varchar":
            return before.args <= after.args
        case _:
            return before.args == after.args
