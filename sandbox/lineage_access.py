"""Who may post lineage in the sandbox, and where what cannot be accepted goes: what Terraform makes of a deployment.

The invoker role lives in the governance account, beside the adapter, as HTTP APIs need it: the executor assumes it to
sign. A key belongs to one domain. Names and values here are no secrets: nothing outside this machine knows them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, MutableMapping
from typing import Any

__all__ = [
    "AIRFLOW_KEY",
    "DBT_KEY",
    "DOMAINS",
    "FINANCE_ROLE",
    "INVOKER_ROLE",
    "REPORTING_KEY",
    "TRANSFORM_KEY",
    "adapter_environment",
    "provide",
]

DOMAINS = ("fraud", "policy", "finance")
#: Signs for all of the sample domains.
INVOKER_ROLE = "arn:aws:iam::444455556666:role/lineage-invoker"
#: Signs for finance alone.
FINANCE_ROLE = "arn:aws:iam::444455556666:role/lineage-invoker-finance"
#: Bearer keys, as dbt-ol or Airflow's provider would send them.
DBT_KEY = "sandbox-key-of-dbt-in-fraud-5b1f0c2d9e"
REPORTING_KEY = "sandbox-key-of-reporting-in-finance-81ac"
#: Of tools that serve all domains, each in a domain of its own.
TRANSFORM_KEY = "sandbox-key-of-dbt-in-transform-2e77c1"
AIRFLOW_KEY = "sandbox-key-of-airflow-in-orchestration-9c40"

QUEUE = "lineage-dead-letters"
#: With the account's number after it, since buckets have one namespace in all accounts together.
BUCKET = "lineage-dead-letters"
SECRET = "lineage-keys"


def adapter_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The adapter's variables in this sandbox, where `environ` does not set them itself."""
    account = _account(environ)
    chosen = {
        "LINEAGE_CALLERS": json.dumps({INVOKER_ROLE: list(DOMAINS), FINANCE_ROLE: ["finance"]}),
        "LINEAGE_DEAD_LETTER_QUEUE": f"{environ.get('AWS_ENDPOINT_URL', 'http://127.0.0.1:1')}/{account}/{QUEUE}",
        "LINEAGE_DEAD_LETTER_PAYLOADS": f"s3://{BUCKET}-{account}/payloads",
        "LINEAGE_KEYS_SECRET": SECRET,
    }
    return {name: value for name, value in chosen.items() if name not in environ}


def provide(environ: MutableMapping[str, str] | None = None) -> None:
    """Makes the sandbox's queue, bucket and secret, where they are not there. Those of a deployment Terraform makes."""
    import boto3

    environ = os.environ if environ is None else environ
    if environ.get("LINEAGE_KEYS_SECRET", SECRET) != SECRET:
        return
    client: Any = boto3.client
    client("sqs").create_queue(QueueName=QUEUE, Attributes={"MessageRetentionPeriod": str(14 * 24 * 3600)})
    s3, secrets = client("s3"), client("secretsmanager")
    region = environ.get("AWS_REGION", "us-east-1")
    where = {} if region == "us-east-1" else {"CreateBucketConfiguration": {"LocationConstraint": region}}
    bucket = f"{BUCKET}-{_account(environ)}"
    if bucket not in {each["Name"] for each in s3.list_buckets()["Buckets"]}:
        s3.create_bucket(Bucket=bucket, **where)
    keys = {
        "dbt-fraud": {"domains": ["fraud"], "current": DBT_KEY},
        "reporting-finance": {"domains": ["finance"], "current": REPORTING_KEY},
        "dbt": {"domains": ["transform"], "current": TRANSFORM_KEY},
        "airflow": {"domains": ["orchestration"], "current": AIRFLOW_KEY},
    }
    try:
        secrets.create_secret(Name=SECRET, SecretString=json.dumps({"keys": keys}))
    except secrets.exceptions.ResourceExistsException:
        return


def _account(environ: Mapping[str, str]) -> str:
    """Whose key it is: the stand-in for AWS takes a key of 12 digits for an account, any other for its own default."""
    key = environ.get("AWS_ACCESS_KEY_ID", "")
    return key if len(key) == 12 and key.isdigit() else "123456789012"
