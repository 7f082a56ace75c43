"""Records the transcripts in docs/evidence: real commands on the sample domains, run from a clean tree.

    python -m sandbox.transcripts

The commit that is checked out is cloned into a temporary folder and the commands run there, each scene in an AWS
account of its own, so neither local changes nor earlier runs show. Every transcript names that commit. They need no
engine: all of it happens before Spark would start.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sandbox.lake.places import REGION
from sandbox.processes import Server

__all__ = ["EVIDENCE", "SCENES", "Scene", "main", "record", "without_commit"]

_ROOT = Path(__file__).resolve().parents[1]
EVIDENCE = _ROOT / "docs" / "evidence"
_RUN_ID = "6f1c2d3e-0000-4000-8000-000000000001"
_FINANCE = "domains/finance/pipelines/merchant_settlement_daily.yml"
_PROPOSALS = "domains/proposals/card-ledger"
_COMMIT = re.compile(r"(?m)^# commit [0-9a-f]{40}$")


@dataclass(frozen=True)
class Scene:
    """One transcript: what it shows, and its commands, which run one after the other on a fresh sample catalog."""

    name: str
    shows: str
    commands: tuple[str, ...]


SCENES = (
    Scene(
        "producer-breaks",
        "An ordinary release renames a column. The producer's build fails, and names whom to talk to.",
        (f"python -m pipeline_runtime.consumers {_PROPOSALS}-v5.0.0.yml domains",),
    ),
    Scene(
        "producer-adds",
        "A release adds a column. Nobody breaks; the pins to bump are listed with their owners.",
        (f"python -m pipeline_runtime.consumers {_PROPOSALS}-v4.12.0.yml domains",),
    ),
    Scene(
        "consumer-stops",
        "The additive version is published. The pipeline that pins the old one stops before it reads a row.",
        (
            f"python -m pipeline_runtime publish-schema {_PROPOSALS}-v4.12.0.yml --check domains",
            f"python -m pipeline_runtime {_FINANCE} --run-id {_RUN_ID} --lineage off --evidence evidence",
        ),
    ),
    Scene(
        "version-deprecated",
        "The old version gets a last day, and its consumers are listed.",
        ("python -m pipeline_runtime deprecate fraud_raw.transactions --version 7 --after 2099-12-31 domains",),
    ),
)


def record(tree: Path, commit: str, into: Path) -> None:
    """Runs every scene on the code in `tree` and writes its transcript, which names `commit`."""
    into.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="transcripts-") as scratch, _aws(Path(scratch), tree) as endpoint:
        for number, scene in enumerate(SCENES):
            environ = _environment(endpoint, f"99990000{number:04}", tree)
            _run([sys.executable, "-m", "sandbox.lake.bare"], tree, environ)
            said = "".join(_acted(command, tree, environ, Path(scratch)) for command in scene.commands)
            head = f"# {scene.shows}\n# commit {commit}\n"
            (into / f"{scene.name}.txt").write_text(head + said, encoding="utf-8")


def without_commit(transcript: str) -> str:
    """A transcript without the commit that it names: what must be the same whenever it is made."""
    return _COMMIT.sub("# commit", transcript)


def _acted(command: str, tree: Path, environ: Mapping[str, str], scratch: Path) -> str:
    """The command as typed, what it said and how it ended; its own evidence goes to a scratch folder."""
    words = [str(scratch / "evidence") if word == "evidence" else word for word in command.split()]
    done = _run([sys.executable, *words[1:]], tree, environ)
    said = (done.stdout + done.stderr).replace(str(scratch) + "/", "")
    return f"\n$ {command}\n{said}[exit {done.returncode}]\n"


def _run(command: list[str], tree: Path, environ: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=tree, env=dict(environ), capture_output=True, text=True, check=False)


def _environment(endpoint: str, account: str, tree: Path) -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("AWS_", "CORDATA_", "SPARK_"))}
    return {
        **kept,
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ACCESS_KEY_ID": account,
        "AWS_SECRET_ACCESS_KEY": "sandbox",
        "AWS_REGION": REGION,
        "AWS_DEFAULT_REGION": REGION,
        "PYTHONPATH": str(tree),
    }


@contextmanager
def _aws(folder: Path, tree: Path) -> Iterator[str]:
    server = Server("aws", folder, "/moto-api/data.json")
    try:
        server.start([sys.executable, "-m", "sandbox.fakes.aws"], {**os.environ, "PYTHONPATH": str(tree)}, tree)
        yield server.url
    finally:
        server.stop()


def main() -> int:
    def git(*arguments: str) -> str:
        return subprocess.run(["git", *arguments], cwd=_ROOT, capture_output=True, text=True, check=True).stdout.strip()

    commit = git("rev-parse", "HEAD")
    with tempfile.TemporaryDirectory(prefix="clean-tree-") as folder:
        git("clone", "--quiet", "--shared", str(_ROOT), folder)
        record(Path(folder), commit, EVIDENCE)
    for scene in SCENES:
        print(f"{EVIDENCE / scene.name}.txt: {scene.shows}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
