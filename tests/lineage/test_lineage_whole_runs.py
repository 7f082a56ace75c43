"""Whole runs of the sample pipelines with the lineage listener attached: what their events say of every column."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from lineage_sink import running_sink
from openlineage.client.serde import Serde
from openlineage_reading import OWN, facets_of, own_schema_problems, read_back, specification
from whole_runs import Lake, Run, outcomes, parent_of, process, scenarios

from sandbox.lake.catalog import register_releases
from sandbox.lake.places import CURATED, FINANCE, POLICY, RAW, TABLE
from sandbox.lake.policy import remove_bad_claims, seed_claims
from sandbox.lake.seed import prepare_catalog, write_source

pytestmark = pytest.mark.spark

ROOT = Path(__file__).resolve().parents[2]

#: The stand-in's account for the tests' access key.
CATALOG = "arn:aws:glue:eu-central-1:123456789012"
TRANSACTIONS = (CATALOG, "table/fraud_raw/transactions")
CLAIMS = (CATALOG, "table/policy_raw/claims")


@pytest.fixture(scope="module")
def runs(aws: Any, spark: Any, jars: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Run]]:
    """All runs, once: one process, one engine each."""
    prepare_catalog()
    glue, s3 = aws.client("glue"), aws.client("s3")
    source = f"glue_catalog.{RAW}.{TABLE}"
    seed_claims(glue, s3, 400)
    write_source(spark, source, 1_000)
    register_releases(glue, {})
    folder = tmp_path_factory.mktemp("listened")
    with running_sink() as sink:
        lake = Lake(folder, aws.endpoint, aws.region, {"CORDATA_LINEAGE_URL": sink.url})
        scenarios(lake)
        done = process(lake, aws, jars)
        assert done.returncode == 0, done.stderr[-3_000:]
        yield outcomes(lake, sink)
    remove_bad_claims(s3)
    for database, tables in {
        RAW: [TABLE],
        CURATED: ["transactions_scored", "transactions_scored__quarantine", "transactions_masked"],
        FINANCE: ["merchant_settlement_daily"],
        POLICY: ["claims", "claims_deduped", "claims_deduped__quarantine"],
    }.items():
        held = {table["Name"] for table in glue.get_tables(DatabaseName=database)["TableList"]}
        for table in held.intersection(tables):
            glue.delete_table(DatabaseName=database, Name=table)


def edges(of: dict[str, Any], source: tuple[str, str]) -> dict[str, dict[str, str]]:
    """Column → the source's columns that it comes from, each with how; every edge must lead to the source."""
    found: dict[str, dict[str, str]] = {}
    for column, made_of in of["facets"]["columnLineage"]["fields"].items():
        for each in made_of["inputFields"]:
            assert (each["namespace"], each["name"]) == source, column
            how = "+".join(sorted(step["subtype"] for step in each["transformations"]))
            found.setdefault(column, {})[each["field"]] = how
    return found


def deciding(of: dict[str, Any]) -> dict[str, set[str]]:
    """The source's columns that decide which rows there are."""
    return {
        each["field"]: {step["subtype"] for step in each["transformations"]}
        for each in of["facets"]["columnLineage"]["dataset"]
    }


def as_they_are(*columns: str) -> dict[str, dict[str, str]]:
    return {column: {column: "IDENTITY"} for column in columns}


SCORED = {
    **as_they_are(
        "tx_id", "account_id", "iban", "merchant_id", "country", "channel", "amount", "currency", "settled_at"
    ),
    "fraud_score": {
        "amount": "TRANSFORMATION",
        "booked_at": "CONDITIONAL",
        "channel": "CONDITIONAL",
        "country": "CONDITIONAL",
        "merchant_id": "TRANSFORMATION",
        "tx_id": "TRANSFORMATION",
    },
    "scored_date": {"settled_at": "TRANSFORMATION"},
}
SETTLED = {
    **as_they_are("merchant_id", "currency"),
    "merchant_name": {"merchant_name": "AGGREGATION"},
    "gross_amount": {"amount": "AGGREGATION"},
    "fee_amount": {"amount": "AGGREGATION"},
    "net_amount": {"amount": "AGGREGATION"},
    "settlement_date": {"settled_at": "TRANSFORMATION"},
}
#: Without how: of a window over a union of files the listener says IDENTITY.
DEDUPED = {
    **{
        column: {column}
        for column in (
            *("claim_id", "policy_id", "claimant_id", "claim_type", "incident_date", "reported_at", "amount_claimed"),
            *("amount_approved", "currency", "status", "adjuster_id", "channel"),
        )
    },
    "submissions": {"policy_id", "incident_date", "claim_type", "amount_claimed", "claim_id"},
    "ingest_date": {"reported_at"},
}


def test_every_run_ended_as_it_was_meant_to(runs: dict[str, Run]) -> None:
    codes = {name: run.code for name, run in runs.items()}
    assert codes == {
        "fraud": 0,
        "finance": 0,
        "policy": 0,
        "bad claims": 3,
        "quarantined": 3,
        "blocked": 1,
        "python": 0,
    }, [run.trace for run in runs.values()]


def test_every_column_of_the_scored_transactions_has_its_inputs_or_is_a_constant(runs: dict[str, Run]) -> None:
    output = runs["fraud"].output
    assert (output["namespace"], output["name"]) == (CATALOG, "table/fraud_curated/transactions_scored")
    assert edges(output, TRANSACTIONS) == SCORED
    assert deciding(output) == {"status": {"FILTER"}}
    assert runs["fraud"].open_points == {
        "complete": True,
        "constants": ["model_version"],
        "unknown": [],
        "limits": [],
        "undeclared_inputs": [],
    }
    masked = output["facets"]["columnLineage"]["fields"]["fraud_score"]["inputFields"]
    assert {each["field"] for each in masked if each["transformations"][0].get("masking")} == {"tx_id", "merchant_id"}


def test_every_column_of_the_settled_merchants_has_its_inputs_or_a_reason(runs: dict[str, Run]) -> None:
    output = runs["finance"].output
    assert (output["namespace"], output["name"]) == (CATALOG, "table/finance_curated/merchant_settlement_daily")
    assert edges(output, TRANSACTIONS) == SETTLED
    assert {"merchant_id", "currency", "status"} <= deciding(output).keys()
    assert runs["finance"].open_points["unknown"] == [
        {
            "columns": ["transactions"],
            "reason": "it is computed from the number or the order of rows, and from no column",
        }
    ]


def test_every_column_of_the_deduplicated_claims_has_its_inputs(runs: dict[str, Run]) -> None:
    output = runs["policy"].output
    assert (output["namespace"], output["name"]) == (CATALOG, "table/policy_raw/claims_deduped")
    found = edges(output, CLAIMS)
    assert {column: set(inputs) for column, inputs in found.items()} == DEDUPED
    assert {"Op", "commit_ts", "claim_id"} == deciding(output).keys()
    assert runs["policy"].open_points["complete"] is True


@pytest.mark.parametrize("name", ["fraud", "finance", "policy", "bad claims", "quarantined", "python"])
def test_no_column_is_left_without_inputs_mark_or_reason(runs: dict[str, Run], name: str) -> None:
    run = runs[name]
    columns = {field["name"] for field in run.output["facets"]["schema"]["fields"]}
    told = run.open_points
    with_inputs = set(run.output["facets"]["columnLineage"]["fields"])
    groups = [with_inputs, set(told["constants"]), *(set(group["columns"]) for group in told["unknown"])]
    assert set().union(*groups) == columns
    assert sum(map(len, groups)) == len(columns)


def test_a_quarantine_of_an_iceberg_product_is_made_of_the_source_through_the_branch(runs: dict[str, Run]) -> None:
    run = runs["quarantined"]
    assert run.terminal["eventType"] == "FAIL"
    assert run.output["name"] == "table/fraud_curated/transactions_scored__quarantine"
    assert edges(run.output, TRANSACTIONS) == SCORED
    assert deciding(run.output) == {"status": {"FILTER"}}
    assert run.open_points["constants"] == ["model_version", "broken_rules", "run_id"]


def test_a_quarantine_of_a_parquet_product_is_made_of_the_source_with_what_its_rules_read(
    runs: dict[str, Run],
) -> None:
    run = runs["bad claims"]
    assert run.output["name"] == "table/policy_raw/claims_deduped__quarantine"
    found = {column: set(inputs) for column, inputs in edges(run.output, CLAIMS).items()}
    assert found == {**DEDUPED, "broken_rules": {"policy_id", "amount_claimed", "currency"}}
    assert run.open_points["constants"] == ["run_id"]


def test_a_python_step_keeps_what_the_plan_shows_and_says_what_it_cannot_know(runs: dict[str, Run]) -> None:
    run = runs["python"]
    assert edges(run.output, TRANSACTIONS) == as_they_are("tx_id", "settled_at")
    told = run.open_points
    reasons = {column: group["reason"] for group in told["unknown"] for column in group["columns"]}
    assert told["constants"] == []
    assert "user-defined function" in reasons["bank"]
    assert "It reads iban." in reasons["bank"]
    assert "step score is Python" in reasons["label"]
    assert "step score is Python" in told["limits"][0]


def test_snapshots_are_those_that_were_read_and_that_main_shows(runs: dict[str, Run], spark: Any) -> None:
    def main(table: str) -> str:
        refs = spark.sql(f"SELECT snapshot_id FROM glue_catalog.{table}.refs WHERE name = 'main'")
        return str(refs.first()[0])

    for name, table in {
        "finance": f"{FINANCE}.merchant_settlement_daily",
        "fraud": f"{CURATED}.transactions_scored",
        "quarantined": f"{CURATED}.transactions_scored__quarantine",
    }.items():
        assert runs[name].output["facets"]["version"]["datasetVersion"] == main(table), name
        source = runs[name].terminal["inputs"][0]
        assert source["facets"]["version"]["datasetVersion"] == main(f"{RAW}.{TABLE}"), name
    assert "version" not in runs["policy"].output["facets"]


def test_amounts_and_places_are_those_of_the_write(runs: dict[str, Run]) -> None:
    for name, (rows_read, files_read) in {"fraud": (1_000, 5), "policy": (None, 8)}.items():
        terminal = runs[name].terminal
        read = terminal["inputs"][0]["inputFacets"]["inputStatistics"]
        assert read["fileCount"] == files_read, name
        assert read["size"] > 1_000
        assert rows_read is None or read["rowCount"] == rows_read
        written = runs[name].output["outputFacets"]["outputStatistics"]
        assert written["rowCount"] == runs[name].output["outputFacets"]["cordata_publish"]["rows"]
        assert written["size"] > 1_000
        assert "fileCount" not in written
    place = runs["policy"].output["facets"]["dataSource"]["uri"]
    assert place == "s3://cordata-policy-raw-eu-central-1/claims_deduped"


def test_the_listeners_schema_is_the_one_that_the_event_takes_from_the_frame(runs: dict[str, Run]) -> None:
    for name, branch in {
        "fraud": "transactions_scored/branch_audit",
        "finance": "settlement_daily/branch_audit",
    }.items():
        lines = (runs[name].folder / "listener" / "events.jsonl").read_text("utf-8").splitlines()
        (seen,) = [
            output["facets"]["schema"]["fields"]
            for event in map(json.loads, lines)
            if event["eventType"] == "COMPLETE"
            for output in event["outputs"]
            if branch in json.dumps(output["facets"].get("symlinks", {}))
        ]
        ours = runs[name].output["facets"]["schema"]["fields"]
        # Of one type the listener says the JSON name, not SQL's.
        canonical = [(field["name"], field["type"].replace("long", "bigint")) for field in seen]
        assert [(field["name"], field["type"]) for field in ours] == canonical


def test_reported_ol_8_forwarded_events_are_children_of_our_run(runs: dict[str, Run]) -> None:
    run = runs["fraud"]
    assert run.received[-1] in run.children
    ended = [event["eventType"] for event in run.received if event["run"]["runId"] == run.run_id]
    assert ended == ["START", "COMPLETE", "OTHER"]
    assert len(run.children) >= 2
    for event in run.children:
        assert parent_of(event) == run.run_id
        assert event["run"]["facets"]["parent"]["job"]["name"] == "transactions-scored-daily"
        assert event["job"]["name"].startswith("transactions-scored-daily.")
    written = {output["name"] for event in run.children for output in event["outputs"]}
    assert written == {"table/fraud_curated/transactions_scored"}
    last = [event for event in run.children if event["outputs"]][-1]
    assert edges(last["outputs"][0], TRANSACTIONS) == SCORED
    assert runs["finance"].children == []
    order = [event["run"]["runId"] == run.run_id for event in run.received]
    assert order == sorted(order, reverse=True)


def test_reported_ol_1_a_blocked_runs_children_have_no_output(runs: dict[str, Run]) -> None:
    run = runs["blocked"]
    assert run.terminal["eventType"] == "FAIL"
    assert (run.terminal["inputs"], run.terminal["outputs"]) == ([], [])
    assert run.children
    assert [event["outputs"] for event in run.children] == [[]] * len(run.children)


def test_a_quarantined_runs_children_write_the_quarantine_alone(runs: dict[str, Run]) -> None:
    run = runs["quarantined"]
    written = {output["name"] for event in run.children for output in event["outputs"]}
    read = {dataset["name"] for event in run.children for dataset in event["inputs"]}
    assert written == {"table/fraud_curated/transactions_scored__quarantine"}
    assert read == {"table/fraud_raw/transactions"}


def all_bodies(runs: dict[str, Run]) -> Iterator[tuple[str, bytes]]:
    for name, run in runs.items():
        for kind, body in run.bodies.items():
            yield f"{name} {kind}", body


def filled(value: Any) -> Any:
    """Without the empty maps and lists that the classes put where an event has nothing."""
    if isinstance(value, dict):
        return {key: inner for key, each in value.items() if (inner := filled(each)) not in ({}, [])}
    return [filled(each) for each in value] if isinstance(value, list) else value


def test_every_event_of_a_run_reads_back_through_openlineage_python_without_loss(runs: dict[str, Run]) -> None:
    for name, body in all_bodies(runs):
        assert filled(Serde.to_dict(read_back(body))) == filled(json.loads(body)), name


def test_every_event_of_a_run_reads_back_through_openlineage_java_without_loss(
    runs: dict[str, Run], spark: Any
) -> None:
    reader = spark._jvm.io.openlineage.client.OpenLineageClientUtils
    children = [
        (f"{name} child", line)
        for name, run in runs.items()
        if (run.folder / "listener" / "children.jsonl").exists()
        for line in (run.folder / "listener" / "children.jsonl").read_bytes().splitlines()
    ]
    assert children
    for name, body in (*all_bodies(runs), *children):
        again = json.loads(reader.toJson(reader.runEventFromJson(body.decode())))
        ours = json.loads(body)
        # The same instant, which Java writes without trailing zeros.
        assert moment(again.pop("eventTime")) == moment(ours.pop("eventTime")), name
        assert again == ours, name


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


def test_every_facet_of_a_run_holds_what_its_schema_says(runs: dict[str, Run]) -> None:
    from jsonschema import Draft202012Validator

    registry = specification()
    for name, body in all_bodies(runs):
        for where, facet in facets_of(json.loads(body)).items():
            kind = where.partition(".")[2]
            if kind in OWN:
                assert own_schema_problems(kind, facet) == [], (name, where)
            elif registry is not None:
                schema = {"$ref": facet["_schemaURL"]}
                problems = [e.message for e in Draft202012Validator(schema, registry=registry).iter_errors(facet)]
                assert problems == [], (name, where)
