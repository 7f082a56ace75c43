"""The signature over a commit: taken out of the commit object, and judged with the keys that the auditor brings."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from pipeline_runtime.evidence.verification.finding import Finding, FindingKind

__all__ = ["CommitSignature", "TrustedKeys", "Verdict", "commit_signature", "judged"]

_HEADERS = (b"gpgsig ", b"gpgsig-sha256 ")


@dataclass(frozen=True)
class TrustedKeys:
    """Whose signatures count.

    `allowed_signers` is OpenSSH's file of that name, for SSH signatures. `keyring` is a file of exported OpenPGP
    keys or a GnuPG home; None means the keyring of whoever runs this.
    """

    allowed_signers: Path | None = None
    keyring: Path | None = None


@dataclass(frozen=True)
class CommitSignature:
    """`signature` as the commit carries it, and the `payload` that it signs: the commit without it."""

    signature: bytes
    payload: bytes


@dataclass(frozen=True)
class Verdict:
    """`signer` names the key and its owner, as far as known; `finding` is None for a good signature."""

    signer: str
    finding: Finding | None = None


def commit_signature(commit: bytes) -> CommitSignature | None:
    """The signature in a commit object; None where it has none."""
    headers, blank, message = commit.partition(b"\n\n")
    kept: list[bytes] = []
    signature: list[bytes] = []
    inside = False
    for line in headers.split(b"\n"):
        if line.startswith(_HEADERS):
            inside = True
            signature.append(line.partition(b" ")[2])
        elif inside and line.startswith(b" "):
            signature.append(line[1:])
        else:
            inside = False
            kept.append(line)
    if not signature:
        return None
    return CommitSignature(b"\n".join(signature) + b"\n", b"\n".join(kept) + blank + message)


def judged(signed: CommitSignature, keys: TrustedKeys, at: datetime) -> Verdict:
    """What the signature is worth; the key must have been valid `at` that time.

    Raises UsageError where a tool or a file of keys cannot be used.
    """
    # Here, for each asks a program that the other does not need.
    from pipeline_runtime.evidence.verification import openpgp, ssh

    if signed.signature.startswith(b"-----BEGIN SSH SIGNATURE-----"):
        return ssh.judged(signed, keys.allowed_signers, at)
    if signed.signature.startswith((b"-----BEGIN PGP SIGNATURE-----", b"-----BEGIN PGP MESSAGE-----")):
        return openpgp.judged(signed, keys.keyring, at)
    kind = "X.509" if signed.signature.startswith(b"-----BEGIN SIGNED MESSAGE-----") else "of a kind that is not known"
    return Verdict(kind, Finding(FindingKind.UNCHECKED_SIGNATURE, f"it is {kind}; GPG and SSH signatures are checked"))
