"""Reading a repository that nobody has to trust: its objects only, each checked against its own name.

Git is never asked inside the repository. An empty one of our own borrows its objects, so that no setting, hook,
filter, replacement or lazy fetch of the repository under examination is ever looked at; and since every object's
name is the hash of its content, what was changed in place is noticed.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from pipeline_runtime.errors import UsageError
from pipeline_runtime.evidence.verification.program import ask
from pipeline_runtime.lineage.git import object_name

__all__ = ["BadObject", "GitObjects", "Missing", "objects_of"]

#: Seconds that one question to git may take; a bundle's objects are unpacked in one.
_PATIENCE = 120


class Missing(Exception):
    """The repository does not hold what was asked for. Internal: the checks make a finding of it."""


class BadObject(Exception):
    """An object's content is not what its name says, or cannot be read. Internal, as Missing."""


@dataclass(frozen=True)
class GitObjects:
    """The objects of one repository; `shown_as` is how messages name it. Methods raise Missing and BadObject.

    With a branch asked for, `is_merged` tells whether a commit is in its history.
    """

    shown_as: str
    _folder: Path
    _tip: str | None = None
    _read: dict[str, tuple[str, bytes]] = field(default_factory=dict)

    def commit(self, name: str) -> bytes:
        """The commit object's bytes."""
        return self._content(name, "commit")

    def file(self, commit: str, path: str) -> bytes:
        """The bytes of a regular file in the commit. Missing where the path leads to none."""
        headers = self.commit(commit).partition(b"\n\n")[0]
        name = headers.split(b"\n", 1)[0].removeprefix(b"tree ").decode("ascii", "replace")
        *folders, last = path.split("/")
        for folder in folders:
            mode, name = self._entry(name, folder)
            if mode != "40000":
                raise Missing(f"{folder} is no folder")
        mode, name = self._entry(name, last)
        if mode not in {"100644", "100755", "100664"}:
            raise Missing("is a symlink, a folder or a submodule")
        return self._content(name, "blob")

    def is_merged(self, commit: str) -> bool:
        """Whether the commit is the branch's last or comes before it; True where no branch was asked for."""
        if self._tip is None:
            return True
        # A commit graph is a cache that anybody could have written. And git takes what is missing for unrelated where
        # it is asked for ancestry, so the whole history is asked for.
        done = _git(self._folder, "-c", "core.commitGraph=false", "rev-list", self._tip)
        if commit.encode() in done.stdout.split(b"\n"):
            return True
        if done.returncode != 0:
            raise Missing("the branch's history is not all there: a shallow clone, or a damaged one")
        return False

    def _entry(self, tree: str, name: str) -> tuple[str, str]:
        """Mode and object of one entry of a tree."""
        data, size, at = self._content(tree, "tree"), len(tree) // 2, 0
        try:
            while at < len(data):
                zero = data.index(b"\0", at)
                mode, _, entry = data[at:zero].partition(b" ")
                at = zero + 1 + size
                if entry == os.fsencode(name):
                    return mode.decode(), data[zero + 1 : at].hex()
        except ValueError:
            raise BadObject(f"object {tree} is no folder that git could have written") from None
        raise Missing("does not exist")

    def _content(self, name: str, kind: str) -> bytes:
        if name not in self._read:
            self._read[name] = self._fetched(name)
        found, data = self._read[name]
        if found != kind:
            raise BadObject(f"object {name} is a {found}, not a {kind}")
        return data

    def _fetched(self, name: str) -> tuple[str, bytes]:
        done = _git(self._folder, "cat-file", "--batch", stdin=name.encode() + b"\n")
        header, _, rest = done.stdout.partition(b"\n")
        words = header.decode("utf-8", "replace").split(" ")
        if done.returncode == 0 and words[-1] == "missing":
            raise Missing("does not exist")
        if done.returncode != 0 or len(words) != 3 or words[0] != name:
            raise BadObject(f"object {name} cannot be read: {_first_line(done.stderr) or 'git says nothing more'}")
        kind, data = words[1], rest[: int(words[2])]
        if object_name(kind, data, digits=len(name)) != name:
            raise BadObject(f"object {name} does not hold what its name says: the repository was changed in place")
        return kind, data


@contextmanager
def objects_of(repository: Path | None, bundle: Path | None, branch: str | None, commit: str) -> Iterator[GitObjects]:
    """The objects of a repository's folder, or of a bundle file; `commit` tells which hash names them.

    Raises UsageError where git is not installed, or there is no such repository, bundle or branch.
    """
    with tempfile.TemporaryDirectory(prefix="verify-") as scratch:
        own = Path(scratch) / "objects.git"
        object_format = "sha256" if len(commit) == 64 else "sha1"
        _checked(
            _git(
                Path(scratch), "init", "--quiet", "--bare", "--template=", f"--object-format={object_format}", str(own)
            ),
            "git cannot make an empty repository",
        )
        if bundle is not None:
            if not bundle.is_file():
                raise UsageError(f"--bundle {bundle}: is no file")
            _checked(_git(own, "bundle", "unbundle", str(bundle.absolute())), f"--bundle {bundle}: is no usable bundle")
            listed = _checked(_git(own, "bundle", "list-heads", str(bundle.absolute())), f"--bundle {bundle}")
            yield GitObjects(str(bundle), own, _tip(listed, branch, str(bundle)))
            return
        place = Path() if repository is None else repository
        (own / "objects" / "info").mkdir(exist_ok=True)
        (own / "objects" / "info" / "alternates").write_text(f"{_object_folder(place)}\n")
        listed = b""
        if branch is not None:
            listed = _checked(_in(place, "for-each-ref", "--format=%(objectname) %(refname)"), str(place))
        yield GitObjects(str(place.absolute()), own, _tip(listed, branch, str(place)))


def _tip(listed: bytes, branch: str | None, where: str) -> str | None:
    """The branch's last commit, from lines of object and name."""
    if branch is None:
        return None
    heads = {name: tip for tip, _, name in (line.partition(" ") for line in os.fsdecode(listed).splitlines())}
    for name in (branch,) if branch.startswith("refs/") else (f"refs/heads/{branch}", f"refs/remotes/{branch}"):
        if name in heads:
            return heads[name]
    known = ", ".join(sorted(name.removeprefix("refs/heads/") for name in heads)) or "none"
    raise UsageError(f"--branch {branch}: {where} has no such branch; it has {known}")


def _object_folder(repository: Path) -> Path:
    """Where the repository keeps its objects, also of a linked work tree. Nothing it configures runs for that."""
    if not repository.is_dir():
        raise UsageError(f"--repository {repository}: is no folder")
    done = _in(repository, "rev-parse", "--path-format=absolute", "--git-path", "objects")
    answer = _checked(
        done, f"--repository {repository}: is no git repository; pass --repository or --bundle with the domain's"
    )
    folder = Path(os.fsdecode(answer.rstrip(b"\n")))
    if "\n" in str(folder) or str(folder).startswith('"'):
        raise UsageError(f"--repository {repository}: its path holds a line break or a quote; move it")
    return folder


def _in(repository: Path, *question: str) -> subprocess.CompletedProcess[bytes]:
    """A question to the examined repository itself: where its objects are, what its branches are called."""
    # A repository of another user is fine, since nothing that it configures runs for these.
    return _git(repository, "-c", "safe.directory=*", *question)


def _git(folder: Path, *question: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    environment |= {
        "LC_ALL": "C",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_SYSTEM": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_NO_LAZY_FETCH": "1",
        # An older git knows no switch against lazy fetches; without a protocol none can start.
        "GIT_ALLOW_PROTOCOL": "none",
        "GIT_TERMINAL_PROMPT": "0",
    }
    return ask(
        ["git", "-C", str(folder), *question],
        stdin=stdin,
        environ=environment,
        seconds=_PATIENCE,
        needed_for="nothing can be verified without it",
    )


def _checked(done: subprocess.CompletedProcess[bytes], problem: str) -> bytes:
    if done.returncode != 0:
        raise UsageError(f"{problem} ({_first_line(done.stderr) or 'git gives no reason'})")
    return done.stdout


def _first_line(stderr: bytes) -> str:
    lines = stderr.decode("utf-8", "replace").strip().splitlines()
    return lines[0] if lines else ""
