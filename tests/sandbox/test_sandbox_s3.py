"""The stand-in deletes versions as S3 does."""

from __future__ import annotations

import uuid

from tests.conftest import REGION, Aws


def test_a_bucket_whose_versioning_was_suspended_can_be_emptied(aws: Aws) -> None:
    s3 = aws.client("s3")
    name = f"versions-{uuid.uuid4().hex[:12]}"
    s3.create_bucket(Bucket=name, CreateBucketConfiguration={"LocationConstraint": REGION})
    s3.put_bucket_versioning(Bucket=name, VersioningConfiguration={"Status": "Enabled"})
    written = s3.put_object(Bucket=name, Key="k", Body=b"x")["VersionId"]
    marker = s3.delete_object(Bucket=name, Key="k")["VersionId"]
    s3.put_bucket_versioning(Bucket=name, VersioningConfiguration={"Status": "Suspended"})
    versions = [{"Key": "k", "VersionId": version} for version in (written, marker)]
    s3.delete_objects(Bucket=name, Delete={"Objects": versions})
    left = s3.list_object_versions(Bucket=name)
    assert not left.get("Versions")
    assert not left.get("DeleteMarkers")
    s3.delete_bucket(Bucket=name)
