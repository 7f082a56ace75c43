"""A domain, its lake and its governance for one test: small, real, and easy to change in one place."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pipeline_runtime.engine.catalogs import catalog_settings
from pipeline_runtime.run import RunRequest, run
from pipeline_runtime.trace import Trace
from sandbox.lineage_access import INVOKER_ROLE

DESCRIPTOR = """\
apiVersion: cordata.tech/v1
kind: TransformPipeline
metadata:
  name: payments-scored
  domain: fraud
  owner: fraud-data@cordata.example
source:
  kind: glue_table
  database: {raw}
  table: payments
  schema_version: 1
steps:
  - id: settled
    kind: sql
    query_file: sql/settled.sql
  - id: score
    kind: sql
    query_file: sql/score.sql
    params:
      model_version: "v3"
target:
  kind: iceberg
  database: {curated}
  table: payments_scored
  partition_by: [day]
  location: "s3://{bucket}/payments_scored/"
contract:
  freshness_sla: PT4H
  lf_tags:
    sensitivity: high
    residency: eu
expectations:
  suite: expectations/payments_scored.yml
  on_failure: block_publish
processing:
  purpose: fraud-detection
  legal_basis: legitimate-interest
"""

SUITE = """\
suite_name: payments_scored
expectations:
  - type: expect_column_values_to_not_be_null
    kwargs: {column: id}
  - type: expect_column_values_to_be_between
    kwargs: {column: score, min_value: 0, max_value: 1}
"""

SETTLED = "SELECT id, amount, day FROM frame WHERE status = 'settled'\n"
SCORE = "SELECT id, amount, amount / 100 AS score, :model_version AS model, day FROM frame\n"

#: id, amount, status, day
ROWS = [
    (1, "10.00", "settled", "2026-08-01"),
    (2, "20.00", "settled", "2026-08-01"),
    (3, "30.00", "pending", "2026-08-01"),
    (4, "40.00", "settled", "2026-08-02"),
]


@dataclass(frozen=True)
class Outcome:
    """What a user sees of one run: the exit code, the trace, and the events as kept and as received."""

    run_id: str
    code: int
    trace: str
    stored: Mapping[str, dict[str, Any]]
    received: list[dict[str, Any]] = field(default_factory=list)

    @property
    def terminal(self) -> dict[str, Any]:
        return self.stored["terminal"]

    @property
    def failing(self) -> list[dict[str, Any]]:
        """The failing assertions of the OTHER event."""
        facet = self.stored["other"]["inputs"][0]["inputFacets"]["dataQualityAssertions"]
        return [assertion for assertion in facet["assertions"] if not assertion["success"]]


class Lab:
    """One domain of its own on the shared lake."""

    def __init__(self, aws: Any, spark: Any, folder: Path, adapter: Any, account: str | None = None) -> None:
        """`account` is whose lake it is; the shared session's own where it is None."""
        self.aws, self.spark, self.adapter, self.account = aws, spark, adapter, account
        self.catalog = "glue_catalog" if account is None else f"lab_{account}"
        if account is not None:
            for key, value in catalog_settings(
                self.catalog, account=account, warehouse="s3://test-lake/warehouse", endpoint=aws.endpoint
            ).items():
                spark.conf.set(key, value)
        name = uuid.uuid4().hex[:8]
        self.raw, self.curated, self.bucket = f"raw_{name}", f"curated_{name}", f"lab-{name}"
        self.root = folder / "domains" / "fraud"
        self.evidence = folder / "evidence"
        self.environ = {
            "AWS_ENDPOINT_URL": aws.endpoint,
            "AWS_REGION": aws.region,
            "CORDATA_EVIDENCE": str(self.evidence),
            "CORDATA_LINEAGE_URL": adapter.url,
            "CORDATA_LINEAGE_AUTH": "iam",
            "CORDATA_LINEAGE_ROLE_ARN": INVOKER_ROLE,
            "AWS_ACCESS_KEY_ID": account or "testing",
        }
        self._make_lake()
        for path, text in {
            "pipelines/payments_scored.yml": DESCRIPTOR.format(raw=self.raw, curated=self.curated, bucket=self.bucket),
            "sql/settled.sql": SETTLED,
            "sql/score.sql": SCORE,
            "expectations/payments_scored.yml": SUITE,
            "schemas/.keep": "",
        }.items():
            self.write(path, text)
        self.record_pin()

    def client(self, service: str) -> Any:
        """A client of the lab's own account."""
        return self.aws.client(service, self.account or "testing")

    def _make_lake(self) -> None:
        s3, glue = self.client("s3"), self.client("glue")
        s3.create_bucket(Bucket=self.bucket, CreateBucketConfiguration={"LocationConstraint": self.aws.region})
        for database in (self.raw, self.curated):
            glue.create_database(DatabaseInput={"Name": database, "LocationUri": f"s3://{self.bucket}/{database}"})
        lf = self.client("lakeformation")
        known = {tag["TagKey"] for tag in lf.list_lf_tags()["LFTags"]}
        for key, values in {"sensitivity": ["low", "high"], "residency": ["eu", "us"]}.items():
            if key not in known:
                lf.create_lf_tag(TagKey=key, TagValues=values)
        self.load(ROWS)

    def load(self, rows: list[tuple[Any, ...]]) -> None:
        """Puts rows into the source, in place of those that are there."""
        from pyspark.sql import functions as F  # noqa: N812

        table = f"{self.catalog}.{self.raw}.payments"
        frame = self.spark.createDataFrame(rows, "id bigint, amount string, status string, day string").selectExpr(
            "id", "CAST(amount AS decimal(10,2)) AS amount", "status", "CAST(day AS date) AS day"
        )
        if self.spark.catalog.tableExists(table):
            frame.writeTo(table).overwrite(F.lit(True))
        else:
            frame.writeTo(table).using("iceberg").tableProperty("format-version", "2").create()
            # A commit without a change of columns: the pin's number is reached, and the schema is the same.
            self.spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('owner-team' = 'ledger')")

    def write(self, path: str, text: str) -> Path:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
        return file

    def change(self, path: str, old: str, new: str) -> None:
        """Replaces one passage of a file of the domain, which must be there."""
        file = self.root / path
        text = file.read_text("utf-8")
        assert old in text, f"{path} does not hold {old!r}"
        file.write_text(text.replace(old, new), "utf-8")

    def change_descriptor(self, old: str, new: str) -> None:
        self.change("pipelines/payments_scored.yml", old, new)

    def pin(self, version: int) -> None:
        self.change_descriptor("schema_version: 1", f"schema_version: {version}")

    def record_pin(self) -> None:
        """The recorded schema of the pin, as the domain's pull request carries it."""
        columns = [("id", "bigint"), ("amount", "decimal(10,2)"), ("status", "string"), ("day", "date")]
        lines = [f"database: {self.raw}", "table: payments", "schema_version: 1", "columns:"]
        lines += [f"  - {{name: {name}, type: '{type_}', nullable: true}}" for name, type_ in columns]
        self.write(f"schemas/{self.raw}.payments.v1.yml", "\n".join(lines) + "\n")

    def run(
        self, run_id: str | None = None, *, start_spark: Callable[..., Any] | None = None, **request: Any
    ) -> Outcome:
        """One run of the descriptor, in this process and on the shared session (so in its account)."""
        run_id = run_id or str(uuid.uuid4())
        out = io.StringIO()
        code = run(
            RunRequest(self.root / "pipelines/payments_scored.yml", run_id, **request),
            self.environ,
            Trace(run_id, out=out),
            start_spark or (lambda _name, _settings: self.spark),
        )
        return self.outcome(run_id, code, out.getvalue())

    def submit(self, spark_conf: Path, *arguments: str) -> Outcome:
        """One run in a process of its own, with an engine of its own, as `python -m pipeline_runtime`."""
        run_id = str(uuid.uuid4())
        done = subprocess.run(
            self.command(run_id, *arguments),
            env=self.process_environ(spark_conf),
            capture_output=True,
            text=True,
            check=False,
        )
        return self.outcome(run_id, done.returncode, done.stdout + done.stderr)

    def command(self, run_id: str, *arguments: str) -> list[str]:
        descriptor = str(self.root / "pipelines/payments_scored.yml")
        return [sys.executable, "-m", "pipeline_runtime", descriptor, "--run-id", run_id, *arguments]

    def process_environ(self, spark_conf: Path) -> dict[str, str]:
        return {**os.environ, **self.environ, "SPARK_CONF_DIR": str(spark_conf)}

    def outcome(self, run_id: str, code: int, trace: str) -> Outcome:
        folder = self.evidence / "runs" / run_id
        stored = {
            kind: json.loads((folder / f"{kind}.json").read_bytes())
            for kind in ("start", "terminal", "other")
            if (folder / f"{kind}.json").exists()
        }
        return Outcome(run_id, code, trace, stored, self.adapter.events(run_id))

    def rows(self, table: str = "payments_scored", columns: str = "id, score, day") -> list[tuple[Any, ...]]:
        """The target's rows as a consumer sees them, sorted; empty where there is no table."""
        name = f"{self.catalog}.{self.curated}.{table}"
        if not self.spark.catalog.tableExists(name):
            return []
        self.spark.sql(f"REFRESH TABLE {name}")
        found = self.spark.sql(f"SELECT {columns} FROM {name}").collect()
        return sorted(
            tuple(float(v) if hasattr(v, "as_tuple") else str(v) if hasattr(v, "isoformat") else v for v in row)
            for row in found
        )

    def definition(self, table: str = "payments_scored") -> dict[str, Any] | None:
        """GetTable's answer for a curated table, None where there is none."""
        glue = self.client("glue")
        try:
            return dict(glue.get_table(DatabaseName=self.curated, Name=table)["Table"])
        except glue.exceptions.EntityNotFoundException:
            return None

    def tags(self, table: str = "payments_scored") -> dict[str, str]:
        answer = self.client("lakeformation").get_resource_lf_tags(
            Resource={"Table": {"DatabaseName": self.curated, "Name": table}}
        )
        return {tag["TagKey"]: tag["TagValues"][0] for tag in answer.get("LFTagsOnTable", [])}
