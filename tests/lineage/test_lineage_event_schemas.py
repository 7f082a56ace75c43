"""What every event holds to: OpenLineage's classes and specification, our own schemas, the printed fields."""

from __future__ import annotations

import json
import re
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from event_samples import every_event, filled, wire
from jsonschema import Draft202012Validator
from openlineage.client.event_v2 import RunEvent
from openlineage.client.serde import Serde
from openlineage_reading import OWN, facets_of, own_schema_problems, read_back, specification

from pipeline_runtime.lineage.events import (
    to_bytes,
)
from pipeline_runtime.lineage.facts import RunFacts


@pytest.fixture
def events(facts: RunFacts) -> dict[str, RunEvent]:
    return every_event(facts)


def test_every_event_reads_back_through_openlineages_classes_without_loss(events: dict[str, RunEvent]) -> None:
    for name, event in events.items():
        body = to_bytes(event)
        again = read_back(body)
        assert filled(Serde.to_dict(again)) == filled(json.loads(body)), name
        assert Serde.to_dict(event) == json.loads(body), name


def test_every_event_and_facet_names_its_schema_and_its_producer(events: dict[str, RunEvent]) -> None:
    for name, event in events.items():
        data = wire(event)
        assert data["schemaURL"] == "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent"
        assert data["eventTime"].endswith("Z")
        for where, facet in facets_of(data).items():
            assert facet["_producer"] == data["producer"], (name, where)
            assert re.fullmatch(r"https://\S+\.json#/\$defs/\w+", facet["_schemaURL"]), (name, where)


def test_our_own_facets_hold_what_their_published_schemas_say(events: dict[str, RunEvent]) -> None:
    seen = set()
    for name, event in events.items():
        for where, facet in facets_of(wire(event)).items():
            kind = where.partition(".")[2]
            if kind in OWN:
                seen.add(kind)
                assert own_schema_problems(kind, facet) == [], (name, where)
    # The marker of a slimmed event has its own tests, and so have the facets of a replication's batch.
    assert seen == set(OWN) - {"cordata_slimmed", "cordata_replication", "cordata_landed"}


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("processing", {"legal_basis": "because"}),
        ("processing", {"purpose": ""}),
        ("cordata_provenance", {"descriptor_sha256": "9c1f4b7e"}),
        ("cordata_provenance", {"step_params": {"n": 1}}),
        ("cordata_provenance", {"source_schema_version": "7"}),
        ("cordata_provenance", {"surprise": 1}),
        ("cordata_publish", {"rows": -1}),
        ("cordata_column_origins", {"unknown": [{"columns": ["a"]}]}),
        ("cordata_column_origins", {"complete": "yes"}),
        ("cordata_columns", {"columns": [{"name": "a"}]}),
        ("cordata_columns", {"columns": [{"name": "a", "nullable": True, "unti": "EUR"}]}),
    ],
)
def test_the_published_schemas_refuse_what_is_wrong(
    events: dict[str, RunEvent], kind: str, change: dict[str, Any]
) -> None:
    facets = {where.partition(".")[2]: facet for where, facet in facets_of(wire(events["complete"])).items()}
    assert own_schema_problems(kind, {**facets[kind], **change}) != []


def test_the_schemas_are_in_the_package() -> None:
    folder = resources.files("pipeline_runtime.lineage") / "schemas"
    assert {Path(entry.name).stem for entry in folder.iterdir()} == {facet.__name__ for facet in OWN.values()}


def test_every_event_holds_against_the_openlineage_specification(events: dict[str, RunEvent]) -> None:
    registry = specification()
    if registry is None:
        pytest.skip("OPENLINEAGE_SPEC does not name a checkout's spec folder")
    for name, event in events.items():
        data = wire(event)
        checks = {"event": ({"$ref": data["schemaURL"]}, data)}
        for where, facet in facets_of(data).items():
            if where.partition(".")[2] not in OWN:
                checks[where] = ({"$ref": facet["_schemaURL"]}, facet)
        for where, (schema, instance) in checks.items():
            problems = [e.message for e in Draft202012Validator(schema, registry=registry).iter_errors(instance)]
            assert problems == [], (name, where)


#: The fields of the four events that the articles print, by their paths; datasets and types are spelled by our rules.
PRINTED = {
    "complete": """
        eventType eventTime producer schemaURL run.runId run.facets.processing_engine.name
        run.facets.processing_engine.version run.facets.nominalTime.nominalStartTime job.namespace job.name
        job.facets.sourceCodeLocation.type job.facets.sourceCodeLocation.path job.facets.sourceCodeLocation.url
        job.facets.processing.purpose job.facets.processing.legal_basis inputs.0.namespace inputs.0.name
        outputs.0.namespace outputs.0.name outputs.0.facets.schema.fields.0.name outputs.0.facets.schema.fields.0.type
        run.facets.cordata_provenance.descriptor_path run.facets.cordata_provenance.descriptor_sha256
        run.facets.cordata_provenance.source_table run.facets.cordata_provenance.source_schema_version
        run.facets.cordata_provenance.descriptor_git_commit run.facets.cordata_provenance.descriptor_git_commit_signed
        run.facets.cordata_provenance.executor_version run.facets.cordata_provenance.step_params.model_version
    """,
    "validation": """
        eventType run.runId job.namespace job.name inputs.0.namespace inputs.0.name outputs
        inputs.0.inputFacets.dataQualityAssertions.assertions.0.assertion
        inputs.0.inputFacets.dataQualityAssertions.assertions.0.column
        inputs.0.inputFacets.dataQualityAssertions.assertions.0.success
        inputs.0.inputFacets.dataQualityAssertions.assertions.1.expected
        inputs.0.inputFacets.dataQualityAssertions.assertions.1.actual
    """,
    "fail": """
        eventType eventTime producer schemaURL run.runId run.facets.errorMessage.message
        run.facets.errorMessage.programmingLanguage run.facets.cordata_provenance.descriptor_sha256
        run.facets.cordata_provenance.source_schema_version run.facets.cordata_provenance.descriptor_git_commit
        job.namespace job.name inputs outputs
    """,
}


@pytest.mark.parametrize("name", sorted(PRINTED))
def test_every_field_that_the_articles_print_is_there(events: dict[str, RunEvent], name: str) -> None:
    for path in PRINTED[name].split():
        value: Any = wire(events[name])
        for part in path.split("."):
            value = value[int(part)] if isinstance(value, list) else value[part]
        assert value not in (None, ""), path
