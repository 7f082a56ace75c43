"""The files that a descriptor names: inside its domain, or refused (design decision D8)."""

from __future__ import annotations

import difflib
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from pipeline_runtime.descriptor.load import LoadedDescriptor
from pipeline_runtime.descriptor.yaml_source import YamlPath, dotted
from pipeline_runtime.errors import FileProblem, Problem

__all__ = ["NamedFiles", "confined", "find_files", "named_files", "read_text"]

#: Bytes. SQL, suites and baselines are written by people.
MAX_BYTES = 1 << 20


@dataclass(frozen=True)
class NamedFiles:
    """Where the files are, each a regular UTF-8 file: the SQL by step id in the order of the steps, and the suite."""

    sql: Mapping[str, Path]
    suite: Path

    @property
    def all(self) -> tuple[Path, ...]:
        """Each file once, the SQL first."""
        return tuple(dict.fromkeys((*self.sql.values(), self.suite)))


def named_files(loaded: LoadedDescriptor) -> NamedFiles:
    """The files that the descriptor names.

    Raises FileProblem with all that cannot be used, at the descriptor's lines.
    """
    sql, suite, problems = find_files(loaded)
    if problems or suite is None:
        raise FileProblem(problems)
    return NamedFiles(sql, suite)


def find_files(loaded: LoadedDescriptor) -> tuple[dict[str, Path], Path | None, list[Problem]]:
    """As `named_files`: the SQL and the suite that can be used, and what is wrong with the others."""
    problems: list[Problem] = []

    def usable(name: str, at: YamlPath) -> Path | None:
        try:
            path = confined(loaded.domain_root, name)
            read_text(path)
        except ValueError as error:
            document = loaded.document
            problems.append(Problem(document.shown_as, document.line(at), f"{dotted(at)}: {name!r} {error}"))
            return None
        return path

    sql = {
        step.id: path
        for position, step in enumerate(loaded.descriptor.steps)
        if step.query_file is not None and (path := usable(step.query_file, ("steps", position, "query_file")))
    }
    return sql, usable(loaded.descriptor.expectations.suite, ("expectations", "suite")), problems


def confined(domain_root: Path, name: str) -> Path:
    """The regular file that `name` means from the domain root; symlinks are followed and must stay inside.

    Raises ValueError, whose text continues a sentence that begins with the name.
    """
    relative = PurePosixPath(name)
    if not relative.parts or "\0" in name:
        raise ValueError("is not the name of a file")
    if relative.is_absolute() or "\\" in name or ":" in relative.parts[0]:
        raise ValueError("is not a path from the domain root; write it like sql/score.sql")
    if ".." in relative.parts:
        raise ValueError("climbs with '..'; a descriptor names files of its own domain only")
    path = domain_root / relative
    try:
        target = path.resolve(strict=True)
        mode = target.stat().st_mode
    except FileNotFoundError:
        raise ValueError(f"does not exist in {_shown(domain_root)}{_closest(path)}") from None
    except (OSError, RuntimeError, ValueError) as error:
        # RuntimeError: a loop of symlinks, before Python 3.13; ValueError: characters no file system takes.
        raise ValueError(f"cannot be read: {getattr(error, 'strerror', None) or 'the path leads nowhere'}") from None
    if not target.is_relative_to(domain_root.resolve()):
        raise ValueError("is a symlink that leads out of the domain")
    if not stat.S_ISREG(mode):
        raise ValueError("is not a regular file")
    return path


def read_text(path: Path) -> str:
    """The text of a UTF-8 file without a byte order mark. Raises ValueError with the reason in words."""
    try:
        too_large = path.stat().st_size > MAX_BYTES
        content = b"" if too_large else path.read_bytes()
    except OSError as error:
        raise ValueError(f"cannot be read: {error.strerror}") from None
    if too_large:
        raise ValueError(f"is larger than {MAX_BYTES:,} bytes")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ValueError(f"is not UTF-8 (line {line}); save it as UTF-8") from None


def _shown(domain_root: Path) -> str:
    return f"the domain root {domain_root.name}/"


def _closest(path: Path) -> str:
    try:
        names = [neighbour.name for neighbour in path.parent.iterdir()]
    except OSError:
        return ""
    near = difflib.get_close_matches(path.name, names, n=1)
    return f"; did you mean {near[0]}?" if near else ""
