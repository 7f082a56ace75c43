"""Finding a table's consumers: every descriptor below the given paths is read, and those that name the table are kept.

Nothing is registered anywhere and nothing is passed over in silence: a folder that cannot be listed, a descriptor
that cannot be read and one that lies where no executor would look for it are all reported.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from pipeline_runtime.contracts.batches import in_batches
from pipeline_runtime.contracts.declared import Declared, declared_in
from pipeline_runtime.errors import DescriptorError, Problem, UsageError

__all__ = ["Scanned", "Unreadable", "scan", "shown"]

_SUFFIXES = frozenset({".yml", ".yaml"})
_FOLDER = "pipelines"
#: What makes a YAML file below `pipelines/`, but not in it, a descriptor that lost its way.
_API_GROUP = b"cordata.tech/"


@dataclass(frozen=True)
class Unreadable:
    """A descriptor that cannot be read, and every reason. Nobody knows whether it reads the table."""

    path: str
    problems: tuple[Problem, ...]


@dataclass(frozen=True)
class Scanned:
    """What was found under one path, in the order of the files' names. `count` is how many descriptors there are."""

    path: str
    count: int
    consumers: tuple[Declared, ...]
    unreadable: tuple[Unreadable, ...]


def scan(paths: Sequence[Path], tables: Collection[str]) -> list[Scanned]:
    """The descriptors under each path that name one of `tables` (`<database>.<table>`, in lower case) as source.

    Raises UsageError for a path that does not exist, cannot be listed or leads to no descriptor.
    """
    wanted = frozenset(tables)
    found = []
    for path in dict.fromkeys(paths):
        count = 0
        kept: list[Declared | Unreadable] = []
        for batch in in_batches(partial(_read_batch, wanted), _descriptors(path)):
            count += batch.count
            kept += batch.kept
        if not count:
            raise UsageError(f"{shown(path)}: holds no descriptor: no {_FOLDER}/*.yml at any depth")
        found.append(
            Scanned(
                shown(path),
                count,
                tuple(each for each in kept if isinstance(each, Declared)),
                tuple(each for each in kept if isinstance(each, Unreadable)),
            )
        )
    return found


def shown(path: Path) -> str:
    """The path as a person in this folder would write it."""
    relative = os.path.relpath(path)
    return str(path) if relative.startswith("..") else relative


@dataclass(frozen=True)
class _Batch:
    """How many descriptors a batch holds, and those of them that matter."""

    count: int
    kept: list[Declared | Unreadable]


@dataclass(frozen=True)
class _File:
    """`certain` is False where only the content tells whether the file is a descriptor."""

    path: Path
    certain: bool


def _read_batch(wanted: frozenset[str], files: list[_File]) -> _Batch:
    count = 0
    kept: list[Declared | Unreadable] = []
    for file in files:
        if not file.certain and not _is_lost(file.path):
            continue
        count += 1
        try:
            declared = declared_in(file.path, shown(file.path))
        except DescriptorError as error:
            kept.append(Unreadable(shown(file.path), error.problems))
        else:
            if declared.fqn in wanted:
                kept.append(declared)
    return _Batch(count, kept)


def _is_lost(file: Path) -> bool:
    try:
        return _API_GROUP in file.read_bytes()
    except OSError:
        return True  # the loader says why


def _descriptors(path: Path) -> Iterator[_File]:
    """The files that are or may be descriptors, by name. Raises UsageError where something cannot be listed."""
    if path.is_dir():
        yield from _below(path, path.resolve().name == _FOLDER, set())
    elif path.exists():
        yield _File(path, certain=True)
    else:
        raise UsageError(f"{shown(path)}: does not exist; name a folder with descriptors, or a descriptor")


def _below(folder: Path, in_pipelines: bool, seen: set[tuple[int, int]]) -> Iterator[_File]:
    """Links are followed, each folder once; hidden names are left out, as editors and version control use them."""
    try:
        status = folder.stat()
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        raise UsageError(f"{shown(folder)}: cannot be listed: {error.strerror}") from None
    if (status.st_dev, status.st_ino) in seen:
        return
    seen.add((status.st_dev, status.st_ino))
    for entry in entries:
        if entry.name.startswith("."):
            continue
        if entry.is_dir():
            yield from _below(folder / entry.name, in_pipelines or entry.name == _FOLDER, seen)
        elif in_pipelines and Path(entry.name).suffix.lower() in _SUFFIXES:
            yield _File(folder / entry.name, certain=folder.resolve().name == _FOLDER)
