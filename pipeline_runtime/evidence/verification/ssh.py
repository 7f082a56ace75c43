"""SSH signatures, judged by ssh-keygen against an allowed-signers file."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from pipeline_runtime.errors import UsageError
from pipeline_runtime.evidence.verification.finding import Finding, FindingKind
from pipeline_runtime.evidence.verification.program import ask
from pipeline_runtime.evidence.verification.signature import CommitSignature, Verdict

__all__ = ["judged"]

_KEY = re.compile(r'Good "git" signature with (.+ key \S+)')


def judged(signed: CommitSignature, allowed_signers: Path | None, at: datetime) -> Verdict:
    """Whether the signature is good and its key one of the allowed signers', valid at that time."""
    if allowed_signers is not None and not allowed_signers.is_file():
        raise UsageError(f"--allowed-signers {allowed_signers}: is no file")
    with tempfile.TemporaryDirectory(prefix="verify-") as scratch:
        signature = Path(scratch) / "commit.sig"
        signature.write_bytes(signed.signature)
        time = at.astimezone(UTC).strftime("%Y%m%d%H%M%S")
        common = ["-s", str(signature)]
        checked = _ssh_keygen("check-novalidate", "-n", "git", *common, stdin=signed.payload)
        known = _KEY.search(checked.stdout)
        if checked.returncode != 0 or known is None:
            why = _reason(checked.stderr)
            return Verdict(
                "SSH", Finding(FindingKind.BAD_SIGNATURE, f"its SSH signature is not of this commit ({why})")
            )
        key = known[1]
        if allowed_signers is None:
            text = f"signed with {key}, which nothing vouches for; pass --allowed-signers with the keys you trust"
            return Verdict(key, Finding(FindingKind.UNKNOWN_KEY, text))
        allowed = ["-f", str(allowed_signers.absolute()), f"-Overify-time={time}"]
        found = _ssh_keygen("find-principals", *common, *allowed)
        principals = found.stdout.splitlines()
        if found.returncode != 0 or not principals:
            return Verdict(key, _not_allowed(key, found.stderr, allowed_signers, at))
        # One line of the file may name several, separated by commas.
        principal = principals[0].split(",")[0]
        verified = _ssh_keygen("verify", "-n", "git", "-I", principal, *common, *allowed, stdin=signed.payload)
        if verified.returncode != 0:
            return Verdict(key, _not_allowed(key, verified.stderr, allowed_signers, at))
    return Verdict(f"{principal} with {key}")


def _not_allowed(key: str, stderr: str, allowed_signers: Path, at: datetime) -> Finding:
    reason = next((line for line in stderr.splitlines() if ": key " in line), "")
    if "key has expired" in reason or "not yet valid" in reason:
        limit = reason.rpartition(" ")[2]
        word = "expired on" if "expired" in reason else "is valid only from"
        text = f"signed with {key}, which {word} {limit} UTC; the event is of {at.astimezone(UTC):%Y-%m-%dT%H:%M:%S}"
        return Finding(FindingKind.EXPIRED_KEY, text)
    why = reason.partition(": ")[2] or f"{allowed_signers} does not list it"
    return Finding(FindingKind.UNKNOWN_KEY, f"signed with {key}: {why}")


def _ssh_keygen(command: str, *arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[str]:
    # Dates in an allowed-signers file are of the reader's zone unless they say Z; here that zone is UTC.
    done = ask(
        ["ssh-keygen", "-Y", command, *arguments],
        stdin=stdin,
        environ={**os.environ, "TZ": "UTC", "LC_ALL": "C"},
        seconds=60,
        needed_for="this commit's SSH signature needs it (OpenSSH 8.9)",
    )
    return subprocess.CompletedProcess(
        done.args, done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")
    )


def _reason(stderr: str) -> str:
    lines = stderr.strip().splitlines()
    return lines[0] if lines else "ssh-keygen gives no reason"
