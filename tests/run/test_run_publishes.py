"""A run that goes well."""

from __future__ import annotations

import re

import pytest

pytestmark = pytest.mark.spark

SCORED = [(1, 0.1, "2026-08-01"), (2, 0.2, "2026-08-01"), (4, 0.4, "2026-08-02")]


def test_a_run_publishes_the_steps_output_and_says_so(lab):
    outcome = lab.run()

    assert outcome.code == 0, outcome.trace
    assert lab.rows() == SCORED
    lines = [re.sub(r"^\[[0-9a-f]{4}\] ", "", line) for line in outcome.trace.splitlines()]
    assert lines[:9] == [
        "descriptor payments-scored (fraud) apiVersion v1 OK",
        f"schema {lab.raw}.payments pinned v1, catalog v1 OK",
        "policy sensitivity=high residency=eu resolved against ontology",
        "read glue_table 4 rows",
        "step settled (sql) 3 rows",
        "step score (sql) 3 rows",
        "expect payments_scored 2 passed, 0 failed",
        f"write {lab.curated}.payments_scored iceberg, 2 partitions",
        "emit COMPLETE → lineage adapter inputs=1 outputs=1",
    ]
    assert f"published {lab.curated}.payments_scored 3 rows in 2 partitions" in outcome.trace
    assert "lineage: delivered" in outcome.trace


def test_a_second_run_leaves_the_same_rows_and_no_branch(lab):
    lab.run()
    lab.run()

    assert lab.rows() == SCORED
    refs = lab.spark.sql(f"SELECT name FROM glue_catalog.{lab.curated}.payments_scored.refs").collect()
    assert [ref.name for ref in refs] == ["main"]


def test_the_contract_is_registered_with_the_table(lab):
    lab.run()

    parameters = lab.definition()["Parameters"]
    assert parameters["cordata.freshness_sla"] == "PT4H"
    assert parameters["cordata.pipeline"] == "payments-scored"
    assert parameters["table_type"] == "ICEBERG"
    assert lab.tags() == {"sensitivity": "high", "residency": "eu"}
