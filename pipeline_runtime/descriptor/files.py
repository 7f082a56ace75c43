"""The files that a descriptor names: inside its domain, or refused (design decision D8)."""

from __future__ import annotations

import difflib
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from pipeline_runtime.descriptor.load import LoadedDescriptor
from pipeline_runtime.descriptor.modules import module_files
from pipeline_runtime.descriptor.yaml_source import YamlPath, dotted
from pipeline_runtime.errors import FileProblem, Problem

__all__ = ["FoundFiles", "NamedFiles", "confined", "find_files", "named_files", "read_text", "shown"]

#: Bytes. SQL, suites and baselines are written by people.
MAX_BYTES = 1 << 20


@dataclass(frozen=True)
class NamedFiles:
    """Where the files are, each a regular UTF-8 file.

    The SQL and the Python modules by step id, in the order of the steps, and the suite.
    """

    sql: Mapping[str, Path]
    suite: Path
    modules: Mapping[str, Path]

    @property
    def all(self) -> tuple[Path, ...]:
        """Each file once, the SQL first, the suite last."""
        return tuple(dict.fromkeys((*self.sql.values(), *self.modules.values(), self.suite)))


@dataclass(frozen=True)
class FoundFiles:
    """As NamedFiles, those that can be used; `problems` is what is wrong with the others, at the descriptor's lines."""

    sql: Mapping[str, Path]
    modules: Mapping[str, Path]
    suite: Path | None
    problems: tuple[Problem, ...]


def named_files(loaded: LoadedDescriptor) -> NamedFiles:
    """The files that the descriptor names.

    Raises FileProblem with all that cannot be used, at the descriptor's lines.
    """
    found = find_files(loaded)
    if found.problems or found.suite is None:
        raise FileProblem(found.problems)
    return NamedFiles(found.sql, found.suite, found.modules)


def find_files(loaded: LoadedDescriptor) -> FoundFiles:
    """The files that the descriptor names, as far as they can be used."""
    problems: list[Problem] = []

    def usable(name: str, at: YamlPath, find: Callable[[str], Path]) -> Path | None:
        try:
            path = find(name)
            read_text(path)
        except ValueError as error:
            document = loaded.document
            problems.append(Problem(document.shown_as, document.line(at), f"{dotted(at)}: {name!r} {error}"))
            return None
        return path

    def file(name: str) -> Path:
        return confined(loaded.domain_root, name)

    def module(name: str) -> Path:
        return _module(loaded.domain_root, name, loaded.descriptor.metadata.domain)

    sql, modules = {}, {}
    for position, step in enumerate(loaded.descriptor.steps):
        at: YamlPath = ("steps", position)
        if step.query_file is not None and (path := usable(step.query_file, (*at, "query_file"), file)):
            sql[step.id] = path
        if step.module is not None and (path := usable(step.module, (*at, "module"), module)):
            modules[step.id] = path
    suite = usable(loaded.descriptor.expectations.suite, ("expectations", "suite"), file)
    return FoundFiles(sql, modules, suite, tuple(problems))


def _module(domain_root: Path, module: str, domain: str) -> Path:
    """The file of a module. Raises ValueError as `confined` does."""
    names = module_files(module, domain)
    present = [name for name in names if (domain_root / name).is_file()]
    if len(present) > 1:
        raise ValueError(f"is two files, {present[0]} and {present[1]}; keep one")
    try:
        return confined(domain_root, (present or names)[0])
    except ValueError as error:
        raise ValueError(f"means {(present or names)[0]}, which {error}") from None


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


def shown(path: Path) -> str:
    """The path as a person at this shell would write it."""
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)


def _shown(domain_root: Path) -> str:
    return f"the domain root {domain_root.name}/"


def _closest(path: Path) -> str:
    try:
        names = [neighbour.name for neighbour in path.parent.iterdir()]
    except OSError:
        return ""
    near = difflib.get_close_matches(path.name, names, n=1)
    return f"; did you mean {near[0]}?" if near else ""
