"""Which build of the executor this is: what a run's provenance says about the code that ran it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

from pipeline_runtime import __version__
from pipeline_runtime.lineage.git import Git, GitProblem

__all__ = ["STAMP", "Build", "build", "checkout_build", "package_files"]

#: Written into the package when it is built; a checkout has none, and asks git.
STAMP = "_build.json"


@dataclass(frozen=True)
class Build:
    """`commit` is the executor's own, None where nothing tells; `dirty` that the code differs from it."""

    version: str
    commit: str | None = None
    dirty: bool | None = None


@cache
def build() -> Build:
    """This process's executor. Asks once; a stamp in the package is believed, else git."""
    try:
        stamp = json.loads((files("pipeline_runtime") / STAMP).read_text("utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return checkout_build(Path(__file__).parent)
    return Build(stamp["version"], stamp["commit"], stamp["dirty"])


def checkout_build(package: Path, git_seconds: float = 5.0) -> Build:
    """The build that a checkout's package folder is, as far as git knows it."""
    package = package.resolve()
    try:
        git = Git.of(package, git_seconds)
        commit = git.head()
        same = git.matches(commit, {path: path.read_bytes() for path in package_files(package)})
    except (GitProblem, OSError):
        return Build(__version__)
    if same.get(package / "__init__.py") is None:
        return Build(__version__)  # installed into a folder of someone else's repository
    return Build(__version__, commit, not all(same.values()))


def package_files(package: Path) -> list[Path]:
    """The files that a build ships of a package, sorted: all but caches, hidden ones and an earlier stamp."""
    found = (path for path in package.rglob("*") if path.is_file())
    return sorted(path for path in found if _ships(path.relative_to(package)))


def _ships(path: Path) -> bool:
    if path.name == STAMP or path.suffix in {".pyc", ".pyo"}:
        return False
    return not any(part.startswith(".") or part == "__pycache__" for part in path.parts)
