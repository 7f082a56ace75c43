"""The shipped JSON Schemas and the field tables are those of the models, and fit the files that people write."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from pipeline_runtime.cli import main
from pipeline_runtime.json_schemas import NAMES, schema_text
from pipeline_runtime.json_schemas.generate import MODELS, field_table, render, with_tables

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = sorted(
    file
    for folder in ("*/pipelines", "*/expectations", "*/schemas", "proposals")
    for file in ROOT.glob(f"domains/{folder}/*.yml")
)
HEADER = re.compile(r"^# yaml-language-server: \$schema=(\S+)$", re.MULTILINE)


def properties(node: Any, path: str = "") -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Every property of a schema, with the definition it refers to."""
    if isinstance(node, dict):
        for name, field in node.get("properties", {}).items() if isinstance(node.get("properties"), dict) else ():
            yield f"{path}.{name}", field, node
        for key, value in node.items():
            yield from properties(value, f"{path}.{key}")


def test_every_kind_of_file_has_its_schema():
    assert set(MODELS) == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_the_shipped_schema_is_that_of_the_model(name):
    assert schema_text(name) == render(name), "run python -m pipeline_runtime.json_schemas.generate docs/descriptor.md"
    Draft202012Validator.check_schema(json.loads(schema_text(name)))


@pytest.mark.parametrize("name", NAMES)
def test_every_field_says_what_it_means(name):
    schema = json.loads(schema_text(name))
    fields = list(properties(schema))
    assert fields
    for path, field, _ in fields:
        meant = schema["$defs"][field["$ref"].rpartition("/")[2]] if "$ref" in field else {}
        text = field.get("description") or meant.get("description")
        assert text, f"{name}: {path} has no description"
        assert text.endswith("."), f"{name}: {path}: {text!r} is no sentence"
        assert "|" not in text
    assert all("description" in block for block in schema.get("$defs", {}).values() if "properties" in block)


@pytest.mark.parametrize("file", SAMPLES, ids=lambda file: str(file.relative_to(ROOT)))
def test_a_sample_names_its_schema_and_fits_it(file):
    (named,) = HEADER.findall(file.read_text("utf-8"))
    schema = (file.parent / named).resolve()
    assert schema.parent == ROOT / "pipeline_runtime" / "json_schemas"
    content = json.loads(json.dumps(yaml.safe_load(file.read_text("utf-8")), default=str))
    assert [error.message for error in Draft202012Validator(json.loads(schema.read_text())).iter_errors(content)] == []
    if file.parent.name == "pipelines":
        assert schema.stem == f"descriptor.{content['apiVersion'].rpartition('/')[2]}"


FINANCE = yaml.safe_load((ROOT / "domains/finance/pipelines/merchant_settlement_daily.yml").read_text("utf-8"))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("source.contract.schema_version", -1),
        ("source.contract.schema_version", "7"),
        ("source.schema_version", 7),
        ("target.contract.freshness_sla", "4h"),
        ("target.contract.freshness_sla", "P1M"),
        ("target.location", "s3://bucket"),
        ("target.contract.columns", []),
        ("target.contract.lf_tags", {}),
        ("expectations.on_failure", "blok"),
        ("metadata.name", "No"),
        ("steps", []),
        ("contract", {"freshness_sla": "PT4H"}),
    ],
)
def test_an_editor_is_told_of_what_the_executor_would_refuse(path, value):
    content = json.loads(json.dumps(FINANCE, default=str))
    *above, last = path.split(".")
    block = content
    for key in above:
        block = block[key]
    block[last] = value
    schema = Draft202012Validator(json.loads(schema_text("descriptor.v2")))
    assert list(schema.iter_errors(content)) != []


def test_the_documentation_has_every_field_of_both_versions():
    document = (ROOT / "docs/descriptor.md").read_text("utf-8")
    assert with_tables(document) == document, "run python -m pipeline_runtime.json_schemas.generate docs/descriptor.md"
    for name in ("descriptor.v1", "descriptor.v2"):
        assert field_table(name) in document
    assert "| `target.contract.columns[].unit` | text |  | The unit of its values" in document


def test_the_command_prints_what_is_shipped_and_lists_what_there_is(capsys):
    assert main(["schema", "pin"]) == 0
    assert capsys.readouterr().out == schema_text("pin")
    assert main(["schema"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == list(NAMES)
    assert main(["schema", "descriptor.v9"]) == 2
    assert "descriptor.v2" in capsys.readouterr().err
