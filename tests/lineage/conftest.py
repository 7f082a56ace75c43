"""A run's facts, a sink with a script, and a domain in a git repository."""

from __future__ import annotations

import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest
from lineage_sink import Sink, running_sink

from pipeline_runtime.catalog.table import CatalogTable, PinnedSource, TableIdentity
from pipeline_runtime.context import RunContext
from pipeline_runtime.descriptor import v1
from pipeline_runtime.descriptor.model import Descriptor
from pipeline_runtime.lineage.engine import Engine
from pipeline_runtime.lineage.facts import RunFacts
from pipeline_runtime.lineage.provenance import GitFacts, Provenance
from pipeline_runtime.quality.result import AssertionResult, ValidationResult
from pipeline_runtime.schema.columns import Column, Schema
from pipeline_runtime.schema.meaning import DeclaredColumn
from pipeline_runtime.writers.plan import Published, TargetPlan

RUN = "b8c1c9e3-5a1e-4c0f-9a1a-2c9f8b1a5e12"
ACCOUNT = "111122223333"
LEDGER_ACCOUNT = "444455556666"
COMMIT = "4af3958a" * 5

DESCRIPTOR = {
    "apiVersion": "cordata.tech/v1",
    "kind": "TransformPipeline",
    "metadata": {"name": "transactions-scored-daily", "domain": "fraud", "owner": "fraud@example.org"},
    "source": {"kind": "glue_table", "database": "fraud_raw", "table": "transactions", "schema_version": 7},
    "steps": [
        {"id": "filter_settled", "kind": "sql", "query_file": "sql/filter_settled.sql"},
        {"id": "score", "kind": "sql", "query_file": "sql/score.sql", "params": {"model_version": "2026-07-fraud-v3"}},
    ],
    "target": {
        "kind": "iceberg",
        "database": "fraud_curated",
        "table": "transactions_scored",
        "partition_by": ["scored_date"],
        "location": "s3://curated/transactions_scored/",
    },
    "contract": {"freshness_sla": "PT4H", "lf_tags": {"sensitivity": "high", "residency": "eu"}},
    "expectations": {"suite": "expectations/transactions_scored.yml", "on_failure": "block_publish"},
    "processing": {"purpose": "fraud-detection", "legal_basis": "legitimate-interest"},
}


@pytest.fixture
def descriptor() -> Descriptor:
    lifted = v1.Descriptor.model_validate(DESCRIPTOR).lifted()
    contract = lifted.contract.model_copy(
        update={
            "columns": (
                DeclaredColumn("tx_id", "string", False, "The transaction's number."),
                DeclaredColumn(
                    "fraud_score", "double", unit="probability", definition="Of fraud.", classification="high"
                ),
            )
        }
    )
    return lifted.model_copy(update={"contract": contract})


@pytest.fixture
def facts(descriptor: Descriptor) -> RunFacts:
    """A run at its end: everything known, one expectation failing."""
    source = TableIdentity("eu-central-1", LEDGER_ACCOUNT, "fraud_raw", "transactions")
    target = TableIdentity("eu-central-1", ACCOUNT, "fraud_curated", "transactions_scored")
    pinned = Schema((Column("tx_id", "string", nullable=False), Column("amount", "decimal(18,2)")))
    return RunFacts(
        context=RunContext(
            run_id=RUN,
            descriptor_path=Path("pipelines/transactions_scored.yml"),
            domain_root=Path(),
            started_at=datetime(2026, 8, 4, 9, 10, tzinfo=UTC),
            nominal_time=datetime(2026, 8, 4, 9, 0, tzinfo=UTC),
        ),
        descriptor=descriptor,
        engine=Engine(spark_version="3.5.6", openlineage_version="1.53.0", glue_version="5.1"),
        provenance=Provenance(
            descriptor_path="domains/fraud/pipelines/transactions_scored.yml",
            descriptor_sha256="9c" * 32,
            domain_path="domains/fraud",
            files={"domains/fraud/sql/score.sql": "ab" * 32},
            git=GitFacts(COMMIT, signed=True, dirty=False, remote_url="git@github.com:cordata-tech/domains-fraud.git"),
        ),
        source=PinnedSource(
            table=CatalogTable(source, 19, pinned, "s3://raw/transactions", is_iceberg=True),
            pinned=pinned,
            pinned_version=7,
            published_by="card-ledger",
            published_release="v4.11.0",
        ),
        target=TargetPlan(
            target, "glue_catalog", "iceberg", "s3://curated/transactions_scored", ("scored_date",), existing=None
        ),
        written_schema=Schema((Column("tx_id", "string"), Column("fraud_score", "double"))),
        published=Published(target, rows=1_000, partitions=1, snapshot_id=9_007_199_254_740_993, replaced=True),
        tags={"sensitivity": "high", "residency": "eu"},
        result=ValidationResult(
            "transactions_scored",
            (
                AssertionResult("expect_column_values_to_not_be_null", "tx_id", True, "100 %", "100 %", 1_000),
                AssertionResult("expect_column_kl_divergence_to_be_less_than", "fraud_score", False, "0.15", "0.19"),
                AssertionResult("expect_table_row_count_to_be_between", None, False, detail="the frame is empty"),
            ),
        ),
    )


@pytest.fixture
def sink() -> Iterator[Sink]:
    with running_sink() as it:
        yield it


@pytest.fixture
def raw_server() -> Iterator[Callable[[Callable[[socket.socket], None]], str]]:
    """Starts servers that treat each connection as told; returns their address."""
    listeners: list[socket.socket] = []
    connections: list[socket.socket] = []

    def start(treat: Callable[[socket.socket], None]) -> str:
        listener = socket.create_server(("127.0.0.1", 0))
        listeners.append(listener)

        def serve() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                connections.append(connection)
                threading.Thread(target=treat, args=(connection,), daemon=True).start()

        threading.Thread(target=serve, daemon=True).start()
        return f"http://127.0.0.1:{listener.getsockname()[1]}/lineage"

    yield start
    for listener in listeners:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
    for connection in connections:
        connection.close()


@pytest.fixture
def closed_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass(frozen=True)
class Repository:
    """A git repository that holds one domain, `domains/fraud`, with a descriptor and two SQL files."""

    top: Path

    @property
    def domain(self) -> Path:
        return self.top / "domains" / "fraud"

    @property
    def descriptor(self) -> Path:
        return self.domain / "pipelines" / "scored.yml"

    @property
    def sql(self) -> Path:
        return self.domain / "sql" / "score.sql"

    def git(self, *arguments: str) -> str:
        done = subprocess.run(["git", "-C", str(self.top), *arguments], capture_output=True, text=True, check=True)
        return done.stdout.strip()

    def commit(self, message: str = "change") -> str:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", message)
        return self.git("rev-parse", "HEAD")


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    settings = tmp_path / "gitconfig"
    settings.write_text("[user]\n\tname = Test\n\temail = test@example.org\n[commit]\n\tgpgsign = false\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    it = Repository(tmp_path / "repo")
    it.descriptor.parent.mkdir(parents=True)
    it.sql.parent.mkdir()
    it.descriptor.write_text("apiVersion: cordata.tech/v1\nname: äöü\n", encoding="utf-8")
    it.sql.write_text("select * from frame\n")
    it.git("init", "--quiet")
    return it
