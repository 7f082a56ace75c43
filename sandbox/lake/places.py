"""Where the sample lake is: one account, a bucket for each database."""

from __future__ import annotations

__all__ = [
    "ACCOUNT",
    "BUCKETS",
    "CLAIMS_LOCATION",
    "CLAIMS_TABLE",
    "CURATED",
    "FINANCE",
    "POLICY",
    "PRODUCTS",
    "RAW",
    "REGION",
    "SOURCE_LOCATION",
    "TABLE",
]

#: An account id of the kind that documentation uses.
ACCOUNT = "111122223333"
REGION = "eu-central-1"

RAW = "fraud_raw"
CURATED = "fraud_curated"
TABLE = "transactions"

POLICY = "policy_raw"
CLAIMS_TABLE = "claims"
FINANCE = "finance_curated"

#: database -> bucket
BUCKETS = {database: f"cordata-{database.replace('_', '-')}-{REGION}" for database in (RAW, CURATED, POLICY, FINANCE)}
SOURCE_LOCATION = f"s3://{BUCKETS[RAW]}/{TABLE}"
CLAIMS_LOCATION = f"s3://{BUCKETS[POLICY]}/{CLAIMS_TABLE}/"

#: What the sample domains read and publish, each as database/table.
PRODUCTS = (
    f"{RAW}/{TABLE}",
    f"{CURATED}/transactions_scored",
    f"{POLICY}/{CLAIMS_TABLE}",
    f"{POLICY}/claims_deduped",
    f"{FINANCE}/merchant_settlement_daily",
)
