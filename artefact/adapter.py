"""The lineage adapter's zip: its own modules and nothing else. The Lambda runtime brings boto3."""

from __future__ import annotations

from pathlib import Path

from artefact.archive import write_archive
from artefact.errors import ArtefactError

__all__ = ["ADAPTER_ZIP", "write_adapter_zip"]

ADAPTER_ZIP = "lineage-adapter.zip"
_PACKAGE = "lineage_adapter"


def write_adapter_zip(root: Path, into: Path) -> Path:
    """Builds the adapter of the project at `root`; returns the zip in the folder `into`, which is made where needed.

    The same modules give the same bytes, so Terraform replaces the function only where the code changed. Raises
    ArtefactError where there is no adapter at `root`.
    """
    modules = sorted((root / _PACKAGE).glob("**/*.py"))
    if not modules:
        raise ArtefactError(f"{root} holds no {_PACKAGE}; name the project's own folder")
    into.mkdir(parents=True, exist_ok=True)
    entries = {module.relative_to(root).as_posix(): module.read_bytes() for module in modules}
    write_archive(into / ADAPTER_ZIP, entries)
    return into / ADAPTER_ZIP
