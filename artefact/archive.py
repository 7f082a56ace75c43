"""Archives whose bytes depend on what is in them, and on nothing else."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path

__all__ = ["write_archive"]

#: The earliest time a zip can name. Files keep no time of their own.
_TIME = (1980, 1, 1, 0, 0, 0)
_REGULAR_FILE_0644 = 0o100644 << 16


def write_archive(path: Path, entries: Mapping[str, bytes]) -> None:
    """Writes a zip of these entries, ordered by name, replacing what is at `path`.

    Nothing is compressed: what another zlib would make of the same bytes would be another file.
    """
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(entries):
            entry = zipfile.ZipInfo(name, _TIME)
            entry.create_system = 3  # Unix, wherever it is built
            entry.external_attr = _REGULAR_FILE_0644
            archive.writestr(entry, entries[name])
