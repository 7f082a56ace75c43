"""What the hand-written job is told, and what its author wrote down once: names, places, the legal basis."""

from __future__ import annotations

import argparse
import os
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Settings", "settings_from"]


@dataclass(frozen=True)
class Settings:
    """One run. `location` is an s3:// prefix without a trailing slash; `event_file` is None where none is kept."""

    run_id: str
    domain: Path
    format: str
    account: str
    region: str
    event_file: Path | None = None
    location: str = "s3://cordata-fraud-curated-eu-central-1/transactions_scored"
    catalog: str = "glue_catalog"
    source_database: str = "fraud_raw"
    source_table: str = "transactions"
    target_database: str = "fraud_curated"
    target_table: str = "transactions_scored"
    source_location: str = "s3://cordata-fraud-raw-eu-central-1/transactions"
    partition_by: str = "scored_date"
    model_version: str = "2026-07-fraud-v3"

    @property
    def source(self) -> str:
        return f"{self.catalog}.{self.source_database}.{self.source_table}"

    @property
    def target(self) -> str:
        return f"{self.catalog}.{self.target_database}.{self.target_table}"


def settings_from(argv: Sequence[str]) -> Settings:
    """The command line, with what the environment of a Glue job knows."""
    parser = argparse.ArgumentParser(description="Scores settled card transactions.")
    parser.add_argument("--domain", type=Path, required=True, help="the domain's repository")
    parser.add_argument("--format", choices=("iceberg", "parquet"), default="iceberg")
    parser.add_argument("--run-id", default=str(uuid.uuid4()))
    parser.add_argument("--event-file", type=Path, help="keeps the terminal event")
    options = parser.parse_args(argv)
    return Settings(
        run_id=options.run_id,
        domain=options.domain,
        format=options.format,
        account=os.environ["AWS_ACCOUNT_ID"],
        region=os.environ["AWS_REGION"],
        event_file=options.event_file,
    )
