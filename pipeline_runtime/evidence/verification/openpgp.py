"""OpenPGP signatures, judged by gpg in a home of their own that holds nothing but the trusted keys."""

from __future__ import annotations

import os
import subprocess
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pipeline_runtime.errors import UsageError
from pipeline_runtime.evidence.verification.finding import Finding, FindingKind
from pipeline_runtime.evidence.verification.program import ask
from pipeline_runtime.evidence.verification.signature import CommitSignature, Verdict

__all__ = ["judged"]


@dataclass(frozen=True)
class _Home:
    """A GnuPG home in a scratch folder: no options, no agent, no key server."""

    folder: Path

    def ask(self, *arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        return _gpg("--homedir", str(self.folder), "--no-options", "--no-auto-key-retrieve", *arguments, stdin=stdin)


def judged(signed: CommitSignature, keyring: Path | None, at: datetime) -> Verdict:
    """Whether the signature is good and its key in the keyring, not revoked, and not expired at that time.

    A revoked key counts never: a signature's own date does not show that it was made before.
    """
    keys = _exported(keyring)
    with tempfile.TemporaryDirectory(prefix="verify-") as scratch:
        home = _Home(Path(scratch) / "gnupg")
        home.folder.mkdir(mode=0o700)
        if keys:
            home.ask("--import", stdin=keys)
        if keyring is not None and b"pub:" not in home.ask("--with-colons", "--list-keys").stdout:
            raise UsageError(f"--keyring {keyring}: holds no OpenPGP key; pass what `gpg --export` writes, or a home")
        signature = Path(scratch) / "commit.asc"
        signature.write_bytes(signed.signature)
        done = home.ask(
            "--status-fd", "1", "--trust-model", "always", "--verify", str(signature), "-", stdin=signed.payload
        )
        status = _status(done.stdout)
        return _verdict(status, home, at, "the keyring of whoever runs this" if keyring is None else str(keyring))


def _verdict(status: dict[str, list[str]], home: _Home, at: datetime, keyring: str) -> Verdict:
    if "BADSIG" in status:
        who = f"OpenPGP key {' '.join(status['BADSIG'])}"
        return Verdict(who, Finding(FindingKind.BAD_SIGNATURE, f"the signature of {who} is not of this commit"))
    if "NO_PUBKEY" in status:
        key = f"OpenPGP key {status['NO_PUBKEY'][0]}"
        return Verdict(key, Finding(FindingKind.UNKNOWN_KEY, f"signed with {key}: {keyring} does not hold it"))
    valid = status.get("VALIDSIG")
    good = next((status[word] for word in ("GOODSIG", "EXPKEYSIG", "EXPSIG", "REVKEYSIG") if word in status), None)
    if valid is None or good is None:
        return Verdict("OpenPGP", Finding(FindingKind.BAD_SIGNATURE, "its OpenPGP signature cannot be read as one"))
    who = f"{' '.join(good[1:])} with OpenPGP key {valid[0]}"
    if "REVKEYSIG" in status:
        return Verdict(who, Finding(FindingKind.REVOKED_KEY, f"signed by {who}, which was revoked"))
    limits = [limit for limit in (_expiry(home, valid[0]), _seconds(valid[3])) if limit is not None]
    if limits and min(limits) <= at:
        when = f"{min(limits):%Y-%m-%dT%H:%M:%S}"
        text = f"signed by {who}, which expired on {when} UTC; the event is of {at.astimezone(UTC):%Y-%m-%dT%H:%M:%S}"
        return Verdict(who, Finding(FindingKind.EXPIRED_KEY, text))
    return Verdict(who)


def _expiry(home: _Home, fingerprint: str) -> datetime | None:
    """When the signing key, or the primary key it belongs to, expires; the earlier of the two."""
    listed = home.ask("--with-colons", "--list-keys", fingerprint).stdout.decode("utf-8", "replace")
    limits: list[datetime] = []
    record: list[str] = []
    for line in listed.splitlines():
        fields = line.split(":")
        if fields[0] in {"pub", "sub"}:
            record = fields
            primary = fields[0] == "pub"
            if primary and (limit := _seconds(fields[6])):
                limits.append(limit)
        elif fields[0] == "fpr" and record and fields[9] == fingerprint and (limit := _seconds(record[6])):
            limits.append(limit)
    return min(limits, default=None)


def _seconds(text: str) -> datetime | None:
    return datetime.fromtimestamp(int(text), UTC) if text.isdigit() and int(text) else None


def _status(stdout: bytes) -> dict[str, list[str]]:
    """gpg's status lines by keyword; of a repeated one the last."""
    found: dict[str, list[str]] = {}
    for line in stdout.decode("utf-8", "replace").splitlines():
        words = line.split(" ")
        if words[0] == "[GNUPG:]" and len(words) > 1:
            found[words[1]] = words[2:]
    return found


def _exported(keyring: Path | None) -> bytes:
    """The public keys of the keyring: of a file as it is, of a GnuPG home what it exports."""
    if keyring is not None and keyring.is_file():
        return keyring.read_bytes()
    if keyring is not None and not keyring.is_dir():
        raise UsageError(f"--keyring {keyring}: is neither a file of exported keys nor a GnuPG home")
    home = [] if keyring is None else ["--homedir", str(keyring.absolute())]
    return _gpg(*home, "--export").stdout


def _gpg(*arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return ask(
        ["gpg", "--batch", "--no-tty", "--no-autostart", "--quiet", *arguments],
        stdin=stdin,
        environ={**os.environ, "LC_ALL": "C"},
        seconds=60,
        needed_for="this commit's OpenPGP signature needs it (GnuPG 2.2)",
    )
