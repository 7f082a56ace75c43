"""A domain root as a release: its files, and what git says about them."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pipeline_runtime.descriptor.files import named_files
from pipeline_runtime.descriptor.load import LoadedDescriptor, load
from pipeline_runtime.errors import SyncRefused
from pipeline_runtime.lineage.git import Git, GitProblem
from pipeline_runtime.lineage.provenance import without_credentials
from pipeline_runtime.sync.manifest import SyncedFile, SyncManifest

__all__ = ["FOLDERS", "Collected", "collect", "descriptors_of"]

#: The folders of a domain root that a run may read.
FOLDERS = ("baselines", "expectations", "pipelines", "schemas", "sql", "transforms")

_SUFFIXES = {".yml", ".yaml"}


@dataclass(frozen=True)
class Collected:
    """A release, not uploaded yet. `contents` are the files' bytes, `descriptors` the models, by repository path."""

    manifest: SyncManifest
    contents: Mapping[str, bytes]
    descriptors: tuple[tuple[str, LoadedDescriptor], ...]


def collect(domain_root: Path, *, allow_dirty: bool = False, git_seconds: float = 30.0) -> Collected:
    """The release that the domain root is at this moment.

    Raises SyncRefused where it is no domain root, lies in no git repository, or differs from its commit (unless
    that is allowed; the manifest says so). Its descriptors have to be valid.
    """
    root = domain_root.resolve()
    descriptors = [
        load(root / path.relative_to(domain_root), shown_as=str(path)) for path in descriptors_of(domain_root)
    ]
    domains = sorted({loaded.descriptor.metadata.domain for loaded in descriptors})
    if len(domains) != 1:
        raise SyncRefused(f"{domain_root}: its descriptors are of several domains: {', '.join(domains)}")
    try:
        git = Git.of(root, git_seconds)
        commit = git.head()
        paths = sorted({*_files(root), *(file.resolve() for each in descriptors for file in named_files(each).all)})
        contents: dict[Path, bytes | None] = {path: path.read_bytes() for path in paths}
        lost = git.lost(commit, [root / folder for folder in FOLDERS])
        states = git.matches(commit, contents)
        signed, remote = git.is_signed(commit), without_credentials(git.remote_url())
    except GitProblem as problem:
        raise SyncRefused(f"{domain_root}: {problem}; what is synced is a commit, so that a run can name it") from None
    changed = sorted(path.relative_to(git.top).as_posix() for path, same in states.items() if not same)
    if (changed or lost) and not allow_dirty:
        raise SyncRefused(_dirty(commit, changed, [path.relative_to(git.top).as_posix() for path in lost]))
    manifest = SyncManifest(
        domain=domains[0],
        domain_path="" if root == git.top else root.relative_to(git.top).as_posix(),
        commit=commit,
        signed=signed,
        dirty=bool(changed or lost),
        remote_url=remote,
        files={
            path.relative_to(git.top).as_posix(): SyncedFile(
                sha256=hashlib.sha256(data or b"").hexdigest(), bytes=len(data or b""), in_commit=states[path]
            )
            for path, data in contents.items()
        },
    )
    return Collected(
        manifest,
        {path.relative_to(git.top).as_posix(): data or b"" for path, data in contents.items()},
        tuple((loaded.path.resolve().relative_to(git.top).as_posix(), loaded) for loaded in descriptors),
    )


def descriptors_of(domain_root: Path) -> list[Path]:
    """The descriptors of a domain root, sorted. Raises SyncRefused where there are none."""
    folder = domain_root / "pipelines"
    found = sorted(path for path in folder.glob("*") if path.suffix in _SUFFIXES and not path.name.startswith("."))
    if not found:
        raise SyncRefused(f"{domain_root} is no domain root: it holds no pipelines/*.yml")
    return found


def _files(root: Path) -> Iterator[Path]:
    for folder in FOLDERS:
        for parent, folders, names in os.walk(root / folder):
            folders[:] = [name for name in folders if not name.startswith(".") and name != "__pycache__"]
            for name in names:
                path = Path(parent, name)
                if name.startswith(".") or path.suffix in {".pyc", ".pyo"}:
                    continue
                if path.is_symlink():
                    raise SyncRefused(f"{path.relative_to(root)} is a symlink; a synced copy holds files only")
                if path.is_file():
                    yield path


def _dirty(commit: str, changed: list[str], lost: list[str]) -> str:
    what = [*(f"{path} differs from it" for path in changed), *(f"{path} is missing" for path in lost)]
    return (
        f"the tree is not commit {commit[:12]}: {'; '.join(what)}. Commit first; --allow-dirty syncs it all the same, "
        "and every run says so"
    )
