"""Asking a program of the machine: git, gpg, ssh-keygen."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence

from pipeline_runtime.errors import UsageError

__all__ = ["ask"]


def ask(
    command: Sequence[str], *, stdin: bytes, environ: Mapping[str, str], seconds: int, needed_for: str
) -> subprocess.CompletedProcess[bytes]:
    """What the program answers, whatever its exit code.

    Raises UsageError where it is not installed, which `needed_for` goes on to explain, or does not answer in time.
    """
    program = command[0]
    try:
        return subprocess.run(  # noqa: S603
            command, env=environ, input=stdin, capture_output=True, timeout=seconds, check=False
        )
    except FileNotFoundError:
        raise UsageError(f"{program} is not installed; {needed_for}") from None
    except subprocess.TimeoutExpired:
        raise UsageError(f"{program} did not answer within {seconds} s") from None
