"""One identity a dataset."""

from __future__ import annotations

import pytest

from pipeline_runtime.catalog.table import TableIdentity
from pipeline_runtime.lineage.identity import Symlink, glue_dataset, identity_problem, job_namespace

TABLE = TableIdentity("eu-central-1", "111122223333", "fraud_raw", "transactions")


def test_a_glue_table_is_named_by_its_arn_and_linked_to_its_other_names() -> None:
    identity = glue_dataset(TABLE, domain="fraud", location="s3://raw/deep/transactions")
    assert (identity.namespace, identity.name) == (
        "arn:aws:glue:eu-central-1:111122223333",
        "table/fraud_raw/transactions",
    )
    assert identity.symlinks == (
        Symlink("arn:aws:glue:eu-central-1:111122223333", "table/fraud_raw/transactions", "TABLE"),
        Symlink("cordata.fraud", "fraud_raw.transactions", "LOGICAL"),
        Symlink("s3://raw", "deep/transactions", "LOCATION"),
    )
    assert job_namespace("fraud") == "cordata.fraud"


def test_reported_ol_3_whoever_speaks_of_a_table_gives_it_the_same_identity_and_asset() -> None:
    seen = [glue_dataset(TABLE, domain=domain, location=None) for domain in ("fraud", "finance")]
    assert len({(each.namespace, each.name, each.symlinks[0]) for each in seen}) == 1
    assert f"{seen[0].symlinks[0].namespace}:{seen[0].symlinks[0].name}" == TABLE.arn


@pytest.mark.parametrize(
    "pair",
    [
        ("arn:aws:glue:eu-central-1:111122223333", "table/a/b"),
        ("arn:aws-cn:glue:cn-north-1:111122223333", "table/a/b"),
        ("arn:aws-us-gov:glue:us-gov-west-1:111122223333", "table/a/b__quarantine"),
        ("postgres://h:5432", "d.schema.table"),
    ],
)
def test_a_complete_identity_may_be_sent(pair: tuple[str, str]) -> None:
    assert identity_problem([pair]) is None


@pytest.mark.parametrize(
    "pair",
    [
        ("arn:aws:glue::111122223333", "table/a/b"),
        ("arn:aws:glue:None:111122223333", "table/a/b"),
        ("arn:aws:glue:eu-central-1:", "table/a/b"),
        ("arn:aws:glue:eu-central-1:1111", "table/a/b"),
        ("arn:aws:glue:eu-central-1:111122223333", "table//b"),
        ("arn:aws:glue:eu-central-1:111122223333", "table/a/"),
    ],
)
def test_reported_ol_3_an_incomplete_identity_is_parked_with_the_reason(pair: tuple[str, str]) -> None:
    problem = identity_problem([("postgres://h:5432", "d.s.t"), pair])
    assert problem is not None
    assert ":".join(pair) in problem
    assert "AWS_REGION" in problem
