"""The events of a run, as they go on the wire."""

from __future__ import annotations

import dataclasses
import json
from datetime import timedelta
from decimal import Decimal
from importlib.metadata import version
from typing import Any

import attr
import pytest
from event_samples import AT, QUARANTINE, SOURCE, TARGET, every_event, names, released, wire
from openlineage.client.event_v2 import Job, Run, RunEvent, RunState
from openlineage.client.facet_v2 import RunFacet

from pipeline_runtime import __version__
from pipeline_runtime.catalog.table import TableIdentity
from pipeline_runtime.descriptor.blocks import OnFailure
from pipeline_runtime.errors import EngineFailed, PublishBlocked
from pipeline_runtime.lineage.engine import engine_of
from pipeline_runtime.lineage.events import (
    RunStatus,
    parking_reason,
    start_event,
    terminal_event,
    to_bytes,
    validation_event,
)
from pipeline_runtime.lineage.facts import RunFacts
from pipeline_runtime.lineage.provenance import GitFacts


@pytest.fixture
def events(facts: RunFacts) -> dict[str, RunEvent]:
    return every_event(facts)


def test_a_start_names_the_run_and_the_declaration_and_no_dataset(facts: RunFacts) -> None:
    event = wire(start_event(facts, at=AT))
    assert (event["eventType"], event["eventTime"]) == ("START", "2026-08-04T09:14:22.123Z")
    assert event["run"]["runId"] == "b8c1c9e3-5a1e-4c0f-9a1a-2c9f8b1a5e12"
    assert (event["job"]["namespace"], event["job"]["name"]) == ("cordata.fraud", "transactions-scored-daily")
    assert (event["inputs"], event["outputs"]) == ([], [])
    assert event["producer"] == f"https://github.com/cordata-tech/pipeline-runtime/tree/{__version__}"


def test_a_release_names_the_original_run_and_who_decided_and_makes_no_claim_about_the_source(facts: RunFacts) -> None:
    run_facets = wire(terminal_event(released(facts), RunStatus.COMPLETE, at=AT))["run"]["facets"]
    said = {key: value for key, value in run_facets["cordata_release"].items() if not key.startswith("_")}
    assert said == {
        "original_run_id": "0b8c7a40-0000-4000-8000-000000000001",
        "released_by": "ann",
        "reason": "checked",
    }
    assert "source_catalog_version" not in run_facets["cordata_provenance"]
    assert run_facets["cordata_provenance"]["descriptor_sha256"] == "9c" * 32
    assert "cordata_release" not in wire(terminal_event(facts, RunStatus.COMPLETE, at=AT))["run"]["facets"]


def test_the_provenance_names_declaration_commit_executor_and_source_release(facts: RunFacts) -> None:
    facet = wire(terminal_event(facts, RunStatus.COMPLETE, at=AT))["run"]["facets"]["cordata_provenance"]
    assert {key: value for key, value in facet.items() if not key.startswith("_")} == {
        "descriptor_path": "domains/fraud/pipelines/transactions_scored.yml",
        "descriptor_sha256": "9c" * 32,
        "descriptor_git_commit": "4af3958a" * 5,
        "descriptor_git_commit_signed": True,
        "git_dirty": False,
        "file_sha256": {"domains/fraud/sql/score.sql": "ab" * 32},
        "source_table": "fraud_raw.transactions",
        "source_schema_version": 7,
        "source_catalog_version": 19,
        "source_published_by": "card-ledger",
        "source_published_release": "v4.11.0",
        "executor_version": f"pipeline-runtime {__version__}",
        "step_params": {"model_version": "2026-07-fraud-v3"},
    }


def test_a_run_without_git_says_why_it_names_no_commit(facts: RunFacts) -> None:
    assert facts.provenance is not None
    nowhere = dataclasses.replace(facts.provenance, git=GitFacts(reason="git is not installed"))
    event = wire(start_event(dataclasses.replace(facts, provenance=nowhere), at=AT))
    facet = event["run"]["facets"]["cordata_provenance"]
    assert facet["git_reason"] == "git is not installed"
    assert "descriptor_git_commit" not in facet
    assert "sourceCodeLocation" not in event["job"]["facets"]


def test_params_of_one_name_and_two_values_are_told_apart_by_their_step(facts: RunFacts) -> None:
    steps = [
        facts.descriptor.steps[0].model_copy(update={"params": {"limit": "1", "model": "a"}}),
        facts.descriptor.steps[1].model_copy(update={"params": {"limit": "2", "model": "a"}}),
    ]
    changed = dataclasses.replace(facts, descriptor=facts.descriptor.model_copy(update={"steps": steps}))
    facet = wire(start_event(changed, at=AT))["run"]["facets"]["cordata_provenance"]
    assert facet["step_params"] == {"filter_settled.limit": "1", "score.limit": "2", "model": "a"}


def test_the_job_carries_the_legal_basis_the_owner_and_the_place_of_its_code(facts: RunFacts) -> None:
    facets = wire(start_event(facts, at=AT))["job"]["facets"]
    shown = {name: {k: v for k, v in facet.items() if not k.startswith("_")} for name, facet in facets.items()}
    assert shown == {
        "processing": {"purpose": "fraud-detection", "legal_basis": "legitimate-interest"},
        "ownership": {"owners": [{"name": "fraud@example.org", "type": "OWNER"}]},
        "sourceCodeLocation": {
            "type": "git",
            "url": "https://github.com/cordata-tech/domains-fraud",
            "repoUrl": "git@github.com:cordata-tech/domains-fraud.git",
            "path": "domains/fraud/sql/score.sql",
            "version": "4af3958a" * 5,
        },
    }


def test_every_event_carries_what_datazone_recognises_glue_by(events: dict[str, RunEvent]) -> None:
    for event in events.values():
        run_facets = wire(event)["run"]["facets"]
        assert run_facets["environment-properties"]["environment-properties"] == {
            "GLUE_VERSION": "5.1",
            "GLUE_COMMAND_CRITERIA": "glueetl",
            "GLUE_PYTHON_VERSION": "3",
        }
        assert run_facets["processing_engine"]["version"] == "3.5.6"
        assert run_facets["nominalTime"]["nominalStartTime"] == "2026-08-04T09:00:00Z"


def test_a_schedulers_run_is_the_parent(events: dict[str, RunEvent]) -> None:
    parent = wire(events["start"])["run"]["facets"]["parent"]
    assert parent["job"] == {"namespace": "airflow", "name": "dag.task"}
    assert parent["run"] == {"runId": "0" * 31 + "1"}
    assert "parent" not in wire(events["complete"])["run"]["facets"]


def test_a_complete_run_has_its_source_and_its_target(facts: RunFacts) -> None:
    event = wire(terminal_event(facts, RunStatus.COMPLETE, at=AT))
    assert event["eventType"] == "COMPLETE"
    assert (names(event["inputs"]), names(event["outputs"])) == ([SOURCE], [TARGET])
    source, target = event["inputs"][0]["facets"], event["outputs"][0]["facets"]
    assert [(field["name"], field["type"]) for field in source["schema"]["fields"]] == [
        ("tx_id", "string"),
        ("amount", "decimal(18,2)"),
    ]
    assert [(field["name"], field["type"], field["ordinal_position"]) for field in target["schema"]["fields"]] == [
        ("tx_id", "string", 1),
        ("fraud_score", "double", 2),
    ]
    assert [field.get("description") for field in target["schema"]["fields"]] == ["The transaction's number.", None]
    assert target["cordata_columns"]["columns"] == [
        {"name": "tx_id", "nullable": False},
        {
            "name": "fraud_score",
            "nullable": True,
            "unit": "probability",
            "definition": "Of fraud.",
            "classification": "high",
        },
    ]
    assert {tag["key"]: (tag["value"], tag["source"]) for tag in target["tags"]["tags"]} == {
        "sensitivity": ("high", "LAKE_FORMATION"),
        "residency": ("eu", "LAKE_FORMATION"),
    }
    catalog = {key: value for key, value in target["catalog"].items() if not key.startswith("_")}
    assert catalog == {
        "framework": "iceberg",
        "type": "glue",
        "name": "111122223333",
        "metadataUri": "arn:aws:glue:eu-central-1:111122223333:catalog",
        "warehouseUri": "s3://curated/transactions_scored",
        "source": "spark",
    }
    assert event["outputs"][0]["outputFacets"]["outputStatistics"]["rowCount"] == 1_000


def test_reported_ol_3_the_first_symlink_repeats_the_identity_and_is_the_only_table(facts: RunFacts) -> None:
    event = wire(terminal_event(facts, RunStatus.COMPLETE, at=AT))
    assert event["inputs"][0]["facets"]["symlinks"]["identifiers"] == [
        {**SOURCE, "type": "TABLE"},
        {"namespace": "cordata.fraud", "name": "fraud_raw.transactions", "type": "LOGICAL"},
        {"namespace": "s3://raw", "name": "transactions", "type": "LOCATION"},
    ]
    assert event["outputs"][0]["facets"]["symlinks"]["identifiers"] == [
        {**TARGET, "type": "TABLE"},
        {"namespace": "cordata.fraud", "name": "fraud_curated.transactions_scored", "type": "LOGICAL"},
        {"namespace": "s3://curated", "name": "transactions_scored", "type": "LOCATION"},
    ]


def test_a_publish_that_replaced_nothing_says_so(facts: RunFacts) -> None:
    assert facts.published is not None
    empty = dataclasses.replace(facts.published, rows=0, partitions=0, snapshot_id=None, replaced=False)
    event = wire(terminal_event(dataclasses.replace(facts, published=empty), RunStatus.COMPLETE, at=AT))
    facets = event["outputs"][0]["outputFacets"]
    assert facets["outputStatistics"]["rowCount"] == 0
    assert {key: facets["cordata_publish"].get(key) for key in ("rows", "partitions", "replaced", "snapshot_id")} == {
        "rows": 0,
        "partitions": 0,
        "replaced": False,
        "snapshot_id": None,
    }


def test_reported_ol_1_a_failed_run_names_its_reason_and_touched_nothing(facts: RunFacts) -> None:
    assert facts.result is not None
    error = PublishBlocked("transactions-scored-daily", facts.result)
    event = wire(terminal_event(facts, RunStatus.FAIL, at=AT, error=error))
    assert (event["eventType"], event["inputs"], event["outputs"]) == ("FAIL", [], [])
    message = event["run"]["facets"]["errorMessage"]
    assert "expect_column_kl_divergence_to_be_less_than(fraud_score): expected 0.15, actual 0.19" in message["message"]
    assert message["programmingLanguage"] == "python"
    assert "stackTrace" not in message
    assert event["run"]["facets"]["cordata_provenance"]["descriptor_git_commit"] == "4af3958a" * 5


def test_a_quarantined_run_is_a_fail_with_the_quarantine_as_output(facts: RunFacts) -> None:
    event = wire(terminal_event(facts, RunStatus.QUARANTINED, at=AT, error=EngineFailed("expectations failed")))
    assert event["eventType"] == "FAIL"
    assert (names(event["inputs"]), names(event["outputs"])) == ([SOURCE], [QUARANTINE])
    assert "tags" not in event["outputs"][0]["facets"]
    assert event["outputs"][0]["facets"]["symlinks"]["identifiers"][2] == {
        "namespace": "s3://curated",
        "name": "transactions_scored__quarantine",
        "type": "LOCATION",
    }


@pytest.mark.parametrize(("status", "judged"), [(RunStatus.COMPLETE, TARGET), (RunStatus.QUARANTINED, QUARANTINE)])
def test_the_verdict_hangs_on_the_judged_table_as_an_input(
    facts: RunFacts, status: RunStatus, judged: dict[str, str]
) -> None:
    event = wire(validation_event(facts, status, at=AT))
    assert (event["eventType"], event["job"]["name"]) == ("OTHER", "transactions-scored-daily.validate")
    assert event["run"]["runId"] == facts.context.run_id
    assert (names(event["inputs"]), event["outputs"]) == ([judged], [])
    assert event["inputs"][0]["facets"]["symlinks"]["identifiers"][0] == {**judged, "type": "TABLE"}
    assert event["inputs"][0]["inputFacets"]["dataQualityAssertions"]["assertions"] == [
        {
            "assertion": "expect_column_values_to_not_be_null",
            "column": "tx_id",
            "success": True,
            "severity": "error",
            "expected": "100 %",
            "actual": "100 %",
            "params": {"evaluated_rows": 1_000},
        },
        {
            "assertion": "expect_column_kl_divergence_to_be_less_than",
            "column": "fraud_score",
            "success": False,
            "severity": "error",
            "expected": "0.15",
            "actual": "0.19",
        },
        {
            "assertion": "expect_table_row_count_to_be_between",
            "success": False,
            "severity": "error",
            "actual": "the frame is empty",
        },
    ]


def test_a_blocked_runs_verdict_hangs_on_the_target_that_was_not_written(facts: RunFacts) -> None:
    assert names(wire(validation_event(facts, RunStatus.FAIL, at=AT))["inputs"]) == [TARGET]


def test_a_suite_that_only_warns_says_so_with_each_assertion(facts: RunFacts) -> None:
    expectations = facts.descriptor.expectations.model_copy(update={"on_failure": OnFailure.WARN})
    descriptor = facts.descriptor.model_copy(update={"expectations": expectations})
    event = wire(validation_event(dataclasses.replace(facts, descriptor=descriptor), RunStatus.COMPLETE, at=AT))
    assertions = event["inputs"][0]["inputFacets"]["dataQualityAssertions"]["assertions"]
    assert {assertion["severity"] for assertion in assertions} == {"warn"}


def test_datasets_that_are_not_known_are_never_invented(facts: RunFacts) -> None:
    for missing in ("source", "target"):
        with pytest.raises(ValueError, match=missing):
            terminal_event(dataclasses.replace(facts, **{missing: None}), RunStatus.COMPLETE, at=AT)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="result"):
        validation_event(dataclasses.replace(facts, result=None), RunStatus.COMPLETE, at=AT)


def test_the_same_facts_give_the_same_bytes(facts: RunFacts) -> None:
    body = to_bytes(terminal_event(facts, RunStatus.COMPLETE, at=AT))
    assert body == to_bytes(terminal_event(facts, RunStatus.COMPLETE, at=AT))
    data = json.loads(body)
    assert body == json.dumps(data, sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode()


def with_facet(**values: Any) -> RunEvent:
    facet = RunFacet().with_additional_properties(**values)
    run = Run(runId="b8c1c9e3-5a1e-4c0f-9a1a-2c9f8b1a5e12", facets={"custom": facet})  # type: ignore[dict-item]
    return RunEvent(eventType=RunState.OTHER, eventTime="2026-08-04T09:14:22Z", run=run, job=Job("n", "j"))


def test_reported_ol_5_a_facets_values_are_json_or_refused() -> None:
    event = with_facet(sla=timedelta(days=1), threshold=Decimal("0.95"), when=AT, list=[None, 1, {"x": Decimal(1)}])
    facet = json.loads(to_bytes(event))["run"]["facets"]["custom"]
    assert {key: facet[key] for key in ("sla", "threshold", "when", "list")} == {
        "sla": "P1D",
        "threshold": "0.95",
        "when": "2026-08-04T09:14:22.123456Z",
        "list": [None, 1, {"x": "1"}],
    }
    for value in (object(), float("nan"), [object()]):
        with pytest.raises(TypeError):
            to_bytes(with_facet(bad=value))


def test_reported_ol_5_a_run_id_that_is_no_uuid_never_becomes_an_event(facts: RunFacts) -> None:
    wrong = dataclasses.replace(facts, context=dataclasses.replace(facts.context, run_id="jr_0ab1"))
    with pytest.raises(ValueError, match="UUID"):
        start_event(wrong, at=AT)


def test_reported_ol_6_size_is_counted_in_bytes_and_an_oversized_event_is_parked() -> None:
    letters = with_facet(text="x" * 299_000)
    assert parking_reason(letters, to_bytes(letters)) is None
    umlauts = with_facet(text="ü" * 160_000)
    assert "DataZone accepts 300,000" in str(parking_reason(umlauts, to_bytes(umlauts)))


@pytest.mark.parametrize(
    "unknown",
    [
        TableIdentity("", "111122223333", "db", "t"),
        TableIdentity("eu-central-1", "", "db", "t"),
        TableIdentity("eu-central-1", "None", "db", "t"),
        TableIdentity("eu-central-1", "111122223333", "", "t"),
    ],
)
def test_reported_ol_3_a_table_of_unknown_region_or_account_parks_the_event(
    facts: RunFacts, unknown: TableIdentity
) -> None:
    assert facts.target is not None
    event = terminal_event(
        dataclasses.replace(facts, target=dataclasses.replace(facts.target, identity=unknown)),
        RunStatus.COMPLETE,
        at=AT,
    )
    assert "no complete identity" in str(parking_reason(event, to_bytes(event)))


def test_events_about_known_tables_may_be_sent(events: dict[str, RunEvent]) -> None:
    assert {parking_reason(event, to_bytes(event)) for event in events.values()} == {None}


def test_reported_ol_3_two_domains_give_one_table_one_identity(facts: RunFacts) -> None:
    metadata = facts.descriptor.metadata.model_copy(update={"domain": "finance"})
    finance = dataclasses.replace(facts, descriptor=facts.descriptor.model_copy(update={"metadata": metadata}))
    seen = [wire(terminal_event(each, RunStatus.COMPLETE, at=AT))["inputs"] for each in (facts, finance)]
    assert names(seen[0]) == names(seen[1])
    assert seen[0][0]["facets"]["catalog"] == seen[1][0]["facets"]["catalog"]


def test_reported_ol_10_a_password_in_an_error_does_not_reach_the_event(facts: RunFacts) -> None:
    error = EngineFailed("cannot read jdbc:postgresql://app:s3cret@h:5432/d?password=s3cret&sslmode=require")
    body = to_bytes(terminal_event(facts, RunStatus.FAIL, at=AT, error=error))
    assert b"s3cret" not in body
    assert b"jdbc:postgresql://h:5432/d" in body


def test_the_engine_is_named_from_glues_variables_or_from_the_spark_that_is_installed() -> None:
    assert engine_of({}).glue_version == "5.1"
    assert engine_of({}).openlineage_version == version("openlineage-python")
    on_glue = engine_of({"GLUE_VERSION": "6.0", "GLUE_COMMAND_CRITERIA": "glueetl", "GLUE_PYTHON_VERSION": "3"})
    assert (on_glue.glue_version, on_glue.glue_command_criteria, on_glue.glue_python_version) == ("6.0", "glueetl", "3")


def test_building_events_leaves_openlineages_global_producer_alone(facts: RunFacts) -> None:
    from openlineage.client.generated import base

    before = base.PRODUCER
    to_bytes(start_event(facts, at=AT))
    assert before == base.PRODUCER
    assert attr.fields(RunEvent).producer.default == ""
