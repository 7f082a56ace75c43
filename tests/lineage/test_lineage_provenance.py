"""Provenance: what an auditor can check with git alone."""

from __future__ import annotations

import hashlib
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from pipeline_runtime.lineage.provenance import GitFacts, Provenance, provenance, web_url


def of(repository: Any, *named: Path) -> Provenance:
    return provenance(repository.descriptor, named or [repository.sql], domain_root=repository.domain)


def test_git_show_of_the_commit_gives_the_descriptors_hash(repository: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    commit = repository.commit()
    monkeypatch.chdir("/")

    found = of(repository)

    shown = subprocess.run(
        f"git show {found.git.commit}:{found.descriptor_path} | sha256sum",
        shell=True,
        cwd=repository.top,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()[0]
    assert shown == found.descriptor_sha256
    assert found.descriptor_path == "domains/fraud/pipelines/scored.yml"
    assert found.domain_path == "domains/fraud"
    assert found.files == {"domains/fraud/sql/score.sql": hashlib.sha256(repository.sql.read_bytes()).hexdigest()}
    assert found.git == GitFacts(commit, signed=False, dirty=False)


def test_a_domain_that_is_its_own_repository_has_its_paths_from_the_top(tmp_path: Path, repository: Any) -> None:
    repository.commit()
    found = provenance(repository.descriptor, [], domain_root=repository.top)
    assert (found.domain_path, found.descriptor_path) == ("", "domains/fraud/pipelines/scored.yml")


@pytest.mark.parametrize("change", ["descriptor", "sql", "staged", "untracked", "missing"])
def test_a_tree_is_dirty_when_a_named_file_is_not_what_the_commit_holds(repository: Any, change: str) -> None:
    commit = repository.commit()
    named = repository.sql
    if change == "descriptor":
        repository.descriptor.write_text("changed\n")
    elif change == "untracked":
        named = repository.sql.with_name("new.sql")
        named.write_text("select 1 from frame\n")
    elif change == "missing":
        repository.sql.unlink()
    else:
        repository.sql.write_text("select 2 from frame\n")
        if change == "staged":
            repository.git("add", "--all")

    found = of(repository, named)

    assert (found.git.commit, found.git.dirty) == (commit, True)


def test_a_change_in_a_file_that_the_descriptor_does_not_name_leaves_the_tree_clean(repository: Any) -> None:
    repository.commit()
    (repository.domain / "README.md").write_text("unrelated\n")
    assert of(repository).git.dirty is False


def test_a_checkout_filter_that_changes_the_bytes_counts_as_dirty(repository: Any) -> None:
    (repository.top / ".gitattributes").write_text("*.sql text eol=crlf\n")
    repository.commit()
    repository.sql.unlink()
    repository.git("checkout", "--", ".")
    assert b"\r\n" in repository.sql.read_bytes()

    assert of(repository).git.dirty is True


@pytest.mark.parametrize(
    ("header", "signed"),
    [("gpgsig -----BEGIN SSH SIGNATURE-----\n AAAA", True), ("gpgsig-sha256 -----BEGIN PGP\n AAAA", True), ("", False)],
)
def test_a_commit_object_with_a_signature_is_said_to_be_signed(repository: Any, header: str, signed: bool) -> None:
    plain = repository.git("cat-file", "commit", repository.commit("gpgsig in the message proves nothing"))
    headers, _, message = plain.partition("\n\n")
    body = "\n".join(filter(None, (headers, header))) + f"\n\n{message}\n"
    commit = subprocess.run(
        ["git", "-C", repository.top, "hash-object", "-t", "commit", "-w", "--stdin"],
        input=body,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    repository.git("update-ref", "HEAD", commit)

    assert (of(repository).git.commit, of(repository).git.signed) == (commit, signed)


def test_a_descriptor_that_is_in_no_commit_names_none(repository: Any) -> None:
    repository.git("commit", "--quiet", "--allow-empty", "--message", "empty")
    found = of(repository)
    assert (found.git.commit, found.git.signed, found.git.dirty) == (None, None, True)
    assert "the descriptor is not in commit" in str(found.git.reason)


def test_a_repository_without_a_commit_says_so(repository: Any) -> None:
    assert of(repository).git == GitFacts(reason="the repository has no commit yet")


def test_outside_any_repository_paths_start_at_the_domain_root(repository: Any) -> None:
    (repository.top / ".git").rename(repository.top / "not-git")
    found = of(repository)
    assert found.git == GitFacts(reason="the descriptor lies in no git repository")
    assert found.descriptor_path == "pipelines/scored.yml"
    assert list(found.files) == ["sql/score.sql"]
    assert found.descriptor_sha256 == hashlib.sha256(repository.descriptor.read_bytes()).hexdigest()


def test_inside_a_bare_repository_there_is_no_commit_to_name(repository: Any) -> None:
    repository.commit()
    repository.git("config", "core.bare", "true")
    (repository.top / ".git").rename(repository.top / "elsewhere")
    for entry in (repository.top / "elsewhere").iterdir():
        entry.rename(repository.top / entry.name)
    assert of(repository).git == GitFacts(reason="the descriptor lies in a bare repository")


def test_without_git_on_the_machine_the_hashes_are_still_there(
    repository: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository.commit()
    monkeypatch.setenv("PATH", "")
    found = of(repository)
    assert found.git == GitFacts(reason="git is not installed")
    assert list(found.files) == ["sql/score.sql"]


def test_a_git_that_hangs_is_given_up(repository: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = tmp_path / "bin" / "git"
    slow.parent.mkdir()
    slow.write_text("#!/bin/sh\nexec sleep 30\n")
    slow.chmod(0o755)
    monkeypatch.setenv("PATH", f"{slow.parent}:{os.environ['PATH']}")
    found = provenance(repository.descriptor, [], domain_root=repository.domain, git_seconds=0.2)
    assert found.git == GitFacts(reason="git did not answer within 0.2 s")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a repository to another user")
def test_a_repository_of_another_user_is_named_as_the_reason(repository: Any) -> None:
    repository.commit()
    os.chown(repository.top, 12345, 12345)
    assert "belongs to another user" in str(of(repository).git.reason)


def test_variables_of_a_surrounding_git_hook_do_not_lead_to_its_repository(
    repository: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = repository.commit()
    subprocess.run(["git", "init", "--quiet", str(tmp_path / "other")], check=True)
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "other" / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(tmp_path / "other"))
    assert of(repository).git.commit == commit


@pytest.mark.parametrize(
    ("remote", "shown"),
    [
        ("https://app:s3cret@github.com/org/repo.git", "https://github.com/org/repo.git"),
        ("https://ghp_token@github.com/org/repo.git?token=s3cret", "https://github.com/org/repo.git"),
        ("ssh://git@host:22/org/repo.git", "ssh://git@host:22/org/repo.git"),
        ("git@github.com:org/repo.git", "git@github.com:org/repo.git"),
    ],
)
def test_reported_ol_10_a_remote_is_shown_without_its_credentials(repository: Any, remote: str, shown: str) -> None:
    repository.commit()
    repository.git("remote", "add", "origin", remote)
    assert of(repository).git.remote_url == shown


@pytest.mark.parametrize(
    ("remote", "url"),
    [
        ("git@github.com:cordata-tech/domains-fraud.git", "https://github.com/cordata-tech/domains-fraud"),
        ("ssh://git@host:2222/org/repo.git", "https://host/org/repo"),
        ("https://host/org/repo/", "https://host/org/repo"),
        ("/srv/git/repo.git", None),
        ("file:///srv/git/repo.git", None),
        (None, None),
    ],
)
def test_a_remote_has_the_address_that_a_browser_opens_or_none(remote: str | None, url: str | None) -> None:
    assert web_url(remote) == url
