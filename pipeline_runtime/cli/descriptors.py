"""The descriptors that a command line names, and files as people see and change them."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from pipeline_runtime.errors import Problem, UsageError

__all__ = ["changes", "find_descriptors", "replace_file", "shown"]

_SUFFIXES = frozenset({".yml", ".yaml"})


def find_descriptors(paths: Sequence[Path]) -> tuple[list[Path], list[Problem]]:
    """The descriptors that the paths lead to, each once, and the paths that lead to none."""
    found: dict[Path, Path] = {}
    missing: list[Problem] = []
    for path in paths:
        here = sorted(_below(path)) if path.is_dir() else [path]
        if not here:
            missing.append(Problem(shown(path), 0, "holds no descriptor: no pipelines/*.yml at any depth"))
        for descriptor in here:
            found.setdefault(descriptor.absolute(), descriptor)
    return list(found.values()), missing


def shown(path: Path) -> str:
    """The path as a person in this folder would write it."""
    relative = os.path.relpath(path)
    return str(path) if relative.startswith("..") else relative


def changes(before: bytes, after: bytes, name: str) -> str:
    """A unified diff of two UTF-8 texts, empty where they are the same."""
    old, new = (text.decode("utf-8").splitlines() for text in (before, after))
    return "\n".join(difflib.unified_diff(old, new, name, name, lineterm=""))


def replace_file(path: Path, content: bytes) -> None:
    """Writes the file whole or not at all; a symlink keeps leading where it led. Raises UsageError."""
    import tempfile  # half a percent of what `validate` takes, which writes nothing

    target = path.resolve()
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        mode = target.stat().st_mode & 0o777 if target.exists() else None
        with tempfile.NamedTemporaryFile(dir=target.parent, prefix=f".{target.name}.", delete=False) as file:
            file.write(content)
        written = Path(file.name)
        written.chmod(0o644 if mode is None else mode)
        written.replace(target)
    except OSError as error:
        raise UsageError(f"{shown(path)}: cannot be written: {error.strerror}") from error


def _below(folder: Path) -> Iterator[Path]:
    """The files of every folder named `pipelines`, `folder` itself included; hidden folders are left out."""
    for parent, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        if Path(parent).resolve().name == "pipelines":
            yield from (Path(parent, name) for name in files if _names_a_descriptor(name))


def _names_a_descriptor(name: str) -> bool:
    return Path(name).suffix in _SUFFIXES and not name.startswith(".")
