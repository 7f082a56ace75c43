"""A target's contract that declares columns: held to before every publish, and kept with the table."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from pipeline_runtime.cli import main

pytestmark = pytest.mark.spark

SCORED = [(1, 0.1, "2026-08-01"), (2, 0.2, "2026-08-01"), (4, 0.4, "2026-08-02")]

COLUMNS: list[dict[str, Any]] = [
    {"name": "id", "type": "bigint", "nullable": False, "description": "The payment's number."},
    {
        "name": "amount",
        "type": "decimal(10,2)",
        "unit": "EUR",
        "definition": "As booked.",
        "classification": "internal",
    },
    {"name": "score", "type": "decimal(14,6)", "nullable": False},
    {"name": "model", "type": "string"},
    {"name": "day", "type": "date", "nullable": False},
]


def declare(lab: Any, columns: list[dict[str, Any]] = COLUMNS) -> None:
    """Rewrites the lab's descriptor to v2, with these columns declared."""
    path = lab.root / "pipelines/payments_scored.yml"
    assert main(["migrate", "--write", str(path)]) == 0
    text = yaml.safe_load(path.read_text("utf-8"))
    text["target"]["contract"]["columns"] = columns
    path.write_text(yaml.safe_dump(text, sort_keys=False), "utf-8")


def test_declared_columns_are_checked_published_and_kept_with_the_table(lab):
    declare(lab)

    outcome = lab.run()

    assert outcome.code == 0, outcome.trace
    assert lab.rows() == SCORED
    assert "apiVersion v2 OK" in outcome.trace
    assert f"contract {lab.curated}.payments_scored 5 columns as declared" in outcome.trace
    parameters = lab.definition()["Parameters"]
    assert json.loads(parameters["cordata.columns"])[:2] == [
        COLUMNS[0],
        {"name": "amount", "type": "decimal(10,2)", "nullable": True, **dict(list(COLUMNS[1].items())[2:])},
    ]
    assert parameters["cordata.published_by"] == "payments-scored"
    assert parameters["cordata.freshness_sla"] == "PT4H"


def test_an_output_of_another_shape_is_refused_with_every_difference_before_anything_is_written(lab):
    declare(lab, [{**COLUMNS[0], "type": "int"}, COLUMNS[2], {"name": "modell", "type": "string"}, COLUMNS[4]])

    outcome = lab.run()

    assert outcome.code == 1
    failed = outcome.trace.partition("FAILED ContractBroken")[2]
    for difference in (
        "+ amount, not declared",
        "+ model, not declared (did you mean modell?)",
        "- modell (string), not in the output",
        "~ id: the output's bigint is declared as int",
        "Nothing was written.",
    ):
        assert difference in failed
    assert lab.definition() is None


def test_a_null_in_a_column_that_promises_none_leaves_the_target_as_it_was(lab):
    declare(lab)
    lab.run()
    lab.change("sql/score.sql", "SELECT id,", "SELECT nullif(id, 4) AS id,")
    lab.change("sql/score.sql", "amount / 100 AS score", "nullif(amount / 100, 0.1) AS score")
    before = lab.definition()

    outcome = lab.run()

    assert outcome.code == 1
    said = "nullable: false, and id is NULL in 1 of 3 rows; score is NULL in 1 of 3 rows. Nothing was published."
    assert said in outcome.trace.partition("FAILED ContractBroken")[2]
    assert "expect" not in outcome.trace
    assert lab.rows() == SCORED
    assert lab.definition()["Parameters"]["cordata.columns"] == before["Parameters"]["cordata.columns"]


def test_a_pipeline_that_stops_declaring_takes_its_declaration_back(lab):
    declare(lab)
    lab.run()
    path = lab.root / "pipelines/payments_scored.yml"
    text = yaml.safe_load(path.read_text("utf-8"))
    del text["target"]["contract"]["columns"]
    path.write_text(yaml.safe_dump(text), "utf-8")

    assert lab.run().code == 0

    assert "cordata.columns" not in lab.definition()["Parameters"]


def test_a_new_column_is_added_to_the_target_once_the_contract_declares_it(lab):
    declare(lab)
    lab.run()
    lab.change("sql/score.sql", "day FROM", "day, upper(:model_version) AS family FROM")
    refused = lab.run()
    declare(lab, [*COLUMNS, {"name": "family", "type": "string", "nullable": False}])

    outcome = lab.run()

    assert refused.code == 1
    assert "+ family, not declared" in refused.trace
    assert outcome.code == 0, outcome.trace
    assert "step score (sql) 3 rows" in outcome.trace
    assert lab.rows(columns="id, family, day") == [
        (1, "V3", "2026-08-01"),
        (2, "V3", "2026-08-01"),
        (4, "V3", "2026-08-02"),
    ]
    output = outcome.terminal["outputs"][0]
    assert output["facets"]["schema"]["fields"][-1]["name"] == "family"
    assert output["facets"]["cordata_columns"]["columns"][-1] == {"name": "family", "nullable": False}
    assert output["facets"]["schema"]["fields"][0]["description"] == "The payment's number."
    assert output["outputFacets"]["cordata_publish"]["rows"] == 3
