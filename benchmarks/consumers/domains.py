"""Domains of any size for the benchmark: descriptors of the usual length, each with its SQL and its recorded pin."""

from __future__ import annotations

from pathlib import Path

__all__ = ["make_domains", "proposal"]

_COLUMNS = ("tx_id", "account_id", "iban", "merchant_id", "merchant_name", "country", "channel", "amount", "currency")
_PER_DOMAIN = 50


def make_domains(root: Path, descriptors: int, consumers: int) -> None:
    """`descriptors` of them below `root`, fifty a domain; `consumers` of them, evenly spread, read the table."""
    every = max(1, descriptors // max(1, consumers))
    for number in range(descriptors):
        domain = root / f"domain_{number // _PER_DOMAIN:04}"
        reads = number % every == 0 and number // every < consumers
        _write(domain / "pipelines" / f"pipeline_{number:05}.yml", _descriptor(number, domain.name, reads))
        if reads:
            _write(domain / "sql" / f"step_{number:05}.sql", _sql())
            _write(domain / "schemas" / "fraud_raw.transactions.v7.yml", _recorded())


def proposal() -> str:
    """A release that renames a column, so that every consumer breaks and its SQL is read."""
    names = ["merchant_ref" if name == "merchant_id" else name for name in _COLUMNS]
    columns = "".join(f"  - {{name: {name}, type: string, nullable: false}}\n" for name in names)
    head = "producer: card-ledger\nrelease: v5.0.0\ndatabase: fraud_raw\ntable: transactions\nschema_version: 8\n"
    return f"{head}columns:\n{columns}"


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def _recorded() -> str:
    columns = "".join(f"  - {{name: {name}, type: string, nullable: false}}\n" for name in _COLUMNS)
    return f"database: fraud_raw\ntable: transactions\nschema_version: 7\ncolumns:\n{columns}"


def _sql() -> str:
    selected = ",\n  ".join(_COLUMNS)
    return (
        f"-- Only money that moved counts.\nWITH moved AS (\n  SELECT\n  {selected}\n  FROM frame\n"
        "  WHERE channel <> 'test'\n)\n\nSELECT merchant_id, sum(amount) AS amount FROM moved GROUP BY merchant_id\n"
    )


def _descriptor(number: int, domain: str, reads: bool) -> str:
    table = "transactions" if reads else f"table_{number:05}"
    return f"""\
# What this pipeline is for, in a sentence or two, as authors write it above their descriptors.
apiVersion: cordata.tech/v1
kind: TransformPipeline

metadata:
  name: pipeline-{number:05}
  domain: {domain}
  owner: {domain}@cordata.example

source:
  kind: glue_table
  database: fraud_raw
  table: {table}
  schema_version: 7

steps:
  - id: filter_settled
    kind: sql
    query_file: sql/step_{number:05}.sql
  - id: score
    kind: sql
    query_file: sql/score.sql
    params:
      model_version: "2026-07-fraud-v3"

target:
  kind: iceberg
  database: {domain}_curated
  table: product_{number:05}
  partition_by: [booked_date]
  location: "s3://cordata-{domain.replace("_", "-")}-eu-central-1/product_{number:05}/"

contract:
  freshness_sla: PT4H
  lf_tags:
    sensitivity: high
    residency: eu
    subject_type: customer

expectations:
  suite: expectations/product_{number:05}.yml
  on_failure: block_publish

processing:
  purpose: fraud-detection
  legal_basis: legitimate-interest
"""
