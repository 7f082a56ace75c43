"""Where evidence is kept: a local folder or an S3 prefix, behind one small interface."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol
from urllib.parse import urlsplit
from urllib.request import url2pathname

from pipeline_runtime.errors import ConfigurationError

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

__all__ = ["EvidenceStore", "checked_key", "open_store"]

_KEY = re.compile(r"(?!\.{1,2}(/|$))[A-Za-z0-9._-]+(/(?!\.{1,2}(/|$))[A-Za-z0-9._-]+)*")
_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")


class EvidenceStore(Protocol):
    """Objects under slash-separated keys. Every method raises EvidenceFailed where the store cannot be used."""

    def put(self, key: str, data: bytes) -> None:
        """Writes the object whole, replacing what was there."""

    def put_if_absent(self, key: str, data: bytes) -> bool:
        """Writes the object whole unless the key exists; of several writers exactly one gets True."""

    def get(self, key: str) -> bytes | None:
        """The object's bytes, or None where there is none."""

    def delete(self, key: str) -> None:
        """Removes the object, if there is one: for what is working state, never for events."""

    def keys(self, prefix: str) -> list[str]:
        """All keys that start with `prefix`, sorted."""

    def describe(self, key: str) -> str:
        """The path or URL under which a person finds the object."""


def checked_key(key: str) -> str:
    """The key itself; raises ValueError for one that could leave the prefix."""
    if _KEY.fullmatch(key) is None:
        raise ValueError(f"{key!r} is not a key: parts of letters, digits, '.', '_', '-', separated by '/'")
    return key


def open_store(url: str, s3_client_factory: Callable[[], S3Client]) -> EvidenceStore:
    """The store that `url` names: `s3://bucket/prefix`, or a local folder (a path or a file:// URL).

    The factory is called for S3 only. Raises ConfigurationError for any other kind of URL.
    """
    parts = urlsplit(url)
    if parts.scheme == "s3":
        if _BUCKET.fullmatch(parts.netloc) is None:
            raise ConfigurationError(f"evidence: {url!r} names no valid bucket; write s3://bucket/prefix")
        from pipeline_runtime.evidence.s3 import S3Store

        return S3Store(s3_client_factory(), parts.netloc, parts.path.strip("/"))
    if parts.scheme == "file" and parts.netloc in {"", "localhost"}:
        return _local(url2pathname(parts.path))
    if "://" in url or not url.strip():
        raise ConfigurationError(
            f"evidence: {url!r} is no place this executor can keep evidence; write s3://bucket/prefix or a local folder"
        )
    return _local(url)


def _local(path: str) -> EvidenceStore:
    from pipeline_runtime.evidence.local import LocalStore

    return LocalStore(Path(path).expanduser().absolute())
