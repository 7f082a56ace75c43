"""A batch of a replication, through the command: START, one terminal event, and what it says."""

from __future__ import annotations

import json
import signal
import time
import uuid
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from pipeline_runtime.lineage import own_facets

pytestmark = pytest.mark.lengthy

FINISHED = {"Status": "stopped", "StopReason": "Stop Reason FULL_LOAD_ONLY_FINISHED"}


def counted(table: str = "claim", state: str = "Table completed", **counters: int) -> dict[str, Any]:
    return {"SchemaName": "public", "TableName": table, "TableState": state, **counters}


def run_id() -> str:
    return str(uuid.uuid4())


def test_a_full_load_is_a_run_from_the_source_system_to_the_landing_table(replicated: Any) -> None:
    task, run = replicated(), run_id()
    task.plays({"Status": "running"}, {**FINISHED, "Statistics": [counted(FullLoadRows=3), counted("note")]})

    outcome = task.ingest("--run-id", run)

    assert outcome.code == 0, outcome.out + outcome.err
    assert task.received(run) == ["START", "COMPLETE"], outcome.out
    event = task.event(run)
    assert event["job"]["namespace"] == "cordata.policy"
    assert [(each["namespace"], each["name"]) for each in event["inputs"]] == [
        ("postgres://claims.example.org:5433", "claims.public.claim")
    ]
    (output,) = event["outputs"]
    glue = "arn:aws:glue:eu-central-1:333344445555"
    assert (output["namespace"], output["name"]) == (glue, f"table/{task.database}/claims")
    assert output["facets"]["symlinks"]["identifiers"][0] == {
        "namespace": glue,
        "name": f"table/{task.database}/claims",
        "type": "TABLE",
    }
    assert output["outputFacets"]["outputStatistics"]["rowCount"] == 3
    facet = event["run"]["facets"]["cordata_replication"]
    assert (facet["task"], facet["batch"], facet["migration_type"]) == (task.arn, 1, "full-load")


def test_facets_of_ours_are_as_their_schemas_say(replicated: Any) -> None:
    task, run = replicated(), run_id()
    task.plays({**FINISHED, "Statistics": [counted(FullLoadRows=3)]})
    assert task.ingest("--run-id", run).code == 0
    event = task.event(run)

    for name, facet in (
        ("ReplicationRunFacet", event["run"]["facets"]["cordata_replication"]),
        ("LandedOutputDatasetFacet", event["outputs"][0]["outputFacets"]["cordata_landed"]),
    ):
        schema = json.loads((Path(own_facets.__file__).parent / "schemas" / f"{name}.json").read_text())
        Draft202012Validator(schema).validate(facet)


def test_the_landing_table_names_the_run_and_keeps_what_else_it_says(replicated: Any) -> None:
    task, run = replicated(), run_id()
    task.plays({**FINISHED, "Statistics": [counted(FullLoadRows=3)]})

    assert task.ingest("--run-id", run).code == 0

    assert task.parameters("claims") == {
        "cordata.primary_keys": "claim_id",
        "team": "claims",
        "cordata.replication_run": run,
    }


def test_a_table_that_no_catalog_knows_is_its_folder(replicated: Any) -> None:
    task, run = replicated(), run_id()
    task.plays({**FINISHED, "Statistics": [counted("note", FullLoadRows=2)]})

    outcome = task.ingest("--run-id", run)

    (output,) = task.event(run)["outputs"]
    assert (output["namespace"], output["name"]) == (f"s3://{task.bucket}", "raw/public/note")
    assert f"WARNING no table of the given databases lies at s3://{task.bucket}/raw/public/note/" in outcome.out
    assert "cordata.replication_run" not in task.parameters("claims")


def test_changes_are_told_batch_by_batch_and_the_task_goes_on(replicated: Any) -> None:
    task, first, second = replicated("full-load-and-cdc"), run_id(), run_id()
    task.plays({"Status": "running", "Statistics": [counted(FullLoadRows=10, Inserts=1)]})
    assert task.ingest("--for", "PT1S", "--run-id", first).code == 0
    task.plays({"Statistics": [counted(FullLoadRows=10, Inserts=4, Updates=5, Deletes=6)]})

    outcome = task.ingest("--for", "PT1S", "--run-id", second)

    assert outcome.code == 0, outcome.out + outcome.err
    assert "is running already; following it" in outcome.out
    assert task.status() == "running"
    assert task.event(first)["outputs"][0]["outputFacets"]["outputStatistics"]["rowCount"] == 11
    (output,) = task.event(second)["outputs"]
    landed = {key: value for key, value in output["outputFacets"]["cordata_landed"].items() if key[0] != "_"}
    assert landed == {
        "source_namespace": "postgres://claims.example.org:5433",
        "source_name": "claims.public.claim",
        "full_load_rows": 0,
        "inserts": 3,
        "updates": 5,
        "deletes": 6,
    }
    facet = task.event(second)["run"]["facets"]["cordata_replication"]
    assert (facet["batch"], facet["previous_run_id"]) == (2, first)
    assert task.parameters("claims")["cordata.replication_run"] == second


def test_a_batch_without_changes_names_no_dataset_and_leaves_the_earlier_run_on_the_table(replicated: Any) -> None:
    task, first, second = replicated("cdc"), run_id(), run_id()
    task.plays({"Status": "running", "Statistics": [counted(Inserts=1)]})
    assert task.ingest("--for", "PT1S", "--run-id", first).code == 0

    assert task.ingest("--for", "PT1S", "--run-id", second).code == 0

    event = task.event(second)
    assert (event["eventType"], event["inputs"], event["outputs"]) == ("COMPLETE", [], [])
    assert task.parameters("claims")["cordata.replication_run"] == first


def test_caught_up_means_that_the_load_is_over_and_no_counter_moved(replicated: Any) -> None:
    task, run = replicated("full-load-and-cdc"), run_id()
    loading = [{"Status": "running", "Loaded": False, "Statistics": [counted(FullLoadRows=1)]}] * 150
    task.plays(*loading, {"Loaded": True, "Statistics": [counted(FullLoadRows=9)]})

    outcome = task.ingest("--until-caught-up", "PT1S", "--for", "PT5M", "--run-id", run)

    assert outcome.code == 0, outcome.out + outcome.err
    assert "caught up" in outcome.out
    assert task.event(run)["outputs"][0]["outputFacets"]["outputStatistics"]["rowCount"] == 9


def test_a_task_that_is_stopped_with_its_batch_is_resumed_by_the_next(replicated: Any) -> None:
    task, first, second = replicated("cdc"), run_id(), run_id()
    task.plays({"Status": "running", "Statistics": [counted(Inserts=2)]})
    assert task.ingest("--for", "PT1S", "--stop", "--run-id", first).code == 0
    assert task.status() == "stopped"
    task.plays({"Status": "running", "Statistics": [counted(Inserts=7)]})

    outcome = task.ingest("--for", "PT1S", "--run-id", second)

    assert "resume-processing" in outcome.out
    assert task.event(second)["outputs"][0]["outputFacets"]["outputStatistics"]["rowCount"] == 5


def test_a_load_that_is_made_anew_counts_from_nothing(replicated: Any) -> None:
    task, second = replicated(), run_id()
    task.plays({**FINISHED, "Statistics": [counted(FullLoadRows=3)]})
    assert task.ingest().code == 0
    task.plays({**FINISHED, "Statistics": [counted(FullLoadRows=5)]})

    outcome = task.ingest("--run-id", second)

    assert "reload-target" in outcome.out
    assert task.event(second)["outputs"][0]["outputFacets"]["outputStatistics"]["rowCount"] == 5


def test_a_failed_task_is_a_fail_with_its_reason_and_without_its_secrets(replicated: Any) -> None:
    task, run = replicated(), run_id()
    reason = "Failed to connect: postgres://dms:s3cret-word@claims.example.org/claims password=s3cret-word"
    task.plays({"Status": "running"}, {"Status": "failed", "LastFailureMessage": reason})

    outcome = task.ingest("--run-id", run)

    assert outcome.code == 1
    assert task.received(run) == ["START", "FAIL"]
    event = task.event(run)
    assert (
        "is failed: Failed to connect: postgres://claims.example.org"
        in event["run"]["facets"]["errorMessage"]["message"]
    )
    assert (event["inputs"], event["outputs"]) == ([], [])
    everything = (
        outcome.out + outcome.err + "".join(file.read_text() for file in task.folder.rglob("*") if file.is_file())
    )
    assert "s3cret-word" not in everything
    assert "cordata.replication_run" not in task.parameters("claims")


def test_what_a_failed_batch_has_landed_is_counted_by_the_next(replicated: Any) -> None:
    task, run = replicated("cdc"), run_id()
    task.plays({"Status": "running", "Statistics": [counted(Inserts=2)]}, {"Status": "failed"})
    assert task.ingest("--for", "PT5M").code == 1
    task.plays({"Status": "running", "Statistics": [counted(Inserts=3)]})

    assert task.ingest("--for", "PT1S", "--run-id", run).code == 0

    event = task.event(run)
    assert event["outputs"][0]["outputFacets"]["outputStatistics"]["rowCount"] == 3
    assert event["run"]["facets"]["cordata_replication"]["batch"] == 1


def test_a_table_that_dms_has_given_up_fails_the_batch(replicated: Any) -> None:
    task, run = replicated(), run_id()
    task.plays({**FINISHED, "Statistics": [counted(FullLoadRows=3), counted("note", "Table error")]})

    assert task.ingest("--run-id", run).code == 1

    event = task.event(run)
    assert event["eventType"] == "FAIL"
    assert "has given up public.note (Table error)" in event["run"]["facets"]["errorMessage"]["message"]


def test_a_task_that_somebody_stops_is_an_abort(replicated: Any) -> None:
    task, run = replicated("cdc"), run_id()
    task.plays({"Status": "running"}, {"Status": "stopped", "StopReason": "Stop Reason NORMAL"})

    outcome = task.ingest("--for", "PT5M", "--run-id", run)

    assert outcome.code == 1
    assert task.received(run) == ["START", "ABORT"]
    assert "was stopped (NORMAL)" in task.event(run)["run"]["facets"]["errorMessage"]["message"]


def test_sigterm_is_an_abort_and_the_replication_goes_on(replicated: Any) -> None:
    task, run = replicated("cdc"), run_id()
    task.plays({"Status": "running", "Statistics": [counted(Inserts=2)]})
    process = task.begin(run)
    time.sleep(0.5)

    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=30)

    assert process.returncode == 1
    assert task.received(run) == ["START", "ABORT"]
    assert task.status() == "running"


def test_a_database_that_is_not_there_fails_before_the_task_is_started(replicated: Any) -> None:
    task, run = replicated(), run_id()

    assert task.ingest("--run-id", run, database="policy_rw").code == 1

    assert task.event(run)["eventType"] == "FAIL"
    assert task.status() == "ready"


def test_host_and_port_come_from_the_endpoints_secret_and_nothing_else_of_it(replicated: Any) -> None:
    held = {"host": "vault.example.org", "port": 5499, "username": "dms", "password": "s3cret-word"}
    task, run = replicated(ServerName="", PostgreSQLSettings={"SecretsManagerSecretId": "claims-dms"}), run_id()
    task.cloud.client("secretsmanager").create_secret(Name="claims-dms", SecretString=json.dumps(held))
    task.plays({**FINISHED, "Statistics": [counted(FullLoadRows=3)]})

    outcome = task.ingest("--run-id", run)

    assert outcome.code == 0, outcome.out + outcome.err
    assert task.event(run)["inputs"][0]["namespace"] == "postgres://vault.example.org:5499"
    assert "s3cret-word" not in json.dumps(task.event(run))


@pytest.mark.parametrize(
    ("kind", "options", "says"),
    [
        ("cdc", (), "follows changes (cdc) and never ends"),
        ("full-load", ("--for", "PT1M"), "is a full load, which ends by itself"),
        ("full-load", ("--stop",), "is a full load, which ends by itself"),
    ],
)
def test_where_a_batch_ends_must_fit_the_task(replicated: Any, kind: str, options: tuple[str, ...], says: str) -> None:
    task, run = replicated(kind), run_id()

    outcome = task.ingest(*options, "--run-id", run)

    assert (outcome.code, says in outcome.err) == (2, True), outcome.err
    assert not (task.folder / "evidence" / "runs" / run).exists()
    assert task.status() == "ready"


def test_an_unknown_task_and_no_task_at_all_are_refused_with_nothing_emitted(replicated: Any) -> None:
    task = replicated()

    unknown = task.ingest(task=task.arn + "-gone")
    nonsense = task.ingest(task="claims")

    assert unknown.code == nonsense.code == 2
    assert "there is no replication task" in unknown.err
    assert "write arn:aws:dms:<region>:<account>:task:<id>" in nonsense.err


def test_mappings_that_rename_tables_are_refused(replicated: Any) -> None:
    rule = {"rule-type": "transformation", "rule-name": "short", "rule-target": "table", "rule-action": "rename"}
    task = replicated(mappings=json.dumps({"rules": [rule]}))

    outcome = task.ingest()

    assert outcome.code == 2
    assert "the rule short of its mappings changes the name of a table" in outcome.err


def test_a_source_without_an_agreed_name_in_lineage_is_refused(replicated: Any) -> None:
    outcome = replicated(EngineName="mongodb").ingest()

    assert outcome.code == 2
    assert "is of engine mongodb" in outcome.err
