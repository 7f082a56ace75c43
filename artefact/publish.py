"""Puts a release where jobs read it: whole or not at all, and never over another one.

The manifest goes last. A job's Terraform reads it, so a release that was interrupted half-way is used by nobody; the
same command completes it.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from botocore.exceptions import BotoCoreError, ClientError

from artefact.errors import ArtefactError
from artefact.manifest import Manifest, read_release
from pipeline_runtime.catalog.locations import bucket_and_key
from pipeline_runtime.glue.artefact import MANIFEST, Artefact

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

__all__ = ["publish"]


def publish(
    folder: Path,
    destination: str,
    s3: S3Client,
    *,
    allow_dirty: bool = False,
    say: Callable[[str], None] = lambda _: None,
) -> Artefact:
    """Uploads the release in `folder` below `destination` (s3://bucket/prefix); returns where it is.

    A release that is there already with the same bytes is left as it is. Raises ArtefactError where other bytes are
    there, where the build is not one commit's, and where S3 cannot be used.
    """
    manifest = read_release(folder)
    build = manifest.build
    if not allow_dirty and (build.commit is None or build.dirty):
        what = "its code differs from its commit" if build.dirty else "nothing tells which commit it was built from"
        raise ArtefactError(
            f"{build.version}: {what}; build it from a clean checkout (--allow-dirty publishes it anyway)"
        )
    artefact = Artefact(destination, build.version)
    try:
        _upload(folder, manifest, artefact, s3, say)
    except (BotoCoreError, ClientError) as error:
        raise ArtefactError(f"{artefact.prefix}: {error}") from error
    return artefact


def _upload(folder: Path, manifest: Manifest, artefact: Artefact, s3: S3Client, say: Callable[[str], None]) -> None:
    bucket, prefix = bucket_and_key(artefact.prefix)
    text = manifest.to_bytes()
    published = _get(s3, bucket, f"{prefix}/{MANIFEST}")
    if published == text:
        say(f"{artefact.prefix} holds this release already")
        return
    if published is not None:
        raise ArtefactError(
            f"{artefact.prefix} is another build of {artefact.version}; a release is never replaced: raise the version"
        )
    for name in manifest.files:
        put = _put(s3, bucket, f"{prefix}/{name}", (folder / name).read_bytes())
        say(f"{name}{'' if put else ' was there'}")
    _put(s3, bucket, f"{prefix}/{MANIFEST}", text)
    say(MANIFEST)


def _put(s3: S3Client, bucket: str, key: str, data: bytes) -> bool:
    """Writes an object that is not there; False where it was there with these bytes."""
    checksum = base64.b64encode(hashlib.sha256(data).digest()).decode()
    try:
        s3.put_object(Bucket=bucket, Key=key, Body=data, IfNoneMatch="*", ChecksumSHA256=checksum)
    except ClientError as error:
        if error.response["ResponseMetadata"]["HTTPStatusCode"] != 412:
            raise
        if _get(s3, bucket, key) != data:
            raise ArtefactError(f"s3://{bucket}/{key} exists with other content; raise the version") from None
        return False
    return True


def _get(s3: S3Client, bucket: str, key: str) -> bytes | None:
    try:
        return s3.get_object(Bucket=bucket, Key=key)["Body"].read()
    except s3.exceptions.NoSuchKey:
        return None
