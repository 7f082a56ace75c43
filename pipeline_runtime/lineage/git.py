"""The few questions that provenance asks git. They read objects only: nothing that a repository configures runs."""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Git", "GitProblem", "object_name"]

#: Where git looks for its user's settings, and where it stops looking for a repository.
_HARMLESS = {"GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_CEILING_DIRECTORIES"}


class GitProblem(Exception):
    """Git cannot answer; the text says why. Internal to lineage: provenance turns it into a reason."""


@dataclass(frozen=True)
class Git:
    """One work tree. `top` is its resolved top folder; each question waits `seconds` at most."""

    top: Path
    seconds: float

    @classmethod
    def of(cls, folder: Path, seconds: float) -> Git:
        """The work tree that holds the folder. Raises GitProblem where there is none that git accepts."""
        answer = _ask(folder, ["rev-parse", "--show-toplevel"], seconds)
        return cls(Path(os.fsdecode(answer.rstrip(b"\n"))).resolve(), seconds)

    def head(self) -> str:
        """The current commit's id."""
        try:
            return self._ask("rev-parse", "--verify", "HEAD^{commit}").decode().strip()
        except GitProblem as problem:
            raise GitProblem("the repository has no commit yet") from problem

    def is_signed(self, commit: str) -> bool:
        """Whether the commit object carries a signature (GPG, SSH or X.509)."""
        headers = self._ask("cat-file", "commit", commit).partition(b"\n\n")[0].split(b"\n")
        return any(line.startswith((b"gpgsig ", b"gpgsig-sha256 ")) for line in headers)

    def remote_url(self) -> str | None:
        """Where `origin` is, as configured; may hold credentials."""
        try:
            return os.fsdecode(self._ask("config", "--get", "remote.origin.url").rstrip(b"\n"))
        except GitProblem:
            return None

    def lost(self, commit: str, folders: Iterable[Path]) -> list[Path]:
        """The files that the commit holds below these folders and the work tree does not, sorted."""
        inside = [folder.relative_to(self.top).as_posix() for folder in folders]
        listing = self._ask("ls-tree", "-r", "-z", "--full-tree", "--name-only", commit, "--", *inside)
        paths = (self.top / os.fsdecode(name) for name in listing.split(b"\0") if name)
        return sorted(path for path in paths if not os.path.lexists(path))

    def matches(self, commit: str, contents: Mapping[Path, bytes | None]) -> dict[Path, bool | None]:
        """For each file whether the commit holds exactly these bytes; None where it does not hold the file.

        A file without bytes is missing from the work tree.

        Bytes are compared, not git's idea of a clean file: a checkout filter that changes them changes the hash
        that an auditor computes from the commit.
        """
        names = {path: os.fsencode(path.relative_to(self.top)) for path in contents if path.is_relative_to(self.top)}
        committed = self._blobs(commit, names.values())
        return {path: self._same(committed.get(names.get(path, b"")), data) for path, data in contents.items()}

    def _blobs(self, commit: str, names: Iterable[bytes]) -> dict[bytes, str]:
        listing = self._ask("ls-tree", "-r", "-z", "--full-tree", commit, "--", *map(os.fsdecode, names))
        blobs = {}
        for entry in filter(None, listing.split(b"\0")):
            about, _, name = entry.partition(b"\t")
            mode, _, blob = about.split(b" ")
            if mode.startswith(b"100"):
                blobs[name] = blob.decode()
        return blobs

    @staticmethod
    def _same(blob: str | None, data: bytes | None) -> bool | None:
        if blob is None:
            return None
        if data is None:
            return False
        return object_name("blob", data, digits=len(blob)) == blob

    def _ask(self, *question: str) -> bytes:
        return _ask(self.top, list(question), self.seconds)


def object_name(kind: str, data: bytes, *, digits: int) -> str:
    """The name that git gives an object: SHA-1 (40 digits) in most repositories, SHA-256 (64) in the newer format."""
    digest = hashlib.sha256() if digits == 64 else hashlib.sha1(usedforsecurity=False)
    digest.update(b"%s %d\0" % (kind.encode(), len(data)) + data)
    return digest.hexdigest()


def _ask(folder: Path, question: list[str], seconds: float) -> bytes:
    # Variables such as GIT_DIR, set inside a hook, would make git speak of another repository.
    environment = {key: value for key, value in os.environ.items() if not key.startswith("GIT_") or key in _HARMLESS}
    environment |= {"LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1", "GIT_NO_REPLACE_OBJECTS": "1"}
    command = ["git", "--literal-pathspecs", "-C", str(folder), *question]
    try:
        done = subprocess.run(  # noqa: S603
            command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=seconds, check=False
        )
    except FileNotFoundError as error:
        raise GitProblem("git is not installed") from error
    except subprocess.TimeoutExpired as error:
        raise GitProblem(f"git did not answer within {seconds:g} s") from error
    except OSError as error:
        raise GitProblem(f"git cannot be run: {error.strerror}") from error
    if done.returncode != 0:
        raise GitProblem(_why(done.stderr))
    return done.stdout


def _why(stderr: bytes) -> str:
    text = stderr.decode("utf-8", "replace").strip()
    if "not a git repository" in text:
        return "the descriptor lies in no git repository"
    if "must be run in a work tree" in text:
        return "the descriptor lies in a bare repository"
    if "dubious ownership" in text:
        return "the repository belongs to another user; git answers only for those listed in safe.directory"
    return text.splitlines()[0] if text else "git refused"
