"""Events as the Spark listener writes them, for the run of the `facts` fixture: what matters of them, by its rules.

They name a table by its location, give a Glue table's symlink the job's account, and a write its branch.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from pipeline_runtime.lineage.facts import RunFacts
from pipeline_runtime.lineage.listener import Witness

JOB = "arn:aws:glue:eu-central-1:111122223333"
SOURCE = ("s3://raw", "transactions")
TARGET = ("s3://curated", "transactions_scored")
QUARANTINE = ("s3://curated", "transactions_scored__quarantine")
BRANCH = "branch_audit_b8c1c9e3_5a1e_4c0f_9a1a_2c9f8b1a5e12"
APPLICATION = "01a22b0c-9d8a-7f1e-b915-5dfdc6ab41eb"
IDENTITY = ("DIRECT", "IDENTITY")

Edge = tuple[tuple[str, str], str, tuple[str, str]]


def edge(dataset: tuple[str, str], column: str, how: tuple[str, str] = IDENTITY, *, masking: bool = False) -> Any:
    step = {"type": how[0], "subtype": how[1], "description": "", "masking": masking}
    return {"namespace": dataset[0], "name": dataset[1], "field": column, "transformations": [step]}


def dataset(pair: tuple[str, str], table: str | None = None, **facets: Any) -> dict[str, Any]:
    if table is not None:
        link = {"namespace": JOB, "name": f"table/{table}", "type": "TABLE"}
        facets["symlinks"] = {"identifiers": [link]}
    return {"namespace": pair[0], "name": pair[1], "facets": facets}


def read(pair: tuple[str, str], table: str | None = None, **statistics: int) -> dict[str, Any]:
    return {**dataset(pair, table), "inputFacets": {"inputStatistics": statistics} if statistics else {}}


def written(
    pair: tuple[str, str],
    table: str | None,
    columns: Mapping[str, list[Any]] | None,
    rows: list[Any] | None = None,
    change: str = "OVERWRITE",
    **statistics: int,
) -> dict[str, Any]:
    facets: dict[str, Any] = {"lifecycleStateChange": {"lifecycleStateChange": change}}
    if columns is not None:
        fields = {name: {"inputFields": edges} for name, edges in columns.items()}
        facets["columnLineage"] = {"fields": fields, "dataset": rows or []}
    # Main's snapshot before the publish: never to be believed.
    facets["version"] = {"datasetVersion": "1"}
    return {**dataset(pair, table, **facets), "outputFacets": {"outputStatistics": statistics} if statistics else {}}


def event(
    kind: str = "COMPLETE",
    inputs: list[Any] | None = None,
    outputs: list[Any] | None = None,
    *,
    run_id: str = "01a22b0c-b1e8-7bf2-81f3-055a0941196b",
    job: str = "cordata_fraud_transactions_scored_daily.overwrite_partitions_dynamic.glue_catalog_fraud_curated",
    **run_facets: Any,
) -> dict[str, Any]:
    producer = "https://github.com/OpenLineage/OpenLineage/tree/1.53.0/integration/spark"
    parent = {
        "_producer": producer,
        "run": {"runId": APPLICATION},
        "job": {"namespace": "cordata.fraud", "name": "cordata_fraud_transactions_scored_daily"},
    }
    return {
        "eventType": kind,
        "eventTime": "2026-08-04T09:14:20Z",
        "producer": producer,
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
        "run": {"runId": run_id, "facets": {"parent": parent, **run_facets}},
        "job": {"namespace": "cordata.fraud", "name": job, "facets": {}},
        "inputs": inputs or [],
        "outputs": outputs or [],
    }


def creation() -> dict[str, Any]:
    """The target is created, with no columns' lineage."""
    return event(outputs=[written(TARGET, "fraud_curated/transactions_scored", None, change="CREATE")])


def batch_write(**kwargs: Any) -> dict[str, Any]:
    """The write of the batch to the run's branch: `fraud_score` from two columns, `tx_id` as it is."""
    return event(
        inputs=[read(SOURCE, "fraud_raw/transactions", rowCount=1_500, size=85_531, fileCount=5)],
        outputs=[
            written(
                TARGET,
                f"fraud_curated/transactions_scored/{BRANCH}",
                {
                    "tx_id": [edge(SOURCE, "tx_id")],
                    "fraud_score": [
                        edge(SOURCE, "amount", ("DIRECT", "TRANSFORMATION")),
                        edge(SOURCE, "tx_id", ("INDIRECT", "CONDITIONAL")),
                    ],
                },
                rows=[edge(SOURCE, "status", ("INDIRECT", "FILTER")), edge(SOURCE, "tx_id")],
                rowCount=1_000,
                size=42_662,
                fileCount=1,
            )
        ],
        **kwargs,
    )


def quarantine_write() -> dict[str, Any]:
    """The audited rows go to the quarantine, read from the branch, which the listener calls the target."""
    fields = {name: [edge(TARGET, name)] for name in ("tx_id", "fraud_score")}
    fields["broken_rules"] = [edge(TARGET, "fraud_score", ("INDIRECT", "CONDITIONAL"))]
    table = f"fraud_curated/transactions_scored__quarantine/{BRANCH}"
    return event(
        inputs=[read(TARGET, "fraud_curated/transactions_scored", rowCount=1_000, size=42_662, fileCount=1)],
        outputs=[written(QUARANTINE, table, fields, rowCount=1_000, size=31_320, fileCount=1)],
        run_id="01a22b0c-b1e8-7bf2-81f3-055a09411aaa",
    )


def witnessed(facts: RunFacts, *events: dict[str, Any], missing: str | None = None) -> RunFacts:
    return dataclasses.replace(facts, witness=Witness(events, missing))
