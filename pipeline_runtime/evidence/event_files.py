"""Files of events in a folder or under an S3 prefix, read one after another, whoever wrote them.

What the evidence prefix keeps beside its events (receipts, working state, the listener's own events) is passed over
by its name, so that pointing at the prefix means its runs' events.
"""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Protocol
from urllib.parse import urlsplit

from pipeline_runtime.errors import EvidenceFailed, UsageError

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

__all__ = ["EventFile", "EventFolder", "open_event_folder"]

SUFFIXES = (".json", ".jsonl", ".ndjson")

#: `runs/<run id>/` holds three events; everything else in it, and these folders, hold none to read.
_RUN_FILE = re.compile(r"(?:^|/)runs/[0-9a-f]{8}-[0-9a-f-]{27}/(?P<name>.+)$")
_EVENT_NAMES = {"start.json", "terminal.json", "other.json"}

#: Requests under way at once: as many as the client keeps connections.
_AT_ONCE = 10


@dataclass(frozen=True)
class EventFile:
    """One file. `name` is its path below the folder; `modified` when its bytes were last written there."""

    name: str
    modified: datetime
    size: int


class EventFolder(Protocol):
    """A place with files of events. Methods raise EvidenceFailed where the place cannot be used."""

    @property
    def where(self) -> str:
        """The place, as messages name it."""

    def files(self, prefix: str = "") -> Iterator[EventFile]:
        """The files that may hold events, below `prefix` (a folder with its slash), in the order of their names."""

    def read(self, files: Iterator[EventFile]) -> Iterator[tuple[EventFile, bytes]]:
        """Each file with its bytes, in the same order, a few at a time in memory."""


def open_event_folder(place: str) -> EventFolder:
    """The folder, the single file or the s3:// prefix. Raises UsageError where there is none."""
    parts = urlsplit(place)
    if parts.scheme == "s3" and parts.netloc:
        # Here, for a folder is read without AWS.
        from pipeline_runtime.evidence.s3 import evidence_client

        prefix = parts.path.strip("/")
        return _S3Folder(evidence_client(), parts.netloc, f"{prefix}/" if prefix else "")
    if "://" in place:
        raise UsageError(f"{place}: is no place to read events from; pass a folder, a file or s3://bucket/prefix")
    path = Path(place)
    if not path.exists():
        raise UsageError(f"{place}: does not exist; pass a folder, a file or s3://bucket/prefix")
    return _LocalFolder(path)


def _may_hold_events(name: str) -> bool:
    if not name.endswith(SUFFIXES) or any(part.startswith(".") for part in name.split("/")):
        return False
    in_run = _RUN_FILE.search(name)
    return in_run is None or in_run["name"] in _EVENT_NAMES


@dataclass(frozen=True)
class _LocalFolder:
    path: Path

    @property
    def where(self) -> str:
        return str(self.path)

    def files(self, prefix: str = "") -> Iterator[EventFile]:
        try:
            if self.path.is_file():
                yield self._file(self.path.name, self.path.stat())
                return
            folder = self.path / prefix
            if folder.is_dir():
                yield from self._below(folder, prefix)
        except OSError as error:
            raise EvidenceFailed(f"{error.filename or self.path}: {error.strerror}") from error

    def read(self, files: Iterator[EventFile]) -> Iterator[tuple[EventFile, bytes]]:
        for file in files:
            path = self.path if self.path.is_file() else self.path / file.name
            try:
                yield file, path.read_bytes()
            except OSError as error:
                raise EvidenceFailed(f"{path}: {error.strerror}") from error

    def _below(self, folder: Path, prefix: str) -> Iterator[EventFile]:
        with os.scandir(folder) as found:
            entries = sorted(found, key=lambda entry: entry.name)
        for entry in entries:
            name = prefix + entry.name
            if entry.is_dir(follow_symlinks=False):
                if not entry.name.startswith("."):
                    yield from self._below(Path(entry.path), f"{name}/")
            elif _may_hold_events(name) and entry.is_file():
                yield self._file(name, entry.stat())

    @staticmethod
    def _file(name: str, status: os.stat_result) -> EventFile:
        return EventFile(name, datetime.fromtimestamp(status.st_mtime, UTC), status.st_size)


@dataclass(frozen=True)
class _S3Folder:
    client: S3Client
    bucket: str
    prefix: str

    @property
    def where(self) -> str:
        return f"s3://{self.bucket}/{self.prefix}"

    def files(self, prefix: str = "") -> Iterator[EventFile]:
        pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=self.bucket, Prefix=self.prefix + prefix)
        with self._failing():
            for page in pages:
                for entry in page.get("Contents", ()):
                    name = entry["Key"].removeprefix(self.prefix)
                    if _may_hold_events(name):
                        yield EventFile(name, entry["LastModified"], entry["Size"])

    def read(self, files: Iterator[EventFile]) -> Iterator[tuple[EventFile, bytes]]:
        under_way: deque[tuple[EventFile, Future[bytes]]] = deque()
        with self._failing(), ThreadPoolExecutor(_AT_ONCE) as pool:
            for file in files:
                under_way.append((file, pool.submit(self._bytes, file.name)))
                if len(under_way) >= _AT_ONCE:
                    oldest, body = under_way.popleft()
                    yield oldest, body.result()
            while under_way:
                oldest, body = under_way.popleft()
                yield oldest, body.result()

    def _bytes(self, name: str) -> bytes:
        return self.client.get_object(Bucket=self.bucket, Key=self.prefix + name)["Body"].read()

    def _failing(self) -> _S3Failing:
        return _S3Failing(self.where)


@dataclass(frozen=True)
class _S3Failing:
    """Turns what boto3 raises inside into EvidenceFailed."""

    where: str

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        from botocore.exceptions import BotoCoreError, ClientError

        if isinstance(error, BotoCoreError | ClientError):
            raise EvidenceFailed(f"{self.where}: {error}") from error
