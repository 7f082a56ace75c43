"""A synced copy on a job's disk, and what its manifest says about the files of a run."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pipeline_runtime.errors import SyncedFileChanged
from pipeline_runtime.sync.manifest import SyncManifest

__all__ = ["SyncedCopy"]


@dataclass(frozen=True)
class SyncedCopy:
    """`top` is laid out as the top of the repository. `problems` are files that were not what the manifest says."""

    top: Path
    manifest: SyncManifest
    problems: tuple[str, ...] = ()

    def check(self) -> None:
        """Raises SyncedFileChanged where a file of the release is not what was synced."""
        if self.problems:
            raise SyncedFileChanged("\n".join((*self.problems, "nobody edits a synced copy; sync again to repair it")))

    def matches(self, contents: Mapping[Path, bytes | None]) -> dict[Path, bool | None]:
        """For each file whether the commit holds exactly these bytes; None where it does not hold the file.

        As git answers it in a checkout; a file without bytes is missing.
        """
        return {path: self._same(path, data) for path, data in contents.items()}

    def _same(self, path: Path, data: bytes | None) -> bool | None:
        name = path.relative_to(self.top).as_posix() if path.is_relative_to(self.top) else ""
        file = self.manifest.files.get(name)
        if file is None or file.in_commit is None:
            return None
        return file.in_commit and data is not None and hashlib.sha256(data).hexdigest() == file.sha256
