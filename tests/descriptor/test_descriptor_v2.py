"""`cordata.tech/v2`: a contract on each side, columns that mean something, and v1 files that stay as they are."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from pipeline_runtime.schema.meaning import DeclaredColumn

COLUMNS = """\
    columns:
      - name: Order_ID
        type: bigint
        nullable: false
        description: The shop's own number of the order.
      - name: total
        type: "DECIMAL(18, 2)"
        unit: EUR
        definition: Sum of the lines, taxes included, shipping not.
        classification: internal
      - {name: order_date, type: date, nullable: false}
"""


@pytest.fixture
def v2(domain: Any) -> Any:
    """The same domain, its descriptor in the other version's shape."""
    text = (
        domain.text.replace("cordata.tech/v1", "cordata.tech/v2")
        .replace("  schema_version: 7\n", "  contract:\n    schema_version: 7\n")
        .replace("contract:\n  freshness_sla: PT4H\n  lf_tags:\n    sensitivity: high\n", "")
        .replace(
            'orders_scored/"\n',
            'orders_scored/"\n  contract:\n    freshness_sla: PT4H\n    lf_tags:\n      sensitivity: high\n',
        )
    )
    return dataclasses.replace(domain, text=text)


@pytest.fixture
def declaring(v2: Any) -> Any:
    return v2.with_("      sensitivity: high\n", "      sensitivity: high\n" + COLUMNS)


def test_both_versions_of_one_declaration_are_the_same_to_the_executor(domain, v2):
    first, second = domain.load().descriptor, v2.load().descriptor
    assert first.apiVersion == "cordata.tech/v1"
    assert second == first.model_copy(update={"apiVersion": "cordata.tech/v2"})


def test_the_line_of_the_pin_and_of_the_contract_is_known_in_both(domain, v2):
    first, second = domain.load(), v2.load()
    assert [first.pin_line, first.contract_line("lf_tags", "sensitivity")] == [11, 30]
    assert [second.pin_line, second.contract_line("lf_tags", "sensitivity")] == [12, 31]


def test_columns_are_declared_with_their_shape_and_their_meaning(declaring):
    assert declaring.load().descriptor.contract.columns == (
        DeclaredColumn("order_id", "bigint", False, "The shop's own number of the order."),
        DeclaredColumn(
            "total", "decimal(18,2)", True, None, "EUR", "Sum of the lines, taxes included, shipping not.", "internal"
        ),
        DeclaredColumn("order_date", "date", False),
    )


@pytest.mark.parametrize(
    ("old", "new", "place", "words"),
    [
        ("name: total", "name: ORDER_ID", "32: target.contract.columns:", "names order_id twice (case does not count)"),
        ("name: total", 'name: "to tal"', "37: target.contract.columns[1].name:", "up to 255 letters, digits and"),
        ("type: bigint", "type: bigin", "34: target.contract.columns[0].type:", "bigin"),
        ("type: bigint", 'type: ""', "34: target.contract.columns[0].type:", "is malformed"),
        (
            "nullable: false\n        desc",
            'nullable: "no"\n        desc',
            "35: target.contract.columns[0].nullable:",
            '"no" is neither true nor false; write one of them',
        ),
        ("unit: EUR", "units: EUR", "39: target.contract.columns[1].units:", "unknown key; did you mean unit?"),
        ("unit: EUR", "unit: 7", "39: target.contract.columns[1].unit:", "quote it"),
        ("unit: EUR", f"unit: {'m' * 256}", "39: target.contract.columns[1].unit:", "is longer than 255 characters"),
        ("name: order_date", "name: day", "0", "and not order_date, by which the target is partitioned"),
    ],
)
def test_a_wrong_declaration_is_refused_where_it_stands(declaring, old, new, place, words):
    (problem,) = declaring.with_(old, new).refusal()
    assert words in problem
    assert place == "0" or problem.startswith(place), problem


def test_no_columns_are_no_declaration(v2):
    (problem,) = v2.with_("      sensitivity: high\n", "      sensitivity: high\n    columns: []\n").refusal()
    assert problem.startswith("32: target.contract.columns: is empty; give at least 1")


def test_a_declaration_that_the_catalog_could_not_keep_is_refused(v2):
    listed = "".join(f"      - {{name: c{n}, type: string, definition: {'x' * 1_900}}}\n" for n in range(60))
    columns = f"    columns:\n      - {{name: order_date, type: date}}\n{listed}"
    (problem,) = v2.with_("      sensitivity: high\n", "      sensitivity: high\n" + columns).refusal()
    assert "bytes as JSON; 100,000 is the most that is kept with the table" in problem


@pytest.mark.parametrize(
    ("version", "old", "new", "said"),
    [
        ("v1", "  schema_version: 7\n", "  contract: {schema_version: 7}\n", "for this, write cordata.tech/v2"),
        ("v1", "  freshness_sla: PT4H\n", "  freshness_sla: PT4H\n  columns: []\n", "from cordata.tech/v2 on"),
        ("v2", "  contract:\n    schema_version: 7\n", "  schema_version: 7\n", "cordata.tech/v2 has it in source.con"),
        ("v2", "expectations:\n", "contract: {}\nexpectations:\n", "cordata.tech/v2 has it in target"),
    ],
)
def test_a_file_that_mixes_the_versions_is_told_which_one_has_the_key(domain, v2, version, old, new, said):
    mixed = (domain if version == "v1" else v2).with_(old, new)
    assert any(said in problem and "migrate" in problem for problem in mixed.refusal()), mixed.refusal()


def test_a_file_without_a_version_is_judged_by_the_shape_it_has(v2):
    assert v2.with_("apiVersion: cordata.tech/v2\n", "").refusal() == ["1: apiVersion: is missing. Chooses this model."]
