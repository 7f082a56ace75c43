"""Where the sample lake is: one producer account, two buckets, two databases."""

from __future__ import annotations

__all__ = ["ACCOUNT", "BUCKETS", "CURATED", "RAW", "REGION", "SOURCE_LOCATION", "TABLE"]

#: An account id of the kind that documentation uses.
ACCOUNT = "111122223333"
REGION = "eu-central-1"

RAW = "fraud_raw"
CURATED = "fraud_curated"
TABLE = "transactions"

#: database -> bucket
BUCKETS = {RAW: f"cordata-fraud-raw-{REGION}", CURATED: f"cordata-fraud-curated-{REGION}"}
SOURCE_LOCATION = f"s3://{BUCKETS[RAW]}/{TABLE}"
