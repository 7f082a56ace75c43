"""A lake of one's own for each test: a bucket and a database."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from glue_lake import ACCOUNT, Lake

_numbers = itertools.count(1)


@pytest.fixture
def new_lake(aws: Any) -> Any:
    """Makes lakes: `new_lake()` in the job's account, `new_lake(account)` in another one."""

    def make(account: str = ACCOUNT) -> Lake:
        number = next(_numbers)
        lake = Lake(
            glue=aws.client("glue", account),
            s3=aws.client("s3", account),
            bucket=f"catalog-lake-{number}",
            database=f"fraud_raw_{number}",
            region=aws.region,
            account=account,
        )
        lake.s3.create_bucket(Bucket=lake.bucket, CreateBucketConfiguration={"LocationConstraint": aws.region})
        lake.glue.create_database(DatabaseInput={"Name": lake.database})
        return lake

    return make


@pytest.fixture
def lake(new_lake: Any) -> Lake:
    return new_lake()


@pytest.fixture
def calls() -> Any:
    """Records the operations that a client sends from now on: `sent = calls(client)`."""

    def watch(client: Any) -> list[str]:
        sent: list[str] = []
        client.meta.events.register_last("before-call", lambda model, **_: sent.append(model.name))
        return sent

    return watch
