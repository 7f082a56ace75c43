"""Twenty small products of three domains, from two source systems' landing tables to finance's closing of a day.

Every product has the columns id, subject, amount and day, but for the last, which adds a day up. Each is made for one
day, from that day's rows of one source: another product of any domain, or a table that AWS DMS lands.
"""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

__all__ = ["DAYS", "FINAL", "OWNERS", "PRODUCTS", "SUNDAY", "SYSTEMS", "Made", "System", "commit", "write_domains"]

#: The day on which everything begins, and the week after it, Monday to Sunday; a nominal day each.
SUNDAY = "2026-08-02"
DAYS = tuple(f"2026-08-{day:02}" for day in range(3, 10))
OWNERS = {domain: f"{domain}-data@cordata.example" for domain in ("fraud", "policy", "finance")}


@dataclass(frozen=True)
class System:
    """A source system, the domain that replicates it, and its tables, which land under their own names."""

    database: str
    domain: str
    tables: tuple[str, ...]

    @property
    def host(self) -> str:
        return f"{self.database}-db.example.org"

    @property
    def landing(self) -> str:
        """The Glue database of the landing tables."""
        return f"{self.domain}_landing"


@dataclass(frozen=True)
class Made:
    """A product, `<domain>_curated.<name>`, and what it is made of, `<database>.<table>`."""

    domain: str
    name: str
    source: str
    kind: str = "iceberg"

    @property
    def path(self) -> str:
        return f"domains/{self.domain}/pipelines/{self.name}.yml"

    @property
    def pipeline(self) -> str:
        """What the descriptor is called: `<domain>/<name>`."""
        return f"{self.domain}/{self.name.replace('_', '-')}"

    @property
    def target(self) -> str:
        return f"{self.domain}_curated.{self.name}"

    @property
    def source_kind(self) -> str:
        return "dms_landing" if "_landing." in self.source else "glue_table"


SYSTEMS = (System("claims", "policy", ("claim", "policy", "payout")), System("cards", "fraud", ("payment", "merchant")))
FINAL = Made("finance", "closing", "finance_curated.ledger")
PRODUCTS = (
    Made("policy", "claims_clean", "policy_landing.claim"),
    Made("policy", "policies_clean", "policy_landing.policy", "parquet"),
    Made("policy", "payouts_clean", "policy_landing.payout"),
    Made("policy", "claims_daily", "policy_curated.claims_clean"),
    Made("policy", "claims_open", "policy_curated.claims_clean", "parquet"),
    Made("policy", "claims_large", "policy_curated.claims_open"),
    Made("policy", "policies_active", "policy_curated.policies_clean"),
    Made("policy", "payouts_daily", "policy_curated.payouts_clean", "parquet"),
    Made("fraud", "payments_clean", "fraud_landing.payment"),
    Made("fraud", "merchants_clean", "fraud_landing.merchant", "parquet"),
    Made("fraud", "payments_scored", "fraud_curated.payments_clean"),
    Made("fraud", "payments_alerted", "fraud_curated.payments_scored", "parquet"),
    Made("fraud", "merchants_rated", "fraud_curated.merchants_clean"),
    Made("fraud", "claims_suspect", "policy_curated.claims_large"),
    Made("finance", "settlements", "fraud_curated.payments_scored"),
    Made("finance", "reserves", "policy_curated.claims_daily", "parquet"),
    Made("finance", "payouts_booked", "policy_curated.payouts_daily"),
    Made("finance", "premiums", "policy_curated.policies_active"),
    Made("finance", "ledger", "finance_curated.settlements", "parquet"),
    FINAL,
)

_DESCRIPTOR = """\
apiVersion: cordata.tech/v1
kind: {pipeline_kind}
metadata:
  name: {pipeline}
  domain: {product.domain}
  owner: {owner}
source:
  kind: {product.source_kind}
  database: {database}
  table: {table}
  schema_version: 0
steps:
  - id: of_the_day
    kind: sql
    query_file: sql/{product.name}.sql
target:
  kind: {product.kind}
  database: {product.domain}_curated
  table: {product.name}
  partition_by: [day]
  location: "s3://{product.domain}-curated/{product.name}/"
contract:
  freshness_sla: P1D
  lf_tags:
    sensitivity: low
expectations:
  suite: expectations/{product.name}.yml
  on_failure: block_publish
processing:
  purpose: daily-closing
  legal_basis: legal-obligation
"""

_SUITE = """\
suite_name: {product.name}
expectations:
  - type: expect_column_values_to_not_be_null
    kwargs: {{column: day}}
  - type: expect_column_values_to_be_between
    kwargs: {{column: amount, min_value: 0, max_value: 100000}}
"""

_ROWS = "SELECT id, subject, amount, day FROM frame WHERE day = :nominal_date\n"
_SUMS = """\
SELECT CAST(sum(amount) AS decimal(14,2)) AS amount, count(*) AS bookings, day
FROM frame WHERE day = :nominal_date GROUP BY day
"""


def write_domains(top: Path) -> None:
    """Writes the three domains below `top`, a new repository, and commits them; no pin is true yet."""
    for product in PRODUCTS:
        root = top / "domains" / product.domain
        for folder in ("pipelines", "sql", "expectations", "schemas"):
            (root / folder).mkdir(parents=True, exist_ok=True)
        database, _, table = product.source.partition(".")
        text = _DESCRIPTOR.format(
            product=product,
            pipeline=product.pipeline.partition("/")[2],
            pipeline_kind="IngestionPipeline" if product.source_kind == "dms_landing" else "TransformPipeline",
            owner=OWNERS[product.domain],
            database=database,
            table=table,
        )
        (top / product.path).write_text(text, "utf-8")
        (root / "sql" / f"{product.name}.sql").write_text(_SUMS if product is FINAL else _ROWS, "utf-8")
        (root / "expectations" / f"{product.name}.yml").write_text(_SUITE.format(product=product), "utf-8")
    subprocess.run(["git", "init", "-q"], cwd=top, check=True)
    commit(top, "Declare three domains")


def commit(top: Path, subject: str) -> None:
    """Commits whatever has changed."""
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run([*git, "add", "domains"], cwd=top, check=True)
    subprocess.run([*git, "commit", "-q", "-m", subject], cwd=top, check=True)
