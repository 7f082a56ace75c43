"""`verify`: whose signature counts, and when."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from auditor import Auditor, kinds, make_head

from sandbox.audited_domain import AuditedDomain, allowed, ssh_signing


def test_a_key_that_nobody_listed_is_unknown(audit: Auditor, domain: AuditedDomain, keys: Path) -> None:
    domain.signing = ssh_signing(keys / "eve")
    domain.commit()
    code, lines = audit(domain.event(), "--repository", str(domain.top))
    assert (code, kinds(lines)) == (1, ["unknown key"])
    assert "allowed_signers does not list it" in lines[0]


def test_without_allowed_signers_every_ssh_key_is_unknown(audit: Auditor, domain: AuditedDomain) -> None:
    domain.commit()
    code, lines = audit(domain.event(), "--repository", str(domain.top), trusted=False)
    assert (code, kinds(lines)) == (1, ["unknown key"])
    assert "pass --allowed-signers" in lines[0]


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        ('valid-before="20260804091421"', "expired key"),
        ('valid-before="20260804091422"', None),
        ('valid-after="20260805"', "expired key"),
        ('valid-after="20260101",valid-before="20270101"', None),
        ('namespaces="git"', None),
        ('namespaces="file"', "unknown key"),
    ],
)
def test_an_ssh_key_must_have_been_valid_when_the_run_ended(
    audit: Auditor, domain: AuditedDomain, keys: Path, tmp_path: Path, options: str, kind: str | None
) -> None:
    domain.commit()
    signers = allowed(tmp_path / "signers", keys / "ana", options)

    code, lines = audit(
        domain.event(), "--repository", str(domain.top), "--allowed-signers", str(signers), trusted=False
    )

    assert (code, kinds(lines)) == ((0, ["verified"]) if kind is None else (1, [kind]))


@pytest.mark.parametrize("principal", ["*@cordata.example", "bo@cordata.example,ana@cordata.example"])
def test_an_allowed_signer_may_be_a_pattern_or_a_list(
    audit: Auditor, domain: AuditedDomain, keys: Path, tmp_path: Path, principal: str
) -> None:
    domain.commit()
    signers = allowed(tmp_path / "signers", keys / "ana", principal=principal)
    options = ("--repository", str(domain.top), "--allowed-signers", str(signers))
    assert audit(domain.event(), *options, trusted=False)[0] == 0


def test_a_signature_taken_from_another_commit_is_bad(audit: Auditor, domain: AuditedDomain) -> None:
    honest = domain.git("cat-file", "commit", domain.commit())
    forged = honest.replace("Score transactions", "Score other transactions") + "\n"
    make_head(domain, forged)

    code, lines = audit(domain.event(), "--repository", str(domain.top))

    assert (code, kinds(lines)) == (1, ["bad signature"])


def test_an_x509_signature_is_said_not_to_have_been_checked(audit: Auditor, domain: AuditedDomain) -> None:
    domain.signing = []
    headers, _, message = domain.git("cat-file", "commit", domain.commit()).partition("\n\n")
    signature = "gpgsig -----BEGIN SIGNED MESSAGE-----\n MIAA\n -----END SIGNED MESSAGE-----"
    make_head(domain, f"{headers}\n{signature}\n\n{message}\n")
    code, lines = audit(domain.event(), "--repository", str(domain.top))
    assert (code, kinds(lines)) == (1, ["unchecked signature"])


# GPG signatures


@pytest.mark.parametrize("form", ["exported file", "home", "own keyring"])
def test_a_gpg_signature_is_good_when_its_key_is_in_the_keyring(
    audit: Auditor,
    domain: AuditedDomain,
    gpg_home: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    form: str,
) -> None:
    key = gpg_home.new_key(f"bo-{form.split()[0]}")
    domain.signing = gpg_home.signing(key)
    domain.commit()
    keyring = tmp_path / "keys.asc"
    keyring.write_text(gpg_home.gpg("--armor", "--export", key))
    options = {"exported file": ["--keyring", str(keyring)], "home": ["--keyring", str(gpg_home.folder)]}
    if form == "own keyring":
        monkeypatch.setenv("GNUPGHOME", str(gpg_home.folder))

    code, lines = audit(domain.event(), "--repository", str(domain.top), *options.get(form, []), trusted=False)

    assert code == 0, lines
    assert f"OpenPGP key {key}" in lines[0]


def keyring_of(gpg_home: Any, folder: Path, *fingerprints: str) -> list[str]:
    keyring = folder / "keys.asc"
    keyring.write_text(gpg_home.gpg("--armor", "--export", *fingerprints))
    return ["--keyring", str(keyring)]


def test_a_gpg_key_that_the_keyring_lacks_is_unknown(
    audit: Auditor, domain: AuditedDomain, gpg_home: Any, tmp_path: Path
) -> None:
    key, other = gpg_home.new_key("unknown"), gpg_home.new_key("somebody")
    domain.signing = gpg_home.signing(key)
    domain.commit()
    code, lines = audit(domain.event(), "--repository", str(domain.top), *keyring_of(gpg_home, tmp_path, other))
    assert (code, kinds(lines)) == (1, ["unknown key"])
    assert key[-16:] in lines[0]


@pytest.mark.parametrize(
    ("options", "kind"),
    [([], "expired key"), (["--at", "2026-05-01T00:00:00Z"], None), (["--at", "now"], "expired key")],
)
def test_a_gpg_key_must_have_been_valid_when_the_run_ended(
    audit: Auditor, domain: AuditedDomain, gpg_home: Any, tmp_path: Path, options: list[str], kind: str | None
) -> None:
    key = gpg_home.new_key(f"short-{len(options)}-{options[-1:] == ['now']}", "20260601T000000")
    domain.signing = gpg_home.signing(key)
    domain.commit()

    code, lines = audit(domain.event(), "--repository", str(domain.top), *keyring_of(gpg_home, tmp_path, key), *options)

    assert (code, kinds(lines)) == ((0, ["verified"]) if kind is None else (1, [kind])), lines
    if kind is not None:
        assert "which expired on 2026-06-01T00:00:00 UTC" in lines[0]


def test_a_gpg_key_that_has_expired_since_the_run_still_vouches_for_it(
    audit: Auditor, domain: AuditedDomain, gpg_home: Any, tmp_path: Path
) -> None:
    key = gpg_home.new_key("since", "20260901T000000")
    domain.signing = gpg_home.signing(key)
    domain.commit()
    options = ("--repository", str(domain.top), *keyring_of(gpg_home, tmp_path, key))
    assert audit(domain.event(), *options)[0] == 0


def test_a_signing_subkey_that_had_expired_is_found_though_its_primary_key_is_valid(
    audit: Auditor, domain: AuditedDomain, gpg_home: Any, tmp_path: Path
) -> None:
    primary = gpg_home.new_key("subkey")
    subkey = ("--passphrase", "", "--pinentry-mode", "loopback", "--quick-add-key", primary, "ed25519", "sign")
    gpg_home.gpg(*subkey, "20260601T000000", at="20260102T000000")
    domain.signing = gpg_home.signing(primary)
    domain.commit()

    options = ("--repository", str(domain.top), *keyring_of(gpg_home, tmp_path, primary))

    code, lines = audit(domain.event(), *options)
    assert (code, kinds(lines)) == (1, ["expired key"]), lines
    assert primary not in lines[0]
    assert audit(domain.event(), *options, "--at", "2026-05-01T00:00:00Z")[0] == 0


def test_a_revoked_gpg_key_vouches_for_nothing(
    audit: Auditor, domain: AuditedDomain, gpg_home: Any, tmp_path: Path
) -> None:
    key = gpg_home.new_key("revoked")
    domain.signing = gpg_home.signing(key)
    domain.commit()
    certificate = (gpg_home.folder / "openpgp-revocs.d" / f"{key}.rev").read_text()
    revocation = tmp_path / "revocation.asc"
    revocation.write_text(certificate.replace(":-----BEGIN", "-----BEGIN"))
    gpg_home.gpg("--import", str(revocation))

    code, lines = audit(domain.event(), "--repository", str(domain.top), *keyring_of(gpg_home, tmp_path, key))

    assert (code, kinds(lines)) == (1, ["revoked key"])


def test_a_gpg_signature_over_another_commit_is_bad(
    audit: Auditor, domain: AuditedDomain, gpg_home: Any, tmp_path: Path
) -> None:
    key = gpg_home.new_key("bad")
    domain.signing = gpg_home.signing(key)
    forged = domain.git("cat-file", "commit", domain.commit()).replace("Score", "Forge") + "\n"
    make_head(domain, forged)
    code, lines = audit(domain.event(), "--repository", str(domain.top), *keyring_of(gpg_home, tmp_path, key))
    assert (code, kinds(lines)) == (1, ["bad signature"])
