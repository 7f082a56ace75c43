"""Which declaration a run executed: hashes of its files, and the commit that carried them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from pipeline_runtime.lineage.git import Git, GitProblem

if TYPE_CHECKING:
    from pipeline_runtime.sync.copy import SyncedCopy

__all__ = ["GitFacts", "Provenance", "provenance", "web_url", "without_credentials"]

_SCP_REMOTE = re.compile(r"(?:[^@/:]+@)?(?P<host>[^/:@]+):(?!//)(?P<path>[^:]+)")


@dataclass(frozen=True)
class GitFacts:
    """What git knows about the run's files.

    `signed` says that the commit object carries a signature, not that the signature is good. `dirty` says that a
    file differs from the commit, is missing or is not in it. Where git knows nothing, `commit` is None and
    `reason` says why. `remote_url` carries no credentials.
    """

    commit: str | None = None
    signed: bool | None = None
    dirty: bool | None = None
    remote_url: str | None = None
    reason: str | None = None


@dataclass(frozen=True)
class Provenance:
    """A run's declaration. Paths are relative to the repository's top, so that
    `git show <commit>:<descriptor_path> | sha256sum` can be run as it stands; without git, to the domain root.

    `domain_path` is the domain root, empty where it is the top; `files` maps every file the descriptor names,
    as far as it exists, to its SHA-256.
    """

    descriptor_path: str
    descriptor_sha256: str
    domain_path: str
    files: Mapping[str, str]
    git: GitFacts


def provenance(
    descriptor_path: Path,
    named_files: Iterable[Path],
    *,
    domain_root: Path,
    synced: SyncedCopy | None = None,
    git_seconds: float = 5.0,
) -> Provenance:
    """Hashes the descriptor and the files it names, and asks git about them, for `git_seconds` at most a question.

    Of a synced copy, its manifest tells what git would have told in the checkout that was synced. Never fails for
    git's sake: a missing git, a missing or foreign repository end up in `GitFacts.reason`.
    Raises OSError where the descriptor itself cannot be read.
    """
    descriptor, root = descriptor_path.resolve(), domain_root.resolve()
    contents: dict[Path, bytes | None] = {path.resolve(): _read(path) for path in named_files}
    contents[descriptor] = descriptor.read_bytes()
    if synced is not None:
        top, facts = synced.top, _synced_facts(synced, descriptor, contents)
    else:
        top, facts = _asked_facts(root, descriptor, contents, git_seconds)
    hashes = {
        _relative(path, top): hashlib.sha256(data).hexdigest() for path, data in contents.items() if data is not None
    }
    own = _relative(descriptor, top)
    return Provenance(
        descriptor_path=own,
        descriptor_sha256=hashes[own],
        domain_path="" if root == top else _relative(root, top),
        files={path: digest for path, digest in sorted(hashes.items()) if path != own},
        git=facts,
    )


def web_url(remote: str | None) -> str | None:
    """The https address of a remote's repository; None for a remote that is no host, such as a folder."""
    if remote is None:
        return None
    if "://" in remote:
        parts = urlsplit(remote)
        host, path = parts.hostname, parts.path
        if parts.scheme not in {"http", "https", "ssh", "git"}:
            return None
    elif match := _SCP_REMOTE.fullmatch(remote):
        host, path = match["host"], match["path"]
    else:
        return None
    path = path.strip("/").removesuffix(".git")
    return f"https://{host}/{path}" if host and path else None


def _asked_facts(
    root: Path, descriptor: Path, contents: Mapping[Path, bytes | None], git_seconds: float
) -> tuple[Path, GitFacts]:
    """The top that paths start at, and what git says; the domain root where there is no repository."""
    try:
        git = Git.of(descriptor.parent, git_seconds)
    except GitProblem as problem:
        return root, GitFacts(reason=str(problem))
    try:
        remote = without_credentials(git.remote_url())
        commit = git.head()
        committed = git.matches(commit, contents)
        signed = git.is_signed(commit)
    except GitProblem as problem:
        return git.top, GitFacts(reason=str(problem))
    return git.top, _facts(descriptor, commit, signed, remote, committed)


def _synced_facts(synced: SyncedCopy, descriptor: Path, contents: Mapping[Path, bytes | None]) -> GitFacts:
    manifest = synced.manifest
    committed = synced.matches(contents)
    return _facts(descriptor, manifest.commit, manifest.signed, manifest.remote_url, committed)


def _facts(
    descriptor: Path, commit: str, signed: bool, remote: str | None, committed: Mapping[Path, bool | None]
) -> GitFacts:
    dirty = not all(committed.values())
    if committed[descriptor] is None:
        return GitFacts(dirty=True, remote_url=remote, reason=f"the descriptor is not in commit {commit}")
    return GitFacts(commit=commit, signed=signed, dirty=dirty, remote_url=remote)


def without_credentials(remote: str | None) -> str | None:
    """A remote's address without a password."""
    if remote is None or "://" not in remote:
        return remote
    parts = urlsplit(remote)
    user, _, host = parts.netloc.rpartition("@")
    # An ssh user without a password is an address, not a secret.
    keep = f"{user}@" if parts.scheme == "ssh" and user and ":" not in user else ""
    return parts._replace(netloc=keep + host, query="", fragment="").geturl()


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None


def _relative(path: Path, top: Path) -> str:
    return path.relative_to(top).as_posix() if path.is_relative_to(top) else path.name
