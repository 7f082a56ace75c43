"""A domain in a git repository, its signing keys, and the events that runs of it leave: all real, no engine."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from pipeline_runtime.catalog.table import CatalogTable, PinnedSource, TableIdentity
from pipeline_runtime.context import RunContext
from pipeline_runtime.descriptor.files import named_files
from pipeline_runtime.descriptor.load import load
from pipeline_runtime.lineage.engine import Engine
from pipeline_runtime.lineage.events import RunStatus, start_event, terminal_event, to_bytes, validation_event
from pipeline_runtime.lineage.facts import Release, RunFacts
from pipeline_runtime.lineage.provenance import provenance
from pipeline_runtime.quality.result import AssertionResult, ValidationResult
from pipeline_runtime.schema.columns import Column, Schema
from pipeline_runtime.writers.plan import Published, TargetPlan
from sandbox.errors import SandboxError

__all__ = ["ACCOUNT", "COMMITTED", "ENDED", "REGION", "RUN", "AuditedDomain", "allowed", "ssh_key", "ssh_signing"]

RUN = "b8c1c9e3-5a1e-4c0f-9a1a-2c9f8b1a5e12"
ACCOUNT = "111122223333"
REGION = "eu-central-1"
#: When the commits of these tests are made, and when their runs end.
COMMITTED = datetime(2026, 8, 1, 12, 0, tzinfo=UTC)
ENDED = datetime(2026, 8, 4, 9, 14, 22, 123000, tzinfo=UTC)

DESCRIPTOR = """\
apiVersion: cordata.tech/v1
kind: TransformPipeline
metadata:
  name: {name}
  domain: {domain}
  owner: {domain}-data@cordata.example
source:
  kind: glue_table
  database: {source[0]}
  table: {source[1]}
  schema_version: 7
steps:
  - id: score
    kind: sql
    query_file: sql/score.sql
    params:
      model_version: "2026-07-fraud-v3"
target:
  kind: iceberg
  database: {target[0]}
  table: {target[1]}
  partition_by: []
  location: "s3://cordata-lake/{target[1]}/"
contract:
  freshness_sla: PT4H
  lf_tags:
    sensitivity: high
expectations:
  suite: expectations/scored.yml
  on_failure: {on_failure}
processing:
  purpose: {purpose}
  legal_basis: {legal_basis}
"""

#: Who commits, with nobody's settings.
_ANA = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "Ana",
    "GIT_AUTHOR_EMAIL": "ana@cordata.example",
    "GIT_COMMITTER_NAME": "Ana",
    "GIT_COMMITTER_EMAIL": "ana@cordata.example",
}


@dataclass
class AuditedDomain:
    """One domain with one pipeline, in a repository of its own. Change a field, then `write`."""

    top: Path
    name: str = "transactions-scored-daily"
    domain: str = "fraud"
    source: tuple[str, str] = ("fraud_raw", "transactions")
    target: tuple[str, str] = ("fraud_curated", "transactions_scored")
    on_failure: str = "block_publish"
    purpose: str = "fraud-detection"
    legal_basis: str = "legitimate-interest"
    signing: Sequence[str] = field(default_factory=list)
    object_format: str = "sha1"

    @property
    def root(self) -> Path:
        return self.top / "domains" / self.domain

    @property
    def descriptor(self) -> Path:
        return self.root / "pipelines" / "scored.yml"

    @property
    def sql(self) -> Path:
        return self.root / "sql" / "score.sql"

    def write(self) -> AuditedDomain:
        """The domain's files, as the fields say."""
        for folder in ("pipelines", "sql", "expectations"):
            (self.root / folder).mkdir(parents=True, exist_ok=True)
        self.descriptor.write_text(DESCRIPTOR.format(**vars(self)), encoding="utf-8")
        self.sql.write_text("SELECT *, 0.5 AS fraud_score, :model_version AS model FROM frame\n", encoding="utf-8")
        (self.root / "expectations" / "scored.yml").write_text(
            "suite_name: scored\nexpectations:\n"
            "  - type: expect_column_values_to_not_be_null\n    kwargs: {column: tx_id}\n",
            encoding="utf-8",
        )
        if not (self.top / ".git").exists():
            self.git("init", "--quiet", f"--object-format={self.object_format}")
        return self

    def git(self, *arguments: str, **environment: str) -> str:
        done = subprocess.run(
            ["git", "-C", str(self.top), *arguments],
            env={**os.environ, **_ANA, **environment},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise SandboxError(f"git {' '.join(arguments)}: {done.stderr.strip()}")
        return done.stdout.strip()

    def commit(self, at: datetime = COMMITTED) -> str:
        """Commits everything, signed as `signing` says (options of git), and returns the commit."""
        self.git("add", "--all")
        date = at.isoformat()
        self.git(
            *self.signing,
            *("commit", "--quiet", "--allow-empty", "--message", "Score transactions"),
            *(["-S"] if self.signing else []),
            GIT_AUTHOR_DATE=date,
            GIT_COMMITTER_DATE=date,
        )
        return self.git("rev-parse", "HEAD")

    def facts(self, run_id: str = RUN, at: datetime = ENDED, failing: Mapping[str, bool] | None = None) -> RunFacts:
        """What a run of the files as they lie knows at its end; `failing` maps expectations to whether they fail."""
        loaded = load(self.descriptor)
        raw = Schema((Column("tx_id", "string"),))
        source = TableIdentity(REGION, ACCOUNT, *self.source)
        target = TableIdentity(REGION, ACCOUNT, *self.target)
        results = failing if failing is not None else {"expect_column_values_to_not_be_null": False}
        return RunFacts(
            context=RunContext(run_id, self.descriptor, self.root, at - timedelta(minutes=4)),
            descriptor=loaded.descriptor,
            engine=Engine(spark_version="3.5.6", openlineage_version="1.53.0", glue_version="5.1"),
            provenance=provenance(loaded.path, named_files(loaded).all, domain_root=loaded.domain_root),
            source=PinnedSource(
                CatalogTable(source, 19, raw, f"s3://cordata-lake/{self.source[1]}", is_iceberg=True), raw, 7
            ),
            target=TargetPlan(target, "glue_catalog", "iceberg", f"s3://cordata-lake/{self.target[1]}", (), None),
            written_schema=Schema((Column("tx_id", "string"), Column("fraud_score", "double"))),
            published=Published(target, rows=1_000, partitions=1, snapshot_id=42, replaced=True),
            tags={"sensitivity": "high", "residency": "eu"},
            result=ValidationResult(
                "scored",
                tuple(AssertionResult(name, "tx_id", not fails, "100 %", "97 %") for name, fails in results.items()),
            ),
        )

    def event(self, run_id: str = RUN, at: datetime = ENDED, status: RunStatus = RunStatus.COMPLETE) -> dict[str, Any]:
        """The terminal event of a run of the files as they lie."""
        event: dict[str, Any] = json.loads(to_bytes(terminal_event(self.facts(run_id, at), status, at=at)))
        return event

    def run(
        self,
        evidence: Path,
        run_id: str = RUN,
        at: datetime = ENDED,
        *,
        status: RunStatus = RunStatus.COMPLETE,
        failing: Mapping[str, bool] | None = None,
        release: Release | None = None,
    ) -> Path:
        """Leaves a run's three events in an evidence folder; returns the run's folder."""
        facts = replace(self.facts(run_id, at, failing), release=release)
        folder = evidence / "runs" / run_id
        folder.mkdir(parents=True)
        error = None if status is RunStatus.COMPLETE else RuntimeError("expectations failed before publish")
        for name, event in (
            ("start", start_event(facts, at=at - timedelta(minutes=4))),
            ("terminal", terminal_event(facts, status, at=at, error=error)),
            ("other", validation_event(facts, status, at=at)),
        ):
            (folder / f"{name}.json").write_bytes(to_bytes(event))
        return folder


def ssh_key(folder: Path, name: str) -> Path:
    """A new SSH key pair; returns the private key's path."""
    key = folder / name
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(key)], check=True)
    return key


def ssh_signing(key: Path) -> list[str]:
    """git's options for signing with that key."""
    return ["-c", "gpg.format=ssh", "-c", f"user.signingkey={key}"]


def allowed(path: Path, key: Path, options: str = "", principal: str = "ana@cordata.example") -> Path:
    """An allowed-signers file with that one key."""
    kind, public = key.with_suffix(".pub").read_text("utf-8").split()[:2]
    path.write_text(" ".join(filter(None, (principal, options, kind, public))) + "\n", encoding="utf-8")
    return path
