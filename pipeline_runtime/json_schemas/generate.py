"""Makes the shipped JSON Schemas, and the documentation's field tables, from the models. After a change of a model:

python -m pipeline_runtime.json_schemas.generate docs/descriptor.md
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from pipeline_runtime.contracts.proposal import Proposal
from pipeline_runtime.descriptor import v1, v2
from pipeline_runtime.json_schemas import NAMES
from pipeline_runtime.json_schemas.file_models import PinFile, SuiteFile

__all__ = ["MODELS", "field_table", "json_schema", "main", "render", "with_tables"]

MODELS: dict[str, type[BaseModel]] = {
    "descriptor.v1": v1.Descriptor,
    "descriptor.v2": v2.Descriptor,
    "suite": SuiteFile,
    "pin": PinFile,
    "proposal": Proposal,
}

_TABLE = re.compile(r"(<!-- fields: (?P<name>[\w.]+) -->\n).*?(<!-- end of fields -->\n)", re.DOTALL)


def json_schema(name: str) -> dict[str, Any]:
    """The schema of one kind of file, as an editor needs it: no titles, which only repeat the keys."""
    schema = _without_titles(MODELS[name].model_json_schema())
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": NAMES[name], **schema}


def render(name: str) -> str:
    """The shipped file's text."""
    return json.dumps(json_schema(name), indent=2, ensure_ascii=False) + "\n"


def field_table(name: str) -> str:
    """A Markdown table with a line for every field of that kind of file."""
    schema = json_schema(name)
    rows = [
        f"| `{path}` | {shape} | {required} | {text} |" for path, shape, required, text in _rows(schema, schema, "")
    ]
    return "\n".join(["| field | holds | needed | meaning |", "|---|---|---|---|", *rows]) + "\n"


def with_tables(document: str) -> str:
    """A document whose tables, between their markers, are those of the models."""
    return _TABLE.sub(lambda found: f"{found[1]}\n{field_table(found['name'])}\n{found[3]}", document)


def main(documents: Sequence[str]) -> int:
    """Writes the schemas beside this module, and the tables into the documents."""
    for name in MODELS:
        Path(__file__).with_name(f"{name}.json").write_text(render(name), "utf-8")
    for document in map(Path, documents):
        document.write_text(with_tables(document.read_text("utf-8")), "utf-8")
    return 0


def _without_titles(node: Any, *, named: bool = False) -> Any:
    """`named` is set inside `properties`, where a key is a name and not a word of JSON Schema."""
    if isinstance(node, dict):
        return {
            key: _without_titles(value, named=key in ("properties", "$defs") and not named)
            for key, value in node.items()
            if named or key != "title"
        }
    return [_without_titles(item) for item in node] if isinstance(node, list) else node


def _rows(root: Mapping[str, Any], block: Mapping[str, Any], above: str) -> Iterator[tuple[str, str, str, str]]:
    for key, found in block["properties"].items():
        field = _resolved(root, found)
        path, inside = f"{above}{key}", field
        if field.get("type") == "array":
            inside = _resolved(root, field["items"])
        yield path, _shape(root, field), "yes" if key in block.get("required", ()) else "", field.get("description", "")
        if "properties" in inside:
            yield from _rows(root, inside, f"{path}[]." if inside is not field else f"{path}.")


def _resolved(root: Mapping[str, Any], field: Mapping[str, Any]) -> dict[str, Any]:
    """The field with what it refers to; of `X or nothing`, X."""
    if "anyOf" in field:
        (given,) = (each for each in field["anyOf"] if each.get("type") != "null")
        return {**field, **_resolved(root, given)}
    if "$ref" in field:
        return {**root["$defs"][field["$ref"].rpartition("/")[2]], **field}
    return dict(field)


def _shape(root: Mapping[str, Any], field: Mapping[str, Any]) -> str:
    if "const" in field:
        return f"`{field['const']}`"
    if "enum" in field:
        return "one of " + ", ".join(f"`{value}`" for value in field["enum"])
    match field.get("type"):
        case "array":
            inside = _resolved(root, field["items"])
            return "list of blocks" if "properties" in inside else f"list of {_plural(inside)}"
        case "object":
            return "block" if "properties" in field else "text by name"
        case "integer":
            return "whole number"
        case "boolean":
            return "true or false"
        case _:
            return "text"


def _plural(field: Mapping[str, Any]) -> str:
    return {"string": "names", "integer": "whole numbers"}.get(str(field.get("type")), "values")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
