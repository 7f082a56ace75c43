"""A release goes up: its files, its manifest, and last the pointer that makes it count."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from botocore.exceptions import BotoCoreError, ClientError

from pipeline_runtime.errors import SyncFailed, SyncRefused
from pipeline_runtime.lineage.values import utc_text
from pipeline_runtime.sync.collect import Collected
from pipeline_runtime.sync.coverage import DEPLOYED, gaps, read_deployed
from pipeline_runtime.sync.manifest import CURRENT, Place, Pointer, file_key, manifest_key

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

__all__ = ["check_coverage", "upload"]


def check_coverage(collected: Collected, place: Place, s3: S3Client) -> None:
    """Raises SyncRefused where the deployed jobs' roles do not cover a descriptor, naming what to apply."""
    where = place.url(DEPLOYED)
    try:
        data = s3.get_object(Bucket=place.bucket, Key=place.key(DEPLOYED))["Body"].read()
        deployed = read_deployed(data)
    except s3.exceptions.NoSuchKey:
        raise SyncRefused(
            f"{where} does not exist: nothing is deployed there yet; apply the domain's transform_jobs first"
        ) from None
    except ValueError as error:
        raise SyncRefused(f"{where}: {error}; apply the domain's transform_jobs again, it writes this file") from None
    except (BotoCoreError, ClientError) as error:
        raise SyncFailed(f"{where}: {error}") from error
    if found := gaps(deployed, [(path, loaded.descriptor) for path, loaded in collected.descriptors]):
        raise SyncRefused("\n".join((*found, f"apply {deployed.apply} with this commit first, then sync again")))


def upload(collected: Collected, place: Place, s3: S3Client, clock: Callable[[], datetime] | None = None) -> Pointer:
    """Writes the release and makes it the current one. Raises SyncFailed; the release before it then still counts.

    Files that are there already are written again: the copy is derived, and writing it anew repairs it.
    """
    release = collected.manifest.release
    now = (clock or (lambda: datetime.now(UTC)))()
    pointer = Pointer(release=release, commit=collected.manifest.commit, synced_at=utc_text(now, milliseconds=False))
    objects = {file_key(release, path): data for path, data in collected.contents.items()}
    objects[manifest_key(release)] = collected.manifest.to_bytes()
    objects[CURRENT] = pointer.to_bytes()  # last: a dict keeps its order
    for name, data in objects.items():
        try:
            s3.put_object(
                Bucket=place.bucket,
                Key=place.key(name),
                Body=data,
                ChecksumSHA256=base64.b64encode(hashlib.sha256(data).digest()).decode(),
            )
        except (BotoCoreError, ClientError) as error:
            raise SyncFailed(f"{place.url(name)}: {error}; nothing has changed for the jobs") from error
    return pointer
