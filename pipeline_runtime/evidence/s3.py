"""Evidence under an S3 prefix."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from botocore.exceptions import BotoCoreError, ClientError

from pipeline_runtime.errors import EvidenceFailed
from pipeline_runtime.evidence.store import checked_key

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

__all__ = ["S3Store", "evidence_client"]

#: S3 answers 409 while another conditional write of the same key is under way, and asks to try again.
_CONFLICT_WAITS = (0.1, 0.2, 0.4, 0.8)


def evidence_client() -> S3Client:
    """A client for the evidence prefix that gives up in seconds, so that evidence never holds up a run for long."""
    import boto3
    from botocore.config import Config

    return boto3.client(
        "s3", config=Config(connect_timeout=3, read_timeout=10, retries={"mode": "standard", "total_max_attempts": 3})
    )


@dataclass(frozen=True)
class S3Store:
    """An S3 prefix as an evidence store. `prefix` has no slash at either end and may be empty."""

    client: S3Client
    bucket: str
    prefix: str

    def put(self, key: str, data: bytes) -> None:
        with self._failing_as_evidence(key):
            self.client.put_object(Bucket=self.bucket, Key=self._key(key), Body=data)

    def put_if_absent(self, key: str, data: bytes) -> bool:
        waits = iter(_CONFLICT_WAITS)
        with self._failing_as_evidence(key):
            while True:
                try:
                    self.client.put_object(Bucket=self.bucket, Key=self._key(key), Body=data, IfNoneMatch="*")
                except ClientError as error:
                    status = error.response["ResponseMetadata"]["HTTPStatusCode"]
                    if status == 412:
                        return False
                    wait = next(waits, None)
                    if status != 409 or wait is None:
                        raise
                    time.sleep(wait)
                else:
                    return True

    def get(self, key: str) -> bytes | None:
        with self._failing_as_evidence(key):
            try:
                return self.client.get_object(Bucket=self.bucket, Key=self._key(key))["Body"].read()
            except self.client.exceptions.NoSuchKey:
                return None

    def delete(self, key: str) -> None:
        with self._failing_as_evidence(key):
            self.client.delete_object(Bucket=self.bucket, Key=self._key(key))

    def keys(self, prefix: str) -> list[str]:
        start = f"{self.prefix}/" if self.prefix else ""
        with self._failing_as_evidence(prefix):
            pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=self.bucket, Prefix=start + prefix)
            return sorted(entry["Key"].removeprefix(start) for page in pages for entry in page.get("Contents", ()))

    def describe(self, key: str) -> str:
        return f"s3://{self.bucket}/{self._key(key)}"

    def _key(self, key: str) -> str:
        return "/".join(filter(None, (self.prefix, checked_key(key))))

    @contextmanager
    def _failing_as_evidence(self, key: str) -> Iterator[None]:
        try:
            yield
        except (BotoCoreError, ClientError) as error:
            where = f"s3://{self.bucket}/{'/'.join(filter(None, (self.prefix, key)))}"
            raise EvidenceFailed(f"evidence: {where}: {error}") from error
