"""What the Spark listener saw, folded into the terminal event: on events as it writes them."""

from __future__ import annotations

import dataclasses
import json
from datetime import UTC, datetime
from typing import Any

import pytest
from listener_samples import (
    BRANCH,
    QUARANTINE,
    SOURCE,
    TARGET,
    batch_write,
    creation,
    edge,
    event,
    quarantine_write,
    read,
    witnessed,
    written,
)
from pydantic import SecretStr

from pipeline_runtime.catalog.connections import JdbcEndpoint
from pipeline_runtime.catalog.table import Partition
from pipeline_runtime.errors import EngineFailed
from pipeline_runtime.lineage.column_origins import Origin, OriginKind
from pipeline_runtime.lineage.events import RunStatus, terminal_event, to_bytes
from pipeline_runtime.lineage.facts import RunFacts
from pipeline_runtime.schema.columns import Column, Schema

AT = datetime(2026, 8, 4, 9, 14, 22, tzinfo=UTC)
OUR_SOURCE = ("arn:aws:glue:eu-central-1:444455556666", "table/fraud_raw/transactions")


def wire(facts: RunFacts, status: RunStatus = RunStatus.COMPLETE) -> dict[str, Any]:
    error = None if status is RunStatus.COMPLETE else EngineFailed("the suite failed")
    data: dict[str, Any] = json.loads(to_bytes(terminal_event(facts, status, at=AT, error=error)))
    return data


def edges(of: dict[str, Any]) -> dict[str, list[tuple[Any, ...]]]:
    """Each output column's inputs: dataset, column, transformations."""
    facet = of["outputs"][0]["facets"].get("columnLineage", {"fields": {}})
    return {column: [flat(each) for each in made_of["inputFields"]] for column, made_of in facet["fields"].items()}


def flat(each: dict[str, Any]) -> tuple[Any, ...]:
    kinds = [(step["type"], step.get("subtype")) for step in each["transformations"]]
    return ((each["namespace"], each["name"]), each["field"], *kinds)


def open_points(of: dict[str, Any]) -> dict[str, Any]:
    facet = of["outputs"][0]["facets"]["cordata_column_origins"]
    return {key: value for key, value in facet.items() if not key.startswith("_")}


def test_column_lineage_names_our_datasets_without_branch_and_with_the_owners_account(facts: RunFacts) -> None:
    seen = wire(witnessed(facts, creation(), batch_write()))

    assert edges(seen) == {
        "tx_id": [(OUR_SOURCE, "tx_id", ("DIRECT", "IDENTITY"))],
        "fraud_score": [
            (OUR_SOURCE, "amount", ("DIRECT", "TRANSFORMATION")),
            (OUR_SOURCE, "tx_id", ("INDIRECT", "CONDITIONAL")),
        ],
    }
    rows = seen["outputs"][0]["facets"]["columnLineage"]["dataset"]
    assert [flat(each) for each in rows] == [(OUR_SOURCE, "status", ("INDIRECT", "FILTER"))]
    assert open_points(seen) == {
        "complete": True,
        "constants": [],
        "unknown": [],
        "limits": [],
        "undeclared_inputs": [],
    }
    assert b"branch_audit" not in json.dumps(seen).encode()


def test_the_statistics_are_the_listeners_where_it_knows_and_the_commits_where_that_knows_better(
    facts: RunFacts,
) -> None:
    seen = wire(witnessed(facts, batch_write()))
    source, target = seen["inputs"][0], seen["outputs"][0]
    amounts = {key: value for key, value in source["inputFacets"]["inputStatistics"].items() if key[0] != "_"}
    assert amounts == {"rowCount": 1_500, "size": 85_531, "fileCount": 5}
    amounts = {key: value for key, value in target["outputFacets"]["outputStatistics"].items() if key[0] != "_"}
    assert amounts == {"rowCount": 1_000, "size": 42_662}


def test_versions_are_the_snapshots_that_were_read_and_published_not_the_listeners(facts: RunFacts) -> None:
    assert facts.source is not None
    table = dataclasses.replace(facts.source.table, current_snapshot=7_035_963_749_939_183_561)
    seen = wire(
        witnessed(
            dataclasses.replace(facts, source=dataclasses.replace(facts.source, table=table)), creation(), batch_write()
        )
    )
    assert seen["inputs"][0]["facets"]["version"]["datasetVersion"] == "7035963749939183561"
    assert seen["outputs"][0]["facets"]["version"]["datasetVersion"] == "9007199254740993"


def test_places_of_storage_are_told_of_both_sides(facts: RunFacts) -> None:
    seen = wire(facts)
    for side, uri in (("inputs", "s3://raw/transactions"), ("outputs", "s3://curated/transactions_scored")):
        about = seen[side][0]["facets"]
        assert about["dataSource"]["uri"] == uri
        assert about["storage"]["storageLayer"] == "iceberg"


def test_a_quarantine_write_is_composed_through_the_branch_that_it_reads(facts: RunFacts) -> None:
    masked = batch_write()
    masked["outputs"][0]["facets"]["columnLineage"]["fields"]["tx_id"]["inputFields"][0]["transformations"] = [
        {"type": "DIRECT", "subtype": "TRANSFORMATION", "masking": True}
    ]
    seen = wire(witnessed(facts, masked, quarantine_write()), RunStatus.QUARANTINED)

    assert edges(seen) == {
        "tx_id": [(OUR_SOURCE, "tx_id", ("DIRECT", "TRANSFORMATION"))],
        "fraud_score": [
            (OUR_SOURCE, "amount", ("DIRECT", "TRANSFORMATION")),
            (OUR_SOURCE, "tx_id", ("INDIRECT", "CONDITIONAL")),
        ],
        "broken_rules": [
            (OUR_SOURCE, "amount", ("INDIRECT", "CONDITIONAL")),
            (OUR_SOURCE, "tx_id", ("INDIRECT", "CONDITIONAL")),
        ],
    }
    lineage = seen["outputs"][0]["facets"]["columnLineage"]
    assert lineage["fields"]["tx_id"]["inputFields"][0]["transformations"][0]["masking"] is True
    assert [flat(each)[:2] for each in lineage["dataset"]] == [(OUR_SOURCE, "status")]
    assert open_points(seen)["constants"] == ["run_id"]
    assert open_points(seen)["complete"] is True
    names = [field["name"] for field in seen["outputs"][0]["facets"]["schema"]["fields"]]
    assert names == ["tx_id", "fraud_score", "broken_rules", "run_id"]
    assert seen["outputs"][0]["outputFacets"]["outputStatistics"]["size"] == 31_320
    assert seen["inputs"][0]["inputFacets"]["inputStatistics"]["rowCount"] == 1_500


def test_a_failed_run_has_neither_datasets_nor_lineage_whatever_the_listener_saw(facts: RunFacts) -> None:
    seen = wire(witnessed(facts, batch_write()), RunStatus.FAIL)
    assert (seen["inputs"], seen["outputs"]) == ([], [])


def test_a_second_write_of_the_audited_rows_does_not_hide_where_they_came_from(facts: RunFacts) -> None:
    again = event(
        inputs=[read(TARGET, "fraud_curated/transactions_scored")],
        outputs=[
            written(
                TARGET,
                f"fraud_curated/transactions_scored/{BRANCH}_again",
                {"tx_id": [edge(TARGET, "tx_id")], "fraud_score": [edge(TARGET, "fraud_score")]},
            )
        ],
    )
    once, twice = wire(witnessed(facts, batch_write())), wire(witnessed(facts, batch_write(), again))
    assert edges(once) == edges(twice)
    assert {dataset for inputs in edges(twice).values() for dataset, *_ in inputs} == {OUR_SOURCE}


def test_only_the_writes_complete_is_believed(facts: RunFacts) -> None:
    for untold in (batch_write(kind="RUNNING"), batch_write(kind="FAIL"), creation()):
        seen = wire(witnessed(facts, untold))
        assert edges(seen) == {}
        (group,) = open_points(seen)["unknown"]
        assert group["columns"] == ["tx_id", "fraud_score"]
        assert group["reason"] == "the listener left no event about the write of the batch"


def test_a_parquet_tables_files_are_the_table_in_whichever_folder_they_lie(facts: RunFacts) -> None:
    assert facts.target is not None
    assert facts.source is not None
    other = Partition(("2026-08-01",), "s3://elsewhere/day1")
    source = dataclasses.replace(
        facts.source,
        table=dataclasses.replace(facts.source.table, is_iceberg=False, location="s3://raw/transactions/_runs/r1"),
        partitions=(other,),
    )
    parquet = dataclasses.replace(
        facts, target=dataclasses.replace(facts.target, kind="parquet"), source=source, published=None
    )
    run = ("s3://curated", f"transactions_scored/_runs/{facts.context.run_id}")
    one, two = ("s3://raw", "transactions/2026/part-1.parquet"), ("s3a://elsewhere", "day1")
    columns = {"tx_id": [edge(one, "tx_id"), edge(two, "tx_id"), edge(two, "_metadata")]}
    write = event(
        inputs=[read(one, size=10, fileCount=1), read(two, size=20, fileCount=2)],
        outputs=[written(run, None, columns, rows=[edge(one, "_metadata", ("INDIRECT", "FILTER"))], size=7)],
    )
    seen = wire(witnessed(parquet, write))
    assert edges(seen) == {"tx_id": [(OUR_SOURCE, "tx_id", ("DIRECT", "IDENTITY"))]}
    assert seen["outputs"][0]["facets"]["columnLineage"]["dataset"] == []
    amounts = seen["inputs"][0]["inputFacets"]["inputStatistics"]
    assert (amounts["size"], amounts["fileCount"], "rowCount" in amounts) == (30, 3, False)


def test_rows_that_the_listener_does_not_count_are_counted_by_the_scans_own_metric(facts: RunFacts) -> None:
    seen = wire(dataclasses.replace(facts, rows_read=1_234))
    assert seen["inputs"][0]["inputFacets"]["inputStatistics"]["rowCount"] == 1_234


def test_a_dataset_that_the_descriptor_does_not_name_is_told(facts: RunFacts) -> None:
    write = batch_write()
    fields = write["outputs"][0]["facets"]["columnLineage"]["fields"]
    fields["tx_id"]["inputFields"].append(edge(("s3://hidden", "limits"), "limit"))
    write["inputs"].append(read(("s3://hidden", "limits"), "risk/limits/branch_draft"))
    fields["fraud_score"]["inputFields"].append(edge(("s3a://loose", "file.parquet"), "x"))

    seen = wire(witnessed(facts, write))

    hidden = {"namespace": "arn:aws:glue:eu-central-1:111122223333", "name": "table/risk/limits"}
    assert open_points(seen)["undeclared_inputs"] == [hidden, {"namespace": "s3://loose", "name": "file.parquet"}]
    assert (tuple(hidden.values()), "limit", ("DIRECT", "IDENTITY")) in edges(seen)["tx_id"]


def test_a_source_and_a_target_of_one_name_in_two_accounts_are_told_apart_by_where_they_lie(facts: RunFacts) -> None:
    assert facts.source is not None
    identity = dataclasses.replace(facts.source.table.identity, database="fraud_curated", table="transactions_scored")
    source = dataclasses.replace(facts.source, table=dataclasses.replace(facts.source.table, identity=identity))
    seen = wire(witnessed(dataclasses.replace(facts, source=source), batch_write()))
    ((dataset, *_),) = edges(seen)["tx_id"]
    assert dataset == ("arn:aws:glue:eu-central-1:444455556666", "table/fraud_curated/transactions_scored")


def test_columns_are_found_whatever_their_case(facts: RunFacts) -> None:
    upper = dataclasses.replace(
        facts, written_schema=Schema((Column("TX_ID", "string"), Column("Fraud_Score", "double")))
    )
    assert open_points(wire(witnessed(upper, batch_write())))["complete"] is True


WRITTEN = Schema(tuple(Column(name, "string") for name in ("tx_id", "fraud_score", "extra")))


@pytest.mark.parametrize(
    ("origin", "expected"),
    [
        (Origin(OriginKind.CONSTANT), None),
        (Origin(OriginKind.INLINE), None),
        (Origin(OriginKind.ROWS), "the number or the order of rows"),
        (Origin(OriginKind.MOMENT), "the clock or from chance"),
        (Origin(OriginKind.CODE, ("amount",)), "a user-defined function makes it"),
        (Origin(OriginKind.DATA), "cut off from the plan"),
        (Origin(OriginKind.COLUMNS, ("amount",)), "It reads amount."),
        (Origin(OriginKind.UNKNOWN), "does not say why"),
        (None, "the listener names no input of it"),
    ],
)
def test_a_column_without_inputs_is_a_constant_or_has_a_reason(
    facts: RunFacts, origin: Origin | None, expected: str | None
) -> None:
    origins = {"tx_id": Origin(OriginKind.COLUMNS, ("tx_id",)), **({"extra": origin} if origin else {})}
    more = dataclasses.replace(facts, written_schema=WRITTEN, origins=origins)
    said = open_points(wire(witnessed(more, batch_write())))
    if expected is None:
        assert (said["constants"], said["unknown"], said["complete"]) == (["extra"], [], True)
    else:
        (group,) = said["unknown"]
        assert (said["constants"], group["columns"], said["complete"]) == ([], ["extra"], False)
        assert expected in group["reason"]


def test_python_steps_never_make_a_constant_of_what_their_code_may_have_read(facts: RunFacts) -> None:
    step = facts.descriptor.steps[1].model_copy(update={"kind": "python", "query_file": None, "module": "m"})
    descriptor = facts.descriptor.model_copy(update={"steps": [facts.descriptor.steps[0], step]})
    more = dataclasses.replace(
        facts, descriptor=descriptor, written_schema=WRITTEN, origins={"extra": Origin(OriginKind.CONSTANT)}
    )
    said = open_points(wire(witnessed(more, batch_write())))
    assert said["constants"] == []
    assert "step score is Python" in said["unknown"][0]["reason"]
    assert "step score is Python" in said["limits"][0]
    assert said["complete"] is False
    assert edges(wire(witnessed(more, batch_write())))["tx_id"] != []


@pytest.mark.parametrize(
    "missing", ["Spark was not started", "no lineage listener was attached to the run's Spark", "it was interrupted"]
)
def test_where_nobody_listened_every_column_says_why_and_the_schema_is_there(facts: RunFacts, missing: str) -> None:
    seen = wire(witnessed(facts, missing=missing))
    assert "columnLineage" not in seen["outputs"][0]["facets"]
    assert open_points(seen)["unknown"] == [{"columns": ["tx_id", "fraud_score"], "reason": missing}]
    assert [field["name"] for field in seen["outputs"][0]["facets"]["schema"]["fields"]] == ["tx_id", "fraud_score"]


def test_a_listener_that_was_not_heard_to_the_end_makes_the_lineage_partial(facts: RunFacts) -> None:
    said = open_points(wire(witnessed(facts, batch_write(), missing="not heard to the end")))
    assert said["limits"] == ["not heard to the end"]
    assert said["complete"] is False
    assert said["unknown"] == []


@pytest.mark.parametrize(
    "spoil",
    [
        lambda write: write["outputs"][0]["facets"].update(columnLineage={"fields": {"tx_id": 3}}),
        lambda write: write["outputs"][0]["facets"].update(columnLineage=[1]),
        lambda write: write["outputs"].insert(0, "text"),
        lambda write: write["inputs"].insert(0, {}),
        lambda write: write["outputs"][0]["facets"].update(columnLineage={"fields": {"a": {"inputFields": [{}]}}}),
    ],
)
def test_events_that_cannot_be_understood_cost_the_lineage_and_not_the_event(facts: RunFacts, spoil: Any) -> None:
    write = batch_write()
    spoil(write)
    seen = wire(witnessed(facts, write))
    assert seen["eventType"] == "COMPLETE"
    assert "could not be understood" in open_points(seen)["unknown"][0]["reason"]


def test_quarantine_and_its_write_missing_is_said(facts: RunFacts) -> None:
    seen = wire(witnessed(facts, batch_write()), RunStatus.QUARANTINED)
    (group,) = open_points(seen)["unknown"]
    assert "the write of the quarantine" in group["reason"]
    assert QUARANTINE[1] in seen["outputs"][0]["name"]
    assert SOURCE[1] in seen["inputs"][0]["name"]


def database(facts: RunFacts) -> RunFacts:
    """The same run, its source a table of a database."""
    assert facts.source is not None
    url = "jdbc:postgresql://h:5432/ledger"
    endpoint = JdbcEndpoint("h", 5432, "ledger", "public", "payments", url, "app", SecretStr("s3cret"))
    return dataclasses.replace(facts, source=dataclasses.replace(facts.source, jdbc=endpoint))


def test_a_databases_table_is_known_under_its_name_however_it_is_quoted(facts: RunFacts) -> None:
    there = ("postgres://h:5432", 'ledger."public"."payments"')
    columns = {"tx_id": [edge(there, "tx_id")], "fraud_score": [edge(there, "amount")]}
    write = event(
        inputs=[read(there)],
        outputs=[written(TARGET, f"fraud_curated/transactions_scored/{BRANCH}", columns)],
    )
    seen = wire(witnessed(database(facts), write))
    assert {dataset for inputs in edges(seen).values() for dataset, *_ in inputs} == {
        ("postgres://h:5432", "ledger.public.payments")
    }
    assert open_points(seen)["undeclared_inputs"] == []


def test_what_a_database_is_asked_in_a_query_is_not_seen_and_said(facts: RunFacts) -> None:
    origins = {"tx_id": Origin(OriginKind.COLUMNS, ("id",)), "fraud_score": Origin(OriginKind.CONSTANT)}
    asked = dataclasses.replace(database(facts), origins=origins)
    write = event(outputs=[written(TARGET, f"fraud_curated/transactions_scored/{BRANCH}", None)])
    said = open_points(wire(witnessed(asked, write)))
    assert said["constants"] == ["fraud_score"]
    reason = "the listener does not see into the query that the database is asked. It reads id."
    assert said["unknown"] == [{"columns": ["tx_id"], "reason": reason}]


def test_of_two_locations_one_inside_the_other_the_inner_one_names_the_dataset(facts: RunFacts) -> None:
    assert facts.source is not None
    table = dataclasses.replace(facts.source.table, is_iceberg=False, location="s3://curated/transactions_scored/raw")
    inner = dataclasses.replace(facts, source=dataclasses.replace(facts.source, table=table))
    write = batch_write()
    fields = write["outputs"][0]["facets"]["columnLineage"]["fields"]
    fields["tx_id"]["inputFields"] = [edge(("s3://curated", "transactions_scored/raw/1.parquet"), "tx_id")]
    assert [dataset for dataset, *_ in edges(wire(witnessed(inner, write)))["tx_id"]] == [OUR_SOURCE]
