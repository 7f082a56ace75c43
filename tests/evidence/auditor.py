"""Runs `verify` as a person would."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pipeline_runtime.cli import main
from sandbox.audited_domain import AuditedDomain

Event = dict[str, Any]


class Auditor:
    """Runs `verify` as a person would and keeps what was said."""

    def __init__(self, folder: Path, keys: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.file, self.keys, self._capsys = folder / "event.json", keys, capsys

    def __call__(self, event: Event | bytes | Path, *options: str, trusted: bool = True) -> tuple[int, list[str]]:
        """The exit code, and the lines of both streams."""
        if isinstance(event, Path):
            self.file = event
        else:
            self.file.write_bytes(event if isinstance(event, bytes) else json.dumps(event).encode())
        signers = ["--allowed-signers", str(self.keys / "allowed_signers")] if trusted else []
        code = main(["verify", str(self.file), *signers, *options])
        said = self._capsys.readouterr()
        return code, (said.out + said.err).splitlines()


def make_head(domain: AuditedDomain, commit: str) -> None:
    """Makes a commit object of that text, which git itself would not write, the repository's current one."""
    command = ["git", "-C", str(domain.top), "hash-object", "-t", "commit", "-w", "--stdin"]
    made = subprocess.run(command, input=commit, capture_output=True, text=True, check=True)
    domain.git("update-ref", "HEAD", made.stdout.strip())


def kinds(lines: Sequence[str]) -> list[str]:
    return [line.partition(":")[0] for line in lines]
