"""Keys and a committed domain for the tests of evidence."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from auditor import Auditor

from sandbox.audited_domain import AuditedDomain, allowed, ssh_key, ssh_signing


@pytest.fixture
def quiet_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """git with nobody's settings, and no repository above the test's folder."""
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))


@pytest.fixture(scope="session")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two SSH keys, `ana` and `eve`, and an allowed-signers file that lists the first."""
    folder = tmp_path_factory.mktemp("keys")
    for name in ("ana", "eve"):
        ssh_key(folder, name)
    allowed(folder / "allowed_signers", folder / "ana")
    return folder


@pytest.fixture
def domain(tmp_path: Path, quiet_git: None, keys: Path) -> AuditedDomain:
    """The domain, its files written, not committed yet; commits will be signed with Ana's SSH key."""
    return AuditedDomain(tmp_path / "repo", signing=ssh_signing(keys / "ana")).write()


@pytest.fixture
def audit(tmp_path: Path, keys: Path, capsys: pytest.CaptureFixture[str], domain: AuditedDomain) -> Auditor:
    return Auditor(tmp_path, keys, capsys)


@dataclass(frozen=True)
class GpgHome:
    """A GnuPG home with secret keys."""

    folder: Path

    def gpg(self, *arguments: str, at: str | None = None) -> str:
        faked = [] if at is None else ["--faked-system-time", f"{at}!"]
        command = ["gpg", "--homedir", str(self.folder), "--batch", "--quiet", "--yes", "--no-tty", *faked, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def new_key(self, name: str, expires: str = "never") -> str:
        """A new key that was made at the start of 2026; returns its fingerprint."""
        mail = f"{name} <{name}@cordata.example>"
        self.gpg("--passphrase", "", "--quick-gen-key", mail, "ed25519", "sign", expires, at="20260101T000000")
        listed = self.gpg("--with-colons", "--list-keys", f"{name}@cordata.example")
        return next(line.split(":")[9] for line in listed.splitlines() if line.startswith("fpr:"))

    def signing(self, fingerprint: str, at: str = "20260301T000000") -> Sequence[str]:
        """git's options for signing with that key, on that day."""
        program = self.folder / f"gpg-{at}"
        program.write_text(f'#!/bin/sh\nexec gpg --homedir {self.folder} --faked-system-time {at}! "$@"\n')
        program.chmod(0o755)
        return ["-c", "gpg.format=openpgp", "-c", f"gpg.program={program}", "-c", f"user.signingkey={fingerprint}"]


@pytest.fixture(scope="session")
def gpg_home() -> Iterator[GpgHome]:
    """A GnuPG home for the session, in a folder whose name is short enough for the agent's socket."""
    if shutil.which("gpg") is None:
        pytest.skip("gpg is not installed: OpenPGP signatures are not proven on this machine (SSH ones are)")
    folder = Path(tempfile.mkdtemp(prefix="gpg-"))
    folder.chmod(0o700)
    try:
        yield GpgHome(folder)
    finally:
        subprocess.run(["gpgconf", "--homedir", str(folder), "--kill", "all"], env=dict(os.environ), check=False)
        shutil.rmtree(folder, ignore_errors=True)
