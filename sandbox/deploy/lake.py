"""What the domains' accounts have before Terraform comes: buckets, databases, and the tables that pipelines read.

Each domain's are in its own account, where Lake Formation decides who reads a table, and a new one is nobody's by
default. The ontology is Terraform's, in the governance account.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sandbox.errors import SandboxError
from sandbox.lake.catalog import create_buckets, create_databases, source_table
from sandbox.lake.places import CLAIMS_TABLE, CURATED, FINANCE, POLICY, PRODUCTS, RAW, TABLE
from sandbox.lake.policy import seed_claims

__all__ = ["DATABASES", "asset_arns", "govern", "seed_policy", "seed_transactions"]

#: domain -> the databases of its account
DATABASES: Mapping[str, tuple[str, ...]] = {"fraud": (RAW, CURATED), "policy": (POLICY,), "finance": (FINANCE,)}


def govern(domain: str, glue: Any, s3: Any, lakeformation: Any) -> None:
    """The account's Lake Formation settings, its buckets and its databases; what is there stays."""
    settings = lakeformation.get_data_lake_settings()["DataLakeSettings"]
    nobodys: dict[str, list[Any]] = {"CreateDatabaseDefaultPermissions": [], "CreateTableDefaultPermissions": []}
    lakeformation.put_data_lake_settings(DataLakeSettings={**settings, **nobodys})
    create_buckets(s3, DATABASES[domain])
    create_databases(glue, DATABASES[domain])


def seed_transactions(glue: Any, environment: Mapping[str, str], jars: Path, rows: int, root: Path) -> str:
    """The card transactions in the account that the environment names; returns what was done, in words."""
    if source_table(glue) is not None:
        return f"{RAW}.{TABLE} is there"
    command = [sys.executable, "-m", "sandbox.lake.seed", "--prepared", "--rows", str(rows), "--jars", str(jars)]
    if subprocess.run(command, cwd=root, env={**os.environ, **environment}, check=False).returncode != 0:
        raise SandboxError("the card transactions could not be seeded; the reason is above.")
    return f"{RAW}.{TABLE} is at v7, {rows:,} transactions"


def seed_policy(glue: Any, s3: Any) -> str:
    """The landing zone of claims; returns what was done, in words."""
    return f"{POLICY}.{CLAIMS_TABLE} is {'at v3, landed' if seed_claims(glue, s3) else 'there'}"


def asset_arns(region: str, accounts: Mapping[str, str]) -> list[str]:
    """The tables that DataZone has as assets, each in its domain's account."""
    owners = {database: accounts[domain] for domain, databases in DATABASES.items() for database in databases}
    return [f"arn:aws:glue:{region}:{owners[product.split('/')[0]]}:table/{product}" for product in PRODUCTS]
