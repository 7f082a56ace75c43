"""Which expectations a suite may use, and what each takes: known without importing Great Expectations.

The table beside this module is generated from the JSON schemas that ship in the Great Expectations wheel, so
that a suite can be checked where Great Expectations is not installed. After an upgrade, regenerate it:

    python -m pipeline_runtime.quality.expectation_types
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any

__all__ = ["ExpectationType", "Kwarg", "TypeTable", "generate", "render", "type_table"]

_NAME = "expectation_types.json"
#: The table in a checkout, where it is generated.
TABLE = Path(__file__).with_name(_NAME)

#: What the executor decides, or what does not change the judgement: not for a suite to say.
NOT_FOR_SUITES = frozenset(
    {
        "batch_id",
        "catch_exceptions",
        "description",
        "id",
        "library_metadata",
        "meta",
        "metadata",
        "notes",
        "rendered_content",
        "result_format",
        "severity",
        "windows",
    }
)

_SQL_ONLY = "Great Expectations runs it on SQL databases only, not on Spark"
_OWN_SQL = "it runs SQL of its own; compute a column in a step and put an expectation on that"
_REFUSED = {"unexpected_rows_expectation": _OWN_SQL}


@dataclass(frozen=True)
class Kwarg:
    """One keyword argument. `types` are JSON types; arrays name what they hold (`array of number`).

    `date` stands for ISO text. `choices` is empty unless the value is one of a few words.
    """

    types: tuple[str, ...]
    choices: tuple[str, ...] = ()
    minimum: float | None = None
    maximum: float | None = None


@dataclass(frozen=True)
class ExpectationType:
    """What one type of expectation takes."""

    name: str
    required: tuple[str, ...]
    kwargs: Mapping[str, Kwarg]


@dataclass(frozen=True)
class TypeTable:
    """All types that Spark can run, and for the others the reason why a suite cannot use them."""

    types: Mapping[str, ExpectationType]
    refused: Mapping[str, str]


@cache
def type_table() -> TypeTable:
    """The table as shipped with this package."""
    # Not TABLE: on Glue the package is a zip.
    content = json.loads((files("pipeline_runtime.quality") / _NAME).read_text("utf-8"))
    types = {name: _read_type(name, entry) for name, entry in content["types"].items()}
    return TypeTable(MappingProxyType(types), MappingProxyType(content["refused"]))


def _read_type(name: str, entry: Mapping[str, Any]) -> ExpectationType:
    kwargs = {
        key: Kwarg(tuple(kwarg["types"]), tuple(kwarg.get("choices", ())), kwarg.get("minimum"), kwarg.get("maximum"))
        for key, kwarg in entry["kwargs"].items()
    }
    return ExpectationType(name, tuple(entry["required"]), MappingProxyType(kwargs))


def generate() -> dict[str, Any]:
    """The table's content, read from the installed wheel's schemas. Does not import Great Expectations.

    Raises ModuleNotFoundError where it is not installed.
    """
    types: dict[str, Any] = {}
    refused: dict[str, str] = {}
    for schema in _schemas():
        facts = schema["properties"]["metadata"]["properties"]
        name = facts["expectation_type"]["const"]
        if "Spark" not in facts["supported_data_sources"]["const"]:
            refused[name] = _SQL_ONLY
        elif name in _REFUSED:
            refused[name] = _REFUSED[name]
        else:
            types[name] = {
                "required": sorted(schema.get("required", [])),
                "kwargs": {
                    key: _kwarg(key, value)
                    for key, value in sorted(schema["properties"].items())
                    if key not in NOT_FOR_SUITES
                },
            }
    return {
        "great_expectations": version("great_expectations"),
        "types": dict(sorted(types.items())),
        "refused": dict(sorted(refused.items())),
    }


def _schemas() -> Iterator[dict[str, Any]]:
    spec = find_spec("great_expectations")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError("great_expectations is not installed")
    for path in sorted(Path(spec.origin).parent.joinpath("expectations", "core", "schemas").glob("*.json")):
        schema = json.loads(path.read_text("utf-8"))
        if "properties" in schema:
            yield schema


def _kwarg(name: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    alternatives = list(_alternatives(schema))
    types = dict.fromkeys(_type_name(alternative) for alternative in alternatives)
    if len(types) > 1 and name != "row_condition":
        # Beside another type an object is a reference to a run-time parameter, which suites here do not have.
        types.pop("object", None)
    entry: dict[str, Any] = {"types": list(types)}
    for alternative in alternatives:
        if "enum" in alternative:
            entry["choices"] = alternative["enum"]
        entry |= {key: alternative[key] for key in ("minimum", "maximum") if key in alternative}
    return entry


def _alternatives(schema: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    nested = schema.get("anyOf") or schema.get("oneOf")
    if nested is None:
        yield schema
        return
    for alternative in nested:
        yield from _alternatives(alternative)


def _type_name(schema: Mapping[str, Any]) -> str:
    if "$ref" in schema:
        return "object"
    if str(schema.get("format", "")).startswith("date"):
        return "date"
    name = str(schema["type"])
    items = schema.get("items")
    return f"array of {items['type']}" if name == "array" and isinstance(items, dict) and "type" in items else name


def render(content: Mapping[str, Any]) -> str:
    """The table as text, one type a line, so that an upgrade's diff can be read."""
    types = ",\n".join(f"    {json.dumps(name)}: {json.dumps(entry)}" for name, entry in content["types"].items())
    refused = ",\n".join(f"    {json.dumps(name)}: {json.dumps(why)}" for name, why in content["refused"].items())
    return (
        f'{{\n  "great_expectations": {json.dumps(content["great_expectations"])},\n'
        f'  "types": {{\n{types}\n  }},\n  "refused": {{\n{refused}\n  }}\n}}\n'
    )


if __name__ == "__main__":
    TABLE.write_text(render(generate()), "utf-8")
