"""A job's side of a sync: the current release in a scratch folder, every byte of it checked."""

from __future__ import annotations

import contextlib
import difflib
import hashlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from botocore.exceptions import BotoCoreError, ClientError
from pydantic import BaseModel, ValidationError

from pipeline_runtime.errors import ConfigurationError
from pipeline_runtime.sync.copy import SyncedCopy
from pipeline_runtime.sync.manifest import CURRENT, Place, Pointer, SyncManifest, file_key, first_problem, manifest_key

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

__all__ = ["fetched"]

Model = TypeVar("Model", bound=BaseModel)


@contextlib.contextmanager
def fetched(config: str, descriptor: str, s3: S3Client) -> Iterator[tuple[Path, SyncedCopy]]:
    """The descriptor's path in a scratch folder laid out as the repository, and the copy it belongs to.

    The pointer is read once, so a sync meanwhile changes nothing. Raises ConfigurationError where there is no usable
    release, or the descriptor is not in it or not what the manifest says: without it, nothing can be reported. Other
    files that do not match are left out and listed; `SyncedCopy.check` is what fails the run.
    """
    try:
        place = Place.of(config)
    except ValueError as error:
        raise ConfigurationError(f"--config {config!r} {error}") from None
    pointer = _read(Pointer, _get(s3, place, CURRENT, "; the domain's CI writes it: run `sync`"), place.url(CURRENT))
    manifest = _manifest(s3, place, pointer.release)
    if descriptor not in manifest.files:
        near = difflib.get_close_matches(descriptor, manifest.files, n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise ConfigurationError(
            f"--descriptor {descriptor} is not in the synced copy of commit {manifest.commit[:12]} at {config}{hint}"
        )
    with tempfile.TemporaryDirectory(prefix="config-", ignore_cleanup_errors=True) as scratch:
        top = Path(scratch).resolve()
        wrong = tuple(_copy(s3, place, pointer.release, manifest, top))
        if any(path == descriptor for path, _ in wrong):
            raise ConfigurationError(dict(wrong)[descriptor])
        yield top / descriptor, SyncedCopy(top, manifest, tuple(problem for _, problem in wrong))


def _manifest(s3: S3Client, place: Place, release: str) -> SyncManifest:
    name = manifest_key(release)
    data = _get(s3, place, name, "; sync again")
    if hashlib.sha256(data).hexdigest() != release:
        raise ConfigurationError(f"{place.url(name)} is not the manifest that {CURRENT} names; sync again")
    return _read(SyncManifest, data, place.url(name))


def _copy(s3: S3Client, place: Place, release: str, manifest: SyncManifest, top: Path) -> Iterator[tuple[str, str]]:
    """Writes the files that match; yields the path of each that does not, and what is wrong with it."""
    for path, file in manifest.files.items():
        where = place.url(file_key(release, path))
        try:
            data = s3.get_object(Bucket=place.bucket, Key=place.key(file_key(release, path)))["Body"].read()
        except (BotoCoreError, ClientError) as error:
            yield path, f"{where}: {error}"
            continue
        found = hashlib.sha256(data).hexdigest()
        if found != file.sha256:
            said = f"its SHA-256 is {found[:12]}…, the manifest says {file.sha256[:12]}…"
            yield path, f"{where} is not what was synced: {said}"
            continue
        target = top / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)


def _get(s3: S3Client, place: Place, name: str, remedy: str) -> bytes:
    try:
        return s3.get_object(Bucket=place.bucket, Key=place.key(name))["Body"].read()
    except s3.exceptions.NoSuchKey:
        raise ConfigurationError(f"{place.url(name)} does not exist{remedy}") from None
    except (BotoCoreError, ClientError) as error:
        raise ConfigurationError(f"{place.url(name)}: {error}") from None


def _read(model: type[Model], data: bytes, where: str) -> Model:
    try:
        return model.model_validate_json(data)
    except ValidationError as error:
        raise ConfigurationError(f"{where}: {first_problem(error)}; sync again, with this executor's version") from None
