"""A release's manifest: which build it is, and the hash of every file of it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from artefact.errors import ArtefactError
from pipeline_runtime.build import Build
from pipeline_runtime.glue.artefact import MANIFEST

__all__ = ["File", "Manifest", "read_release"]

FORMAT = "cordata.artefact/v1"


@dataclass(frozen=True)
class File:
    """One file of a release: the hex SHA-256 of its bytes, and how many there are."""

    sha256: str
    bytes: int

    @classmethod
    def of(cls, path: Path) -> File:
        with path.open("rb") as file:
            return cls(hashlib.file_digest(file, "sha256").hexdigest(), path.stat().st_size)


@dataclass(frozen=True)
class Manifest:
    """`engines` are the Glue versions that the release is for; `files` all files of it but this one, by name."""

    build: Build
    engines: tuple[str, ...]
    files: Mapping[str, File]

    @classmethod
    def of(cls, build: Build, engines: Iterable[str], files: Iterable[Path]) -> Manifest:
        return cls(build, tuple(engines), {path.name: File.of(path) for path in sorted(files)})

    def to_bytes(self) -> bytes:
        """What `manifest.json` holds. Knows no time and no machine: one build has one manifest."""
        text = {
            "format": FORMAT,
            **asdict(self.build),
            "engines": list(self.engines),
            "files": {name: asdict(file) for name, file in self.files.items()},
        }
        return json.dumps(text, indent=2, sort_keys=True).encode() + b"\n"


def read_release(folder: Path) -> Manifest:
    """The release in a folder, every file of it as its manifest says. Raises ArtefactError where one is not."""
    try:
        text = json.loads((folder / MANIFEST).read_bytes())
        build = Build(text["version"], text["commit"], text["dirty"])
        manifest = Manifest(build, tuple(text["engines"]), {name: File(**each) for name, each in text["files"].items()})
    except FileNotFoundError:
        raise ArtefactError(f"{folder} holds no release; run `make artefact` first") from None
    except (ValueError, KeyError, TypeError):
        raise ArtefactError(f"{folder / MANIFEST} is no manifest of a release; run `make artefact` again") from None
    wrong = [name for name, file in manifest.files.items() if _differs(folder / name, file)]
    if wrong:
        raise ArtefactError(f"{folder}: not what the manifest says: {', '.join(wrong)}; run `make artefact` again")
    return manifest


def _differs(path: Path, file: File) -> bool:
    return not path.is_file() or File.of(path) != file
