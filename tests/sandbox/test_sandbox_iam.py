"""The stand-in evaluates a policy's conditions as IAM does."""

from __future__ import annotations

import json
import uuid
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.conftest import REGION, Aws


def bucket_with(aws: Aws, *statements: dict[str, Any]) -> Any:
    name = f"policy-{uuid.uuid4().hex[:12]}"
    s3 = aws.client("s3")
    s3.create_bucket(Bucket=name, CreateBucketConfiguration={"LocationConstraint": REGION})
    everything = [f"arn:aws:s3:::{name}", f"arn:aws:s3:::{name}/*"]
    document = [{"Principal": "*", "Resource": everything, **statement} for statement in statements]
    s3.put_bucket_policy(Bucket=name, Policy=json.dumps({"Version": "2012-10-17", "Statement": document}))
    return s3, name


def test_a_denial_of_plain_http_locks_nobody_out(aws: Aws) -> None:
    s3, name = bucket_with(
        aws, {"Effect": "Deny", "Action": "s3:*", "Condition": {"Bool": {"aws:SecureTransport": "false"}}}
    )
    s3.put_object(Bucket=name, Key="k", Body=b"x")
    assert s3.get_object(Bucket=name, Key="k")["Body"].read() == b"x"


def test_a_denial_of_unconditional_writes_lets_conditional_ones_pass(aws: Aws) -> None:
    s3, name = bucket_with(
        aws,
        {
            "Effect": "Deny",
            "Action": "s3:PutObject",
            "Condition": {"Null": {"s3:if-none-match": "true"}, "Bool": {"s3:ObjectCreationOperation": "true"}},
        },
    )
    s3.put_object(Bucket=name, Key="k", Body=b"x", IfNoneMatch="*")
    with pytest.raises(ClientError, match=r"AccessDenied|403"):
        s3.put_object(Bucket=name, Key="k2", Body=b"x")
    with pytest.raises(ClientError, match="PreconditionFailed"):
        s3.put_object(Bucket=name, Key="k", Body=b"y", IfNoneMatch="*")


def test_a_denial_without_conditions_denies(aws: Aws) -> None:
    s3, name = bucket_with(aws, {"Effect": "Deny", "Action": "s3:PutObject"})
    with pytest.raises(ClientError, match=r"AccessDenied|403"):
        s3.put_object(Bucket=name, Key="k", Body=b"x")
