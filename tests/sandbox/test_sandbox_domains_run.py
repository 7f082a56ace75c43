"""The sample pipelines of policy and finance, run whole on a small lake, and what a sandbox does with their data."""

from __future__ import annotations

import io
import json
import re
import shutil
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from pipeline_runtime.run import RunRequest, run
from pipeline_runtime.trace import Trace
from sandbox.lake.catalog import register_releases
from sandbox.lake.claims import Claim, history
from sandbox.lake.places import BUCKETS, POLICY, RAW, TABLE
from sandbox.lake.policy import land_bad_claims, remove_bad_claims, seed_claims
from sandbox.lake.seed import prepare_catalog, write_source

pytestmark = pytest.mark.spark

ROOT = Path(__file__).resolve().parents[2]
CLAIMS = 400

Run = Callable[[str], tuple[int, str]]


@pytest.fixture
def run_pipeline(aws: Any, spark: Any, tmp_path: Path) -> Run:
    """Runs a sample descriptor in this process; its suite asks for no more rows than a small lake has."""

    def run_one(descriptor: str) -> tuple[int, str]:
        domain = tmp_path / descriptor.split("/")[0]
        if not domain.exists():
            shutil.copytree(ROOT / "domains" / domain.name, domain)
            for suite in (domain / "expectations").glob("*.yml"):
                text = suite.read_text("utf-8")
                suite.write_text(re.sub(r"min_value: \d+_000, max_value", "min_value: 1, max_value", text), "utf-8")
        run_id, out = str(uuid.uuid4()), io.StringIO()
        environ = {
            "AWS_ENDPOINT_URL": aws.endpoint,
            "AWS_REGION": aws.region,
            "AWS_ACCESS_KEY_ID": "testing",
            "CORDATA_EVIDENCE": str(tmp_path / "evidence"),
            "CORDATA_LINEAGE": "off",
        }
        request = RunRequest(tmp_path / descriptor, run_id)
        code = run(request, environ, Trace(run_id, out=out), lambda _name, _settings: spark)
        return code, out.getvalue()

    return run_one


@pytest.fixture
def landed(aws: Any) -> Iterator[Any]:
    """The landing zone with a few claims, in the account that the tests' session has."""
    prepare_catalog()
    glue, s3 = aws.client("glue"), aws.client("s3")
    seed_claims(glue, s3, CLAIMS)
    yield glue
    remove_bad_claims(s3)
    for table in ("claims", "claims_deduped", "claims_deduped__quarantine"):
        if table in {found["Name"] for found in glue.get_tables(DatabaseName=POLICY)["TableList"]}:
            glue.delete_table(DatabaseName=POLICY, Name=table)


def losses() -> dict[tuple[Any, ...], str]:
    """What the source holds in the end, by loss: the id under which each was reported first."""
    source = history(CLAIMS)
    there: dict[str, Claim] = {row.claim_id: row for row in source.loaded}
    for change in source.changes:
        if change.op == "D":
            del there[change.row.claim_id]
        else:
            there[change.row.claim_id] = change.row
    first: dict[tuple[Any, ...], str] = {}
    for row in sorted(there.values(), key=lambda row: row.reported_at):
        first.setdefault((row.policy_id, row.incident_date, row.claim_type, row.amount_claimed), row.claim_id)
    return first


def published(spark: Any, glue: Any, columns: str) -> list[Any]:
    """The product's rows, out of the locations that the catalog names."""
    pages = glue.get_partitions(DatabaseName=POLICY, TableName="claims_deduped")["Partitions"]
    places = [page["StorageDescriptor"]["Location"] for page in pages]
    return spark.read.parquet(*places).selectExpr(*columns.split(", ")).collect() if places else []


def test_claims_are_published_in_their_last_state_each_loss_once(run_pipeline: Run, landed: Any, spark: Any) -> None:
    code, trace = run_pipeline("policy/pipelines/claims_ingest.yml")

    assert code == 0, trace
    assert "WARNING" not in trace
    rows = published(spark, landed, "claim_id, policy_id, incident_date, claim_type, amount_claimed")
    assert {tuple(row)[1:]: row.claim_id for row in rows} == losses()
    assert len(rows) == len(losses())


def test_a_batch_with_bad_claims_is_quarantined_and_nothing_is_published(
    run_pipeline: Run, landed: Any, aws: Any
) -> None:
    land_bad_claims(landed, aws.client("s3"))

    code, trace = run_pipeline("policy/pipelines/claims_ingest.yml")

    assert code == 3, trace
    assert "12 passed, 3 failed" in trace
    for rule in ("actual 15 of", "actual 25 of", "actual 20 of"):
        assert rule in trace
    tables = {table["Name"] for table in landed.get_tables(DatabaseName=POLICY)["TableList"]}
    assert "claims_deduped__quarantine" in tables
    assert "claims_deduped" not in tables


@pytest.fixture
def transactions(aws: Any, spark: Any) -> Iterator[Any]:
    """A thousand card transactions, in the account that the tests' session has; yields their frame."""
    prepare_catalog()
    source = f"glue_catalog.{RAW}.{TABLE}"
    write_source(spark, source, 1_000)
    register_releases(aws.client("glue"), {})
    spark.sql(f"REFRESH TABLE {source}")
    yield spark.table(source)
    spark.sql("DROP TABLE IF EXISTS glue_catalog.finance_curated.merchant_settlement_daily PURGE")
    spark.sql(f"DROP TABLE {source} PURGE")


def test_merchants_are_settled_to_the_cent(run_pipeline: Run, transactions: Any, spark: Any) -> None:
    code, trace = run_pipeline("finance/pipelines/merchant_settlement_daily.yml")

    assert code == 0, trace
    owed: dict[tuple[str, str, date], Decimal] = {}
    for row in transactions.where("status = 'settled'").collect():
        key = (row.merchant_id, row.currency, row.settled_at.date())
        owed[key] = owed.get(key, Decimal(0)) + row.amount
    rows = spark.table("glue_catalog.finance_curated.merchant_settlement_daily").collect()
    assert {(row.merchant_id, row.currency, row.settlement_date): row.gross_amount for row in rows} == owed
    assert all(row.fee_amount + row.net_amount == row.gross_amount for row in rows)
    assert all(abs(row.fee_amount - row.gross_amount * Decimal("0.0095")) <= Decimal("0.005") for row in rows)


@pytest.fixture
def sandbox(tmp_path: Path) -> Iterator[Callable[..., subprocess.CompletedProcess[str]]]:
    """The commands of a sandbox whose card transactions were seeded before there were claims."""
    from sandbox.stack import Stack

    stack = Stack(tmp_path / "old")

    def command(*arguments: str) -> subprocess.CompletedProcess[str]:
        line = [sys.executable, "-m", "sandbox.stack", "--folder", str(stack.folder), *arguments]
        return subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=False)

    stack.folder.mkdir()
    stack.aws.start([sys.executable, "-m", "sandbox.fakes.aws"], {}, ROOT)
    marker = {"pid": stack.aws.pid, "rows": 5, "scores_drifted": False}
    (stack.folder / "lake.json").write_text(json.dumps(marker), "utf-8")
    yield command
    command("down")


def test_a_sandbox_from_before_gets_the_claims_and_keeps_its_transactions(
    sandbox: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    assert sandbox("status").returncode == 1

    answer = sandbox("up", "--rows", "5")

    assert answer.returncode == 0, answer.stderr
    assert "policy_raw.claims is at v3, landed in" in answer.stdout
    assert "seeding" not in answer.stdout
    assert "landed" not in sandbox("up", "--rows", "5").stdout
    assert "policy_raw.claims landed" in sandbox("status").stdout

    bad = f"s3://{BUCKETS[POLICY]}/claims/2026/08/11/20260811-040000000.parquet"
    assert f"landed in {bad}" in sandbox("drift", "--bad-claims").stdout
    assert "drifted: `python -m sandbox.stack undrift` takes it back" in sandbox("status").stdout
    assert sandbox("undrift").stdout == "claims    the bad ones are gone\n"
    assert "drifted" not in sandbox("status").stdout
