"""The text of log files: a file, a folder, or an S3 prefix; plain or gzipped."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path

from pipeline_runtime.catalog.locations import bucket_and_key
from pipeline_runtime.errors import CatalogError, UsageError

__all__ = ["log_files"]

_GZIP = b"\x1f\x8b"


def log_files(place: str) -> Iterator[tuple[str, str]]:
    """Name and text of each file at `place`, one in memory at a time. Raises UsageError where there is none."""
    found = False
    for name, content in _in_s3(place) if place.startswith("s3://") else _on_disk(Path(place)):
        found = True
        try:
            text = (gzip.decompress(content) if content.startswith(_GZIP) else content).decode("utf-8")
        except (OSError, EOFError, UnicodeDecodeError) as error:
            raise UsageError(f"{name}: is no text, plain or gzipped ({error})") from None
        if text.strip():
            yield name, text
    if not found:
        raise UsageError(f"{place}: holds no log file")


def _on_disk(path: Path) -> Iterator[tuple[str, bytes]]:
    if not path.exists():
        raise UsageError(f"{path}: does not exist; name a log file, a folder of them, or s3://<bucket>/<prefix>")
    files = [path] if path.is_file() else sorted(file for file in path.rglob("*") if file.is_file())
    for file in files:
        if "CloudTrail-Digest" not in file.parts:
            yield str(file), file.read_bytes()


def _in_s3(place: str) -> Iterator[tuple[str, bytes]]:
    import boto3

    from pipeline_runtime.catalog.answers import refusals_as

    bucket, prefix = bucket_and_key(place)
    s3 = boto3.Session().client("s3")
    with refusals_as(CatalogError, f"read the logs at {place}"):
        for page in s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix):
            for found in page.get("Contents", []):
                if not found["Key"].endswith("/") and "CloudTrail-Digest" not in found["Key"]:
                    body = s3.get_object(Bucket=bucket, Key=found["Key"])["Body"].read()
                    yield f"s3://{bucket}/{found['Key']}", body
