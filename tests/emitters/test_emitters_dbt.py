"""dbt-ol, the real one, as docs/adapter.md configures it: what reaches DataZone, and what a refusal does to dbt."""

from __future__ import annotations

import uuid

import pytest
from adapter_sink import Sink, parent_node, run_node
from dbt_project import DbtProject

from sandbox.lineage_access import DBT_KEY, TRANSFORM_KEY
from tests.servers import free_port

pytestmark = pytest.mark.slow

PARENT = f"cordata.orchestration/merchants.dbt/{uuid.uuid4()}"


def test_its_events_are_accepted_unchanged_and_its_tables_are_named_as_our_jdbc_source_names_them(
    sink: Sink, project: DbtProject
) -> None:
    done = project.run_documented(sink.url, TRANSFORM_KEY)

    assert done.returncode == 0, done.stdout + done.stderr
    sink.took_everything_unchanged()
    assert sink.answers() == {("key", "dbt", "accepted")}
    events = sink.events("cordata.transform")
    assert len(events) == len(sink.accepted())
    [model] = [event for event in events if event["eventType"] == "COMPLETE" and event["outputs"]]
    assert model["job"]["name"] == "ledger.analytics.merchants.payments"
    nodes = sink.nodes()
    source, written = (
        f"{project.namespace}/ledger.{table}" for table in ("public.card_payments", "analytics.payments")
    )
    assert nodes[run_node(model)]["upstream"] == [source]
    assert nodes[run_node(model)]["downstream"] == [written]
    # Its tests hang on the table that they judged, and its wrapper is the parent of all of them.
    [judged] = [
        event for event in events if event["eventType"] == "COMPLETE" and event["job"]["name"].endswith(".test")
    ]
    assert {
        each["assertion"] for each in judged["inputs"][0]["inputFacets"]["dataQualityAssertions"]["assertions"]
    } == {
        "not_null",
        "unique",
    }
    assert run_node(judged) in nodes[written]["downstream"]
    for event in (model, judged):
        assert parent_node(event) in nodes
        assert ".dbt-run-merchants/" in str(parent_node(event))
    assert project.postgres.password not in str(sink.accepted())


def test_a_model_that_fails_is_told_as_failed_with_the_run_that_it_was_part_of(sink: Sink, project: DbtProject) -> None:
    (project.folder / "models" / "payments.sql").write_text("{{ config(tags=['curated']) }} select 1 / 0 as id")

    done = project.run_documented(sink.url, TRANSFORM_KEY, only="run")

    assert done.returncode == 1
    sink.took_everything_unchanged()
    failed = {event["job"]["name"] for event in sink.events() if event["eventType"] == "FAIL"}
    assert failed == {"ledger.analytics.merchants.payments", "dbt-run-merchants"}


def test_of_a_dbt_that_was_killed_nothing_is_told_unless_its_logs_are_read_and_then_no_end(
    sink: Sink, project: DbtProject
) -> None:
    project.kill_documented(sink.url, TRANSFORM_KEY)
    assert sink.received() == []

    project.kill_documented(sink.url, TRANSFORM_KEY, ("dbt-ol run", "dbt-ol run --consume-structured-logs"))
    sink.took_everything_unchanged()
    told = {(event["job"]["name"], event["eventType"]) for event in sink.events()}
    assert told >= {("dbt-run-merchants", "START"), ("model.merchants.payments", "START")}
    assert not {name for name, state in told if state != "START"} & {"dbt-run-merchants", "model.merchants.payments"}


def test_a_wrong_key_costs_the_lineage_and_not_the_tables(sink: Sink, project: DbtProject) -> None:
    done = project.run_documented(sink.url, "wrong-key-wrong-key-wrong-key-wrong-key", only="run")

    assert done.returncode == 0, done.stdout + done.stderr
    assert project.postgres.sql("SELECT count(*) FROM analytics.payments") == "5"
    assert done.stdout.count("OpenLineage client failed to emit event") == 4
    assert "403 Client Error" in done.stdout
    assert "Emitted 0 OpenLineage events" in done.stdout
    assert (sink.received(), sink.accepted(), sink.letters()) == ([], [], [])


def test_an_adapter_that_is_away_costs_the_lineage_and_not_the_tables(project: DbtProject) -> None:
    done = project.run_documented(f"http://127.0.0.1:{free_port()}", TRANSFORM_KEY, only="run")

    assert done.returncode == 0, done.stdout + done.stderr
    assert project.postgres.sql("SELECT count(*) FROM analytics.payments") == "5"
    assert "Emitted 0 OpenLineage events" in done.stdout


@pytest.mark.parametrize(
    ("namespace", "reason"),
    [
        ("cordata.fraud", "belongs to domain fraud, the caller belongs to transform"),
        ("dbt", "'dbt'"),  # what dbt-ol says where nothing else is said
    ],
)
def test_another_namespace_is_refused_and_kept_as_dead_letters(
    sink: Sink, project: DbtProject, namespace: str, reason: str
) -> None:
    done = project.run_documented(sink.url, TRANSFORM_KEY, ("cordata.transform", namespace), only="run")

    assert done.returncode == 0, done.stdout + done.stderr
    assert "Emitted 0 OpenLineage events" in done.stdout
    assert sink.accepted() == []
    letters = sink.letters()
    assert len(letters) == len(sink.received()) == 4
    assert all(reason in letter["reason"] for letter in letters)


def test_a_domains_own_dbt_speaks_for_its_domain(sink: Sink, project: DbtProject) -> None:
    done = project.run_documented(sink.url, DBT_KEY, ("cordata.transform", "cordata.fraud.dbt"), only="run")

    assert done.returncode == 0, done.stdout + done.stderr
    sink.took_everything_unchanged()
    assert sink.answers() == {("key", "dbt-fraud", "accepted")}


def test_called_by_an_orchestrator_its_wrapper_is_told_in_the_parents_namespace_which_its_key_has_to_cover(
    sink: Sink, project: DbtProject
) -> None:
    parent = ("export OPENLINEAGE_NAMESPACE=", f"export OPENLINEAGE_PARENT_ID={PARENT} OPENLINEAGE_NAMESPACE=")

    done = project.run_documented(sink.url, TRANSFORM_KEY, parent, only="run")

    assert done.returncode == 0, done.stdout + done.stderr
    assert {letter["job"] for letter in sink.letters()} == {"cordata.orchestration.dbt-run-merchants"}
    assert {event["job"]["name"] for event in sink.events()} == {"ledger.analytics.merchants.payments"}


def test_reading_its_logs_it_tells_of_runs_while_they_run_and_in_its_own_namespace(
    sink: Sink, project: DbtProject
) -> None:
    done = project.run_documented(
        sink.url,
        TRANSFORM_KEY,
        ("export OPENLINEAGE_NAMESPACE=", f"export OPENLINEAGE_PARENT_ID={PARENT} OPENLINEAGE_NAMESPACE="),
        ("dbt-ol run", "dbt-ol run --consume-structured-logs"),
        only="run",
    )

    assert done.returncode == 0, done.stdout + done.stderr
    sink.took_everything_unchanged()
    events = sink.events("cordata.transform")
    assert len(events) == len(sink.accepted())
    [wrapper] = [
        event for event in events if event["job"]["name"] == "dbt-run-merchants" and event["eventType"] == "START"
    ]
    assert parent_node(wrapper) == "cordata.orchestration.merchants.dbt/" + PARENT.rpartition("/")[2]
    [model] = [event for event in events if event["outputs"] and event["eventType"] == "COMPLETE"]
    assert model["job"]["name"] == "model.merchants.payments"
    # Here the seed that the model reads is a table as well.
    read = {dataset["name"] for dataset in model["inputs"]}
    assert read == {"ledger.public.card_payments", "ledger.analytics.terminals"}
