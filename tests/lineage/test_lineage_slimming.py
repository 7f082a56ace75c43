"""Events that are too large: slimmed in a documented order, whole in the evidence, parked where nothing helps."""

from __future__ import annotations

import copy
import dataclasses
import hashlib
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openlineage.client.event_v2 import InputDataset, Job, OutputDataset, Run, RunEvent, RunState
from openlineage.client.facet_v2 import RunFacet
from openlineage_reading import own_schema_problems

from pipeline_runtime.errors import EngineFailed
from pipeline_runtime.evidence.quarantined import quarantined_batch
from pipeline_runtime.evidence.runs import EventKind, RunEvidence
from pipeline_runtime.evidence.store import open_store
from pipeline_runtime.lineage import own_facets
from pipeline_runtime.lineage.delivery import Delivery
from pipeline_runtime.lineage.emitter import Emitter
from pipeline_runtime.lineage.events import RunStatus, terminal_event
from pipeline_runtime.lineage.facts import RunFacts
from pipeline_runtime.lineage.limits import MAX_EVENT_BYTES
from pipeline_runtime.lineage.slimming import MARKER, SLIMMING_ORDER, slim, wire_bytes
from pipeline_runtime.schema.columns import Column, Schema

ROOT = Path(__file__).resolve().parents[2]
RUN = "b8c1c9e3-5a1e-4c0f-9a1a-2c9f8b1a5e12"
FULL = "runs/b8c1/full/abc.json"


def schema(columns: int, name: str = "spalte_größe_") -> dict[str, Any]:
    return {"fields": [{"name": f"{name}{n}", "type": "decimal(18,2)", "description": "Größe"} for n in range(columns)]}


def lineage(columns: int, inputs: int = 1) -> dict[str, Any]:
    step = {"type": "DIRECT", "subtype": "IDENTITY"}

    def edge(n: int, m: int) -> dict[str, Any]:
        return {"namespace": "arn:aws:glue:eu-central-1:1", "name": f"table/d/t{m}", "field": f"größe_{n}"}

    return {
        "fields": {
            f"größe_{n}": {"inputFields": [{**edge(n, m), "transformations": [step]} for m in range(inputs)]}
            for n in range(columns)
        },
        "dataset": [{**edge(n, 0), "transformations": [step]} for n in range(columns)],
    }


def large(inputs: int = 1, columns: int = 3, plan: int = 0) -> dict[str, Any]:
    """An event with everything that slimming knows, and things that it must leave alone."""
    return {
        "eventType": "COMPLETE",
        "eventTime": "2026-08-04T09:14:22.123Z",
        "run": {
            "runId": RUN,
            "facets": {
                "spark.logicalPlan": {"plan": "x" * plan},
                "debug": {"config": "y"},
                "spark_properties": {"properties": {"a": "b"}},
                "cordata_provenance": {"descriptor_sha256": "9c" * 32},
                "errorMessage": {"message": "ä" * 100},
            },
        },
        "job": {"namespace": "cordata.fraud", "name": "j", "facets": {"sql": {"query": "select"}, "processing": {}}},
        "inputs": [
            {"namespace": "n", "name": f"t{n}", "facets": {"schema": schema(columns), "symlinks": {"identifiers": [1]}}}
            for n in range(inputs)
        ],
        "outputs": [
            {
                "namespace": "n",
                "name": "out",
                "facets": {
                    "schema": schema(columns),
                    "columnLineage": lineage(columns, inputs),
                    "cordata_column_origins": {"constants": ["c"], "unknown": []},
                    "cordata_columns": {"columns": [{"name": "c", "nullable": True}]},
                    "tags": {"tags": []},
                },
                "outputFacets": {"outputStatistics": {"rowCount": 3}},
            }
        ],
    }


def without(event: dict[str, Any], dropped: list[str]) -> dict[str, Any]:
    """What is left of an event, by the documentation's words."""
    left = copy.deepcopy(event)
    facets = left["run"]["facets"]
    for name in ("spark.logicalPlan", "debug", "spark_properties"):
        if name in dropped:
            facets.pop(name, None)
    if "sql" in dropped:
        left["job"]["facets"].pop("sql")
    for dataset in (*left["inputs"], *left["outputs"]):
        about = dataset["facets"]
        if "schema descriptions" in dropped:
            for field in about["schema"]["fields"]:
                field.pop("description", None)
        edges = [
            edge
            for made_of in about.get("columnLineage", {}).get("fields", {}).values()
            for edge in made_of["inputFields"]
        ]
        if "columnLineage dataset" in dropped:
            about.get("columnLineage", {}).pop("dataset", None)
        if "columnLineage transformations" in dropped:
            for edge in edges:
                edge.pop("transformations")
        for name in ("columnLineage", "cordata_column_origins", "cordata_columns"):
            if name in dropped:
                about.pop(name, None)
    for side in ("inputs", "outputs"):
        if f"{side}' schema" in dropped:
            for dataset in left[side]:
                dataset["facets"].pop("schema")
    return left


def marked(body: bytes, dropped: list[str]) -> dict[str, Any]:
    return {
        "_producer": own_facets.PRODUCER,
        "_schemaURL": own_facets.schema_url("SlimmedRunFacet"),
        "dropped": dropped,
        "full_sha256": hashlib.sha256(body).hexdigest(),
        "full_bytes": len(body),
        "full_event": FULL,
    }


@settings(max_examples=60, deadline=None)
@given(
    inputs=st.integers(1, 4),
    columns=st.integers(1, 12),
    plan=st.integers(0, 3_000),
    limit=st.integers(200, 20_000),
)
def test_a_slimmed_event_fits_and_what_was_not_left_out_is_unchanged(
    inputs: int, columns: int, plan: int, limit: int
) -> None:
    event = large(inputs, columns, plan)
    body = wire_bytes(event)
    slimmed = slim(body, FULL, limit=limit)
    if slimmed is None:
        everything = without(event, list(SLIMMING_ORDER))
        everything["run"]["facets"][MARKER] = marked(body, list(SLIMMING_ORDER))
        assert len(wire_bytes(everything)) > limit
        return
    left = json.loads(slimmed)
    marker = left["run"]["facets"].pop(MARKER)
    assert len(slimmed) <= limit
    assert marker == marked(body, list(SLIMMING_ORDER[: len(marker["dropped"])]))
    assert left == without(event, marker["dropped"])
    fewer = without(event, marker["dropped"][:-1])
    fewer["run"]["facets"][MARKER] = {**marker, "dropped": marker["dropped"][:-1]}
    assert len(wire_bytes(fewer)) > limit or len(marker["dropped"]) == 1


def test_the_marker_names_the_whole_event_and_holds_what_its_schema_says() -> None:
    body = wire_bytes(large(plan=5_000))
    slimmed = slim(body, FULL, limit=len(body) - 1_000)
    assert slimmed is not None
    marker = json.loads(slimmed)["run"]["facets"][MARKER]
    assert marker["dropped"] == ["spark.logicalPlan"]
    assert marker["full_sha256"] == hashlib.sha256(body).hexdigest()
    assert (marker["full_bytes"], marker["full_event"]) == (len(body), FULL)
    assert own_schema_problems(MARKER, marker) == []


def test_reported_ol_6_twenty_inputs_of_five_hundred_columns_pass_with_multibyte_names() -> None:
    body = wire_bytes(large(inputs=20, columns=500))
    assert len(body) > 3 * MAX_EVENT_BYTES
    slimmed = slim(body, FULL)
    assert slimmed is not None
    assert len(slimmed) <= MAX_EVENT_BYTES
    left = json.loads(slimmed)
    assert [each["name"] for each in left["inputs"]] == [f"t{n}" for n in range(20)]
    names = [field["name"] for field in left["outputs"][0]["facets"]["schema"]["fields"]]
    assert names == [f"spalte_größe_{n}" for n in range(500)]


@pytest.mark.parametrize("columns", [500, 1_000])
def test_reported_ol_6_a_wide_outputs_lineage_goes_before_its_columns_names(columns: int) -> None:
    event = large(columns=columns)
    event["run"]["facets"]["spark.logicalPlan"] = {"plan": "ü" * 5_000_000}
    slimmed = slim(wire_bytes(event), FULL)
    assert slimmed is not None
    left = json.loads(slimmed)
    assert "spark.logicalPlan" not in left["run"]["facets"]
    assert len(left["outputs"][0]["facets"]["schema"]["fields"]) == columns


def wide_event(inputs: int, columns: int) -> RunEvent:
    event = large(inputs, columns)
    facets: dict[str, Any] = {"custom": RunFacet().with_additional_properties(**event["run"]["facets"]["errorMessage"])}
    return RunEvent(
        eventType=RunState.COMPLETE,
        eventTime="2026-08-04T09:14:22Z",
        run=Run(RUN, facets),
        job=Job("cordata.fraud", "j"),
        inputs=[InputDataset(each["namespace"], each["name"], facets=each["facets"]) for each in event["inputs"]],
        outputs=[OutputDataset(each["namespace"], each["name"], facets=each["facets"]) for each in event["outputs"]],
    )


@pytest.fixture
def evidence(tmp_path: Path) -> RunEvidence:
    return RunEvidence(open_store(str(tmp_path / "evidence"), lambda: pytest.fail("no S3 here")), RUN)


def test_a_large_event_is_sent_slim_and_kept_whole(evidence: RunEvidence, sink: Any, tmp_path: Path) -> None:
    emitter = Emitter(evidence, Delivery(sink.url), lambda line: None)
    outcome = emitter.terminal(wide_event(20, 500))

    assert emitter.summary == "lineage: delivered"
    assert sink.bodies == [outcome.body] == [evidence.event(EventKind.TERMINAL)]
    assert len(outcome.body or b"") <= MAX_EVENT_BYTES
    marker = json.loads(outcome.body or b"")["run"]["facets"][MARKER]
    # The whole event is named by its key: a path of this machine is nobody's business.
    assert marker["full_event"] == f"runs/{RUN}/full/{marker['full_sha256']}.json"
    whole = (tmp_path / "evidence" / marker["full_event"]).read_bytes()
    assert hashlib.sha256(whole).hexdigest() == marker["full_sha256"]
    assert len(whole) == marker["full_bytes"]
    assert str(tmp_path).encode() not in (outcome.body or b"")


def test_an_event_that_slimming_does_not_help_is_parked_whole_with_the_reason(evidence: RunEvidence, sink: Any) -> None:
    event = wide_event(1, 1)
    event.job.name = "ü" * 200_000
    emitter = Emitter(evidence, Delivery(sink.url), lambda line: None)
    outcome = emitter.terminal(event)
    assert sink.bodies == []
    assert "DataZone accepts 300,000" in str(evidence.parked(EventKind.TERMINAL))
    assert json.loads(outcome.body or b"")["inputs"][0]["facets"]["schema"]
    assert "lineage: not delivered" in emitter.summary


def test_an_event_of_common_size_is_sent_as_it_is(evidence: RunEvidence, sink: Any, tmp_path: Path) -> None:
    Emitter(evidence, Delivery(sink.url), lambda line: None).terminal(wide_event(1, 10))
    assert b"cordata_slimmed" not in sink.bodies[0]
    assert not (tmp_path / "evidence" / "runs" / RUN / "full").exists()


def test_a_quarantined_batch_is_released_with_its_products_columns_however_large_its_event_was(
    facts: RunFacts, evidence: RunEvidence, sink: Any
) -> None:
    columns = tuple(Column(f"größe_{n}", "decimal(18,2)") for n in range(6_000))
    wide = dataclasses.replace(facts, written_schema=Schema(columns))
    at = datetime(2026, 8, 4, 9, 14, 22, tzinfo=UTC)
    event = terminal_event(wide, RunStatus.QUARANTINED, at=at, error=EngineFailed("the suite failed"))
    Emitter(evidence, Delivery(sink.url), lambda line: None).terminal(event)

    assert "schema" not in json.loads(sink.bodies[0])["outputs"][0]["facets"]
    assert quarantined_batch(evidence).columns == tuple(column.name for column in columns)


def test_the_documented_order_is_the_order() -> None:
    text = (ROOT / "docs" / "lineage.md").read_text("utf-8")
    section = text.split("## Size")[1].split("\n## ")[0]
    steps = [line.split("`")[1] for line in section.splitlines() if line[:1].isdigit() and "`" in line]
    assert tuple(steps) == SLIMMING_ORDER
