"""The run-time copy of a domain's repository: what it holds, and how a job knows that it has all of it.

    <config prefix>/current.json                        which release counts: the one object that is ever replaced
    <config prefix>/releases/<id>/manifest.json         the commit, and the hash of every file
    <config prefix>/releases/<id>/files/<path>          each file, by its path in the repository
    <config prefix>/deployed.json                       what Terraform deployed (see `coverage`)

A release's id is the SHA-256 of its manifest, and the manifest holds the SHA-256 of each file: who has the id can
check everything. `current.json` is written when all else is there, so nobody sees half a release.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, StringConstraints, ValidationError

__all__ = ["CURRENT", "Pointer", "SyncManifest", "SyncedFile", "file_key", "first_problem", "manifest_key"]

CURRENT = "current.json"


def _inside(path: str) -> str:
    parts = PurePosixPath(path).parts
    if not parts or path.startswith("/") or ".." in parts or "\\" in path or "\0" in path:
        raise ValueError(f"{path!r} is no path inside a repository")
    return path


Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
RepositoryPath = Annotated[str, AfterValidator(_inside)]


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class SyncedFile(_Record):
    """One file. `in_commit`: the commit holds exactly these bytes; None where it does not hold the file."""

    sha256: Sha256
    bytes: int
    in_commit: bool | None


class SyncManifest(_Record):
    """One release. `domain_path` is the domain root in the repository, empty where it is the top.

    `signed` says that the commit carries a signature, `dirty` that a file differs from the commit or is not in it.
    `remote_url` carries no credentials. Files are named by their path from the repository's top.
    """

    format: Literal["cordata.sync/v1"] = "cordata.sync/v1"
    domain: str
    domain_path: str
    commit: str
    signed: bool
    dirty: bool
    remote_url: str | None
    files: Mapping[RepositoryPath, SyncedFile]

    def to_bytes(self) -> bytes:
        """What is stored. Knows no time and no machine: one tree at one commit is one release."""
        return json.dumps(self.model_dump(), indent=1, sort_keys=True, ensure_ascii=False).encode() + b"\n"

    @property
    def release(self) -> str:
        """The release's id."""
        return hashlib.sha256(self.to_bytes()).hexdigest()


class Pointer(_Record):
    """`current.json`: which release counts. `synced_at` is ISO 8601 with Z."""

    format: Literal["cordata.sync-pointer/v1"] = "cordata.sync-pointer/v1"
    release: Sha256
    commit: str
    synced_at: str

    def to_bytes(self) -> bytes:
        return json.dumps(self.model_dump(), indent=1, sort_keys=True).encode() + b"\n"


def first_problem(error: ValidationError) -> str:
    """What is wrong with one of the files that lie beside a synced copy, in one line."""
    first = error.errors(include_url=False)[0]
    return f"{'.'.join(map(str, first['loc'])) or 'the file'}: {first['msg']}"


def manifest_key(release: str) -> str:
    """Where a release's manifest lies, below the config prefix."""
    return f"releases/{release}/manifest.json"


def file_key(release: str, path: str) -> str:
    """Where a release's file lies, below the config prefix."""
    return f"releases/{release}/files/{path}"


@dataclass(frozen=True)
class Place:
    """An s3:// prefix: `prefix` has no slash at either end and may be empty."""

    bucket: str
    prefix: str

    @classmethod
    def of(cls, url: str) -> Place:
        """Raises ValueError, whose text continues a sentence that begins with the address."""
        bucket, _, prefix = url.removeprefix("s3://").partition("/")
        if not url.startswith("s3://") or not bucket:
            raise ValueError("is no s3:// address; write s3://bucket/prefix")
        return cls(bucket, prefix.strip("/"))

    def key(self, name: str) -> str:
        return "/".join(filter(None, (self.prefix, name)))

    def url(self, name: str = "") -> str:
        return f"s3://{self.bucket}/{self.key(name)}".rstrip("/")
