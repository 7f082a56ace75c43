"""A run whose source is a table of a real PostgreSQL, named by a Glue connection."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from tests.readers.postgres import Postgres, running_postgres

pytestmark = pytest.mark.spark

COLUMNS = {"id": "bigint", "amount": "decimal(10,2)", "status": "string", "day": "date"}


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    with running_postgres() as server:
        server.sql(
            "CREATE TABLE payments (id bigint PRIMARY KEY, amount numeric, status text, day date, card text);"
            "INSERT INTO payments SELECT g, 10 * g, 'settled', '2026-08-01', '4111' FROM generate_series(1, 5) g;"
            "INSERT INTO payments VALUES (6, 60, NULL, '2026-08-02', NULL)"
        )
        yield server


def register(lab: Any, postgres: Postgres, url: str | None = None, **properties: str) -> None:
    """The table as a JDBC crawler catalogues it, the connection it names, and the descriptor that reads it."""
    name = f"ledger-{uuid4().hex[:8]}"
    properties.setdefault("JDBC_CONNECTION_URL", url or postgres.url)
    glue = lab.client("glue")
    glue.create_connection(ConnectionInput={"Name": name, "ConnectionType": "JDBC", "ConnectionProperties": properties})
    glue.create_table(
        DatabaseName=lab.raw,
        TableInput={
            "Name": "ledger_payments",
            "StorageDescriptor": {
                "Columns": [{"Name": column, "Type": type_} for column, type_ in COLUMNS.items()],
                "Location": "ledger.public.payments",
            },
            "Parameters": {
                "classification": "postgresql",
                "connectionName": name,
                "cordata.primary_keys": "id",
                "cordata.jdbc_partitions": "2",
            },
        },
    )
    lab.change_descriptor("kind: glue_table", "kind: jdbc")
    lab.change_descriptor("table: payments\n", "table: ledger_payments\n")
    lab.pin(0)


def everything_kept(lab: Any, outcome: Any) -> str:
    """All that the run left or said: trace, stored events, received events, the listener's, the tables' Parameters."""
    files = [file.read_text("utf-8") for file in Path(lab.evidence).rglob("*") if file.is_file()]
    tables = lab.client("glue").get_tables(DatabaseName=lab.curated)["TableList"]
    return "\n".join([outcome.trace, *files, json.dumps(outcome.received), json.dumps(tables, default=str)])


def test_reported_ol_10_a_tables_rows_are_published_under_the_databases_name_and_without_its_password(
    lab, postgres, spark_conf
):
    secret = postgres.password
    register(lab, postgres, f"jdbc:postgresql://app:{secret}@127.0.0.1:{postgres.port}/ledger?password={secret}")

    outcome = lab.submit(spark_conf)

    assert outcome.code == 0, outcome.trace
    assert lab.rows() == [(number, number / 10, "2026-08-01") for number in range(1, 6)]
    source = outcome.terminal["inputs"][0]
    assert source["namespace"] == f"postgres://127.0.0.1:{postgres.port}"
    assert source["name"] == "ledger.public.payments"
    catalogued = source["facets"]["symlinks"]["identifiers"][0]
    assert (catalogued["type"], catalogued["name"]) == ("CATALOG", f"table/{lab.raw}/ledger_payments")
    assert [field["name"] for field in source["facets"]["schema"]["fields"]] == list(COLUMNS)
    assert secret not in everything_kept(lab, outcome)
    seen = (lab.evidence / "runs" / outcome.run_id / "listener" / "events.jsonl").read_text("utf-8").splitlines()
    inputs = {(read["namespace"], read["name"]) for line in seen for read in json.loads(line)["inputs"]}
    assert (source["namespace"], source["name"]) in inputs
    assert "JdbcSparkUtils" not in outcome.trace
    facets = outcome.terminal["outputs"][0]["facets"]
    assert "columnLineage" not in facets
    told = facets["cordata_column_origins"]
    assert told["constants"] == ["model"]
    reasons = {column: group["reason"] for group in told["unknown"] for column in group["columns"]}
    seen = "the listener does not see into the query that the database is asked."
    assert reasons["score"] == f"{seen} It reads amount."
    assert set(reasons) == {"id", "amount", "score", "day"}


def test_reported_ol_10_a_read_that_fails_does_not_tell_the_password_either(lab, postgres, spark_conf):
    register(lab, postgres, USERNAME="app", PASSWORD="n0t-the-w0rd")

    outcome = lab.submit(spark_conf)

    assert outcome.code == 1
    assert 'password authentication failed for user "app"' in outcome.trace
    assert "n0t-the-w0rd" not in everything_kept(lab, outcome)
    assert outcome.terminal["inputs"] == []


def test_a_row_that_the_pin_cannot_hold_fails_the_run_and_nothing_is_published(lab, postgres):
    register(lab, postgres, USERNAME="app", PASSWORD=postgres.password)
    postgres.sql("INSERT INTO payments VALUES (7, 0.001, 'settled', '2026-08-01', NULL)")
    try:
        outcome = lab.run()
    finally:
        postgres.sql("DELETE FROM payments WHERE id = 7")

    assert outcome.code == 1
    assert f"{lab.raw}.ledger_payments: column amount holds a value that decimal(10,2)" in outcome.trace
    assert lab.rows() == []


def test_a_database_that_does_not_answer_fails_the_run_before_spark_starts(lab, postgres):
    register(lab, postgres, "jdbc:postgresql://127.0.0.1:1/ledger", USERNAME="app", PASSWORD=postgres.password)

    def start_spark(_name: str, _settings: Any) -> Any:
        raise AssertionError("Spark was started")

    outcome = lab.run(start_spark=start_spark)

    assert outcome.code == 1
    assert "nothing answers at 127.0.0.1:1 (Connection refused)" in outcome.trace


def test_a_step_whose_filter_would_lose_rows_is_refused(lab, postgres):
    register(lab, postgres, USERNAME="app", PASSWORD=postgres.password)
    lab.change("sql/settled.sql", "status = 'settled'", "status IS DISTINCT FROM 'pending'")

    outcome = lab.run()

    assert outcome.code == 1
    assert "which Spark asks the database in a way that loses the rows with NULL" in outcome.trace
    lab.change("sql/settled.sql", "status IS DISTINCT FROM 'pending'", "status IS NULL OR status <> 'pending'")
    assert lab.run().code == 0
    assert [row[0] for row in lab.rows()] == [1, 2, 3, 4, 5, 6]
