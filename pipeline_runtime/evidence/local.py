"""Evidence in a local folder."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pipeline_runtime.errors import EvidenceFailed
from pipeline_runtime.evidence.store import checked_key

__all__ = ["LocalStore"]

_UNFINISHED = ".unfinished"


@dataclass(frozen=True)
class LocalStore:
    """A folder as an evidence store; a reader never sees half an object."""

    root: Path

    def put(self, key: str, data: bytes) -> None:
        path = self._path(key)
        with _failing_as_evidence(path), _written_beside(path, data) as whole:
            whole.replace(path)

    def put_if_absent(self, key: str, data: bytes) -> bool:
        path = self._path(key)
        with _failing_as_evidence(path), _written_beside(path, data) as whole:
            try:
                # A hard link is the one step that is both atomic and refuses to replace.
                os.link(whole, path)
            except FileExistsError:
                return False
        return True

    def get(self, key: str) -> bytes | None:
        path = self._path(key)
        with _failing_as_evidence(path):
            try:
                return path.read_bytes()
            except FileNotFoundError:
                return None

    def delete(self, key: str) -> None:
        path = self._path(key)
        with _failing_as_evidence(path):
            path.unlink(missing_ok=True)

    def keys(self, prefix: str) -> list[str]:
        folder = self.root / prefix.rpartition("/")[0]
        with _failing_as_evidence(folder):
            names = (path.relative_to(self.root).as_posix() for path in folder.rglob("*") if path.is_file())
            return sorted(name for name in names if name.startswith(prefix) and not name.endswith(_UNFINISHED))

    def describe(self, key: str) -> str:
        return str(self._path(key))

    def _path(self, key: str) -> Path:
        return self.root / checked_key(key)


@contextmanager
def _written_beside(path: Path, data: bytes) -> Iterator[Path]:
    """The data in a file of its own in the same folder, on disk; removed afterwards if it is still there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    whole = path.with_name(f"{path.name}.{uuid.uuid4().hex}{_UNFINISHED}")
    try:
        with whole.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        yield whole
    finally:
        whole.unlink(missing_ok=True)


@contextmanager
def _failing_as_evidence(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise EvidenceFailed(f"evidence: {path}: {error.strerror or error}") from error
