"""`verify`: an honest run passes, and each way of lying about it is found."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from auditor import Auditor, Event, kinds, make_head

from pipeline_runtime.lineage.events import RunStatus
from sandbox.audited_domain import COMMITTED, ENDED, RUN, AuditedDomain, ssh_signing


def provenance_of(event: Event) -> Event:
    facet: Event = event["run"]["facets"]["cordata_provenance"]
    return facet


def test_an_honest_run_passes_with_one_line_that_says_what_was_verified(audit: Auditor, domain: AuditedDomain) -> None:
    commit = domain.commit()

    code, lines = audit(domain.event(), "--repository", str(domain.top))

    assert code == 0
    assert len(lines) == 1
    assert lines[0].startswith(f"verified: run {RUN} of transactions-scored-daily (COMPLETE): commit {commit}")
    assert "signed by ana@cordata.example with ED25519 key SHA256:" in lines[0]
    assert lines[0].endswith("holds 3 files as the event says")


@pytest.mark.parametrize("status", [RunStatus.FAIL, RunStatus.QUARANTINED])
def test_a_run_that_published_nothing_is_verified_as_well(
    audit: Auditor, domain: AuditedDomain, status: RunStatus
) -> None:
    domain.commit()
    assert audit(domain.event(status=status), "--repository", str(domain.top))[0] == 0


def test_the_repository_of_the_current_folder_is_the_default(
    audit: Auditor, domain: AuditedDomain, monkeypatch: pytest.MonkeyPatch
) -> None:
    domain.commit()
    monkeypatch.chdir(domain.sql.parent)
    assert audit(domain.event())[0] == 0


def test_a_sql_file_that_was_changed_before_the_run_is_a_dirty_tree_and_a_mismatch(
    audit: Auditor, domain: AuditedDomain
) -> None:
    domain.commit()
    domain.sql.write_text("SELECT 1.0 AS fraud_score FROM frame\n")
    dirty = domain.event()
    domain.git("checkout", "--", ".")

    code, lines = audit(dirty, "--repository", str(domain.top))

    assert (code, kinds(lines)) == (1, ["dirty tree", "hash mismatch"])
    assert lines[1].startswith("hash mismatch: domains/fraud/sql/score.sql: the event says ")


def test_a_sql_file_that_is_changed_after_the_run_changes_nothing_about_it(
    audit: Auditor, domain: AuditedDomain
) -> None:
    domain.commit()
    event = domain.event()
    domain.sql.write_text("SELECT 1.0 AS fraud_score FROM frame\n")
    domain.commit(COMMITTED + timedelta(days=1))
    assert audit(event, "--repository", str(domain.top))[0] == 0


def forged_descriptor_hash(event: Event) -> None:
    provenance_of(event)["descriptor_sha256"] = "0" * 64


def forged_file_hash(event: Event) -> None:
    provenance_of(event)["file_sha256"]["domains/fraud/sql/score.sql"] = "0" * 64


def hidden_file(event: Event) -> None:
    del provenance_of(event)["file_sha256"]["domains/fraud/sql/score.sql"]


def invented_file(event: Event) -> None:
    provenance_of(event)["file_sha256"]["domains/fraud/sql/invented.sql"] = "0" * 64


def climbing_path(event: Event) -> None:
    provenance_of(event)["file_sha256"]["../../../etc/hostname"] = "0" * 64


def folder_as_file(event: Event) -> None:
    provenance_of(event)["file_sha256"]["domains/fraud/sql"] = "0" * 64


def other_commit(event: Event) -> None:
    provenance_of(event)["descriptor_git_commit"] = "1234567890" * 4


def no_commit(event: Event) -> None:
    del provenance_of(event)["descriptor_git_commit"]
    provenance_of(event)["git_reason"] = "the descriptor lies in no git repository"


def signature_denied(event: Event) -> None:
    provenance_of(event)["descriptor_git_commit_signed"] = False


def other_code_version(event: Event) -> None:
    event["job"]["facets"]["sourceCodeLocation"] = {"type": "git", "url": "https://host/repo", "version": "f" * 40}


def other_purpose(event: Event) -> None:
    event["job"]["facets"]["processing"]["purpose"] = "marketing"


def no_legal_basis(event: Event) -> None:
    del event["job"]["facets"]["processing"]["legal_basis"]


def other_job(event: Event) -> None:
    event["job"]["name"] = "something-else"


def other_domain(event: Event) -> None:
    event["job"]["namespace"] = "cordata.policy"


def other_source(event: Event) -> None:
    provenance_of(event)["source_table"] = "fraud_raw.synthetic"


def other_param(event: Event) -> None:
    provenance_of(event)["step_params"]["model_version"] = "2026-08-fraud-v4"


@pytest.mark.parametrize(
    ("forge", "found"),
    [
        (forged_descriptor_hash, "hash mismatch: domains/fraud/pipelines/scored.yml: the event says 0000"),
        (forged_file_hash, "hash mismatch: domains/fraud/sql/score.sql: the event says 0000"),
        (hidden_file, "unlisted file: the descriptor names sql/score.sql, and the event holds no hash of it"),
        (invented_file, "missing file: domains/fraud/sql/invented.sql in commit "),
        (climbing_path, "missing file: ../../../etc/hostname in commit "),
        (folder_as_file, "missing file: domains/fraud/sql in commit "),
        (other_commit, "missing commit: 1234567890123456789012345678901234567890 is not in "),
        (no_commit, "no commit: the event names no commit (the descriptor lies in no git repository)"),
        (signature_denied, "event and commit disagree: signature: the event says that the commit is not signed"),
        (other_code_version, "event and commit disagree: commit: cordata_provenance says "),
        (other_purpose, "event and commit disagree: purpose: the event says marketing, the committed descriptor fraud"),
        (no_legal_basis, "event and commit disagree: legal basis: the event says no such thing, the committed"),
        (other_job, "event and commit disagree: job: the event says something-else, the committed descriptor trans"),
        (other_domain, "event and commit disagree: job namespace: the event says cordata.policy"),
        (other_source, "event and commit disagree: source: the event says fraud_raw.synthetic"),
        (other_param, "event and commit disagree: param model_version: the event says 2026-08-fraud-v4"),
    ],
)
def test_each_forgery_is_one_finding(
    audit: Auditor, domain: AuditedDomain, forge: Callable[[Event], None], found: str
) -> None:
    domain.commit()
    event = domain.event()
    forge(event)

    code, lines = audit(event, "--repository", str(domain.top))

    assert code == 1
    assert len(lines) == 1, lines
    assert lines[0].startswith(found)


def test_a_name_in_an_event_cannot_write_lines_of_its_own(audit: Auditor, domain: AuditedDomain) -> None:
    domain.commit()
    event = domain.event()
    provenance_of(event)["file_sha256"]["x\nverified: run\x1b[2J"] = "0" * 64

    code, lines = audit(event, "--repository", str(domain.top))

    assert (code, kinds(lines)) == (1, ["missing file"])
    assert "x\\x0averified" in lines[0]


def test_an_unsigned_commit_is_a_finding_also_where_the_event_admits_it(audit: Auditor, domain: AuditedDomain) -> None:
    domain.signing = []
    commit = domain.commit()
    event = domain.event()
    assert audit(event, "--repository", str(domain.top)) == (1, [f"unsigned commit: {commit} carries no signature"])

    provenance_of(event)["descriptor_git_commit_signed"] = True

    code, lines = audit(event, "--repository", str(domain.top))
    assert (code, kinds(lines)) == (1, ["unsigned commit", "event and commit disagree"])


def test_a_commit_that_is_dated_after_the_run_cannot_be_what_it_executed(audit: Auditor, domain: AuditedDomain) -> None:
    domain.commit(ENDED + timedelta(minutes=11))
    code, lines = audit(domain.event(), "--repository", str(domain.top))
    assert (code, kinds(lines)) == (1, ["commit after the run"])


@pytest.mark.parametrize("form", ["repository", "bundle"])
def test_with_a_branch_given_the_commit_must_be_merged_into_it(
    audit: Auditor, domain: AuditedDomain, tmp_path: Path, form: str
) -> None:
    domain.commit()
    domain.git("branch", "--move", "main")
    merged = domain.event()
    domain.git("checkout", "--quiet", "-b", "feature/score")
    domain.sql.write_text("SELECT 1.0 AS fraud_score FROM frame\n")
    commit = domain.commit()
    bundle = tmp_path / "fraud.bundle"
    domain.git("bundle", "create", "--quiet", str(bundle), "main", "feature/score")
    place = ("--repository", str(domain.top)) if form == "repository" else ("--bundle", str(bundle))

    assert audit(merged, *place, "--branch", "main")[0] == 0
    assert audit(domain.event(), *place, "--branch", "feature/score")[0] == 0
    assert audit(domain.event(), *place, "--branch", "refs/heads/main") == (
        1,
        [f"unmerged commit: {commit} is not in the history of refs/heads/main"],
    )
    code, lines = audit(merged, *place, "--branch", "master")
    assert code == 2
    assert lines[0].startswith("--branch master: ")
    assert lines[0].endswith(" has no such branch; it has feature/score, main")


def test_a_history_that_is_not_all_there_is_said_and_not_taken_for_unmerged(
    audit: Auditor, domain: AuditedDomain, tmp_path: Path
) -> None:
    domain.commit()
    event = domain.event()
    for day in (1, 2):
        domain.commit(COMMITTED + timedelta(days=day))
    domain.git("branch", "--move", "main")
    first = domain.git("rev-parse", "HEAD~1")
    (domain.top / ".git" / "objects" / first[:2] / first[2:]).unlink()
    code, lines = audit(event, "--repository", str(domain.top), "--branch", "main")
    assert (code, kinds(lines)) == (1, ["missing commit"])
    assert lines[0].endswith("the branch's history is not all there: a shallow clone, or a damaged one")


def test_objects_that_git_would_not_write_are_findings_too(audit: Auditor, domain: AuditedDomain) -> None:
    domain.commit()
    honest = domain.git("cat-file", "commit", "HEAD") + "\n"
    event = domain.event()
    made = {}
    for kind, text in (("tree", "no tree at all"), ("commit", honest.replace(" 1785585600 ", f" {'9' * 30} "))):
        done = subprocess.run(
            ["git", "-C", str(domain.top), "hash-object", "--literally", "-t", kind, "-w", "--stdin"],
            input=text,
            capture_output=True,
            text=True,
            check=True,
        )
        made[kind] = done.stdout.strip()
    assert "9" * 30 in domain.git("cat-file", "commit", made["commit"])
    other_commit(event)
    provenance_of(event)["descriptor_git_commit"] = made["commit"]
    assert "commit after the run" in kinds(audit(event, "--repository", str(domain.top))[1])
    make_head(domain, f"tree {made['tree']}\n" + honest.partition("\n")[2])
    provenance_of(event)["descriptor_git_commit"] = domain.git("rev-parse", "HEAD")
    assert "corrupt repository" in kinds(audit(event, "--repository", str(domain.top))[1])


def test_clocks_that_differ_by_minutes_are_no_finding(audit: Auditor, domain: AuditedDomain) -> None:
    domain.commit(ENDED + timedelta(minutes=9))
    assert audit(domain.event(), "--repository", str(domain.top))[0] == 0


# Where the objects come from


def test_a_bundle_is_enough_without_the_repository(audit: Auditor, domain: AuditedDomain, tmp_path: Path) -> None:
    domain.commit()
    event, bundle = domain.event(), tmp_path / "fraud.bundle"
    domain.git("bundle", "create", "--quiet", str(bundle), "HEAD")
    shutil.rmtree(domain.top)
    assert audit(event, "--bundle", str(bundle))[0] == 0


def test_a_bundle_that_needs_other_commits_cannot_be_used(
    audit: Auditor, domain: AuditedDomain, tmp_path: Path
) -> None:
    first = domain.commit()
    domain.sql.write_text("SELECT 2.0 AS fraud_score FROM frame\n")
    domain.commit()
    bundle = tmp_path / "later.bundle"
    domain.git("bundle", "create", "--quiet", str(bundle), f"{first}..HEAD")
    code, lines = audit(domain.event(), "--bundle", str(bundle))
    assert (code, lines[0].startswith(f"--bundle {bundle}: is no usable bundle")) == (2, True)


def test_a_bare_clone_a_linked_work_tree_and_a_subfolder_serve_as_well(
    audit: Auditor, domain: AuditedDomain, tmp_path: Path
) -> None:
    domain.commit()
    domain.git("clone", "--quiet", "--bare", str(domain.top), str(tmp_path / "bare.git"))
    domain.git("worktree", "add", "--quiet", "--detach", str(tmp_path / "linked"))
    for place in (tmp_path / "bare.git", tmp_path / "linked", domain.sql.parent):
        assert audit(domain.event(), "--repository", str(place))[0] == 0, place


def test_a_repository_with_sha256_names_is_read(audit: Auditor, tmp_path: Path, keys: Path, quiet_git: None) -> None:
    modern = AuditedDomain(tmp_path / "modern", signing=ssh_signing(keys / "ana"), object_format="sha256").write()
    assert len(modern.commit()) == 64
    assert audit(modern.event(), "--repository", str(modern.top))[0] == 0


def test_an_object_that_was_changed_in_place_is_noticed(audit: Auditor, domain: AuditedDomain) -> None:
    domain.commit()
    event = domain.event()
    blob = domain.git("rev-parse", "HEAD:domains/fraud/sql/score.sql")
    domain.sql.write_text("SELECT 1.0 AS fraud_score FROM frame\n")
    forged = domain.git("hash-object", "-w", str(domain.sql))
    objects = domain.top / ".git" / "objects"
    target = objects / blob[:2] / blob[2:]
    target.chmod(0o644)
    target.write_bytes((objects / forged[:2] / forged[2:]).read_bytes())

    code, lines = audit(event, "--repository", str(domain.top))

    assert (code, kinds(lines)) == (1, ["corrupt repository"])


def test_replaced_objects_are_not_looked_at(audit: Auditor, domain: AuditedDomain) -> None:
    domain.commit()
    event = domain.event()
    honest = domain.git("rev-parse", "HEAD:domains/fraud/sql/score.sql")
    domain.sql.write_text("SELECT 1.0 AS fraud_score FROM frame\n")
    domain.git("replace", honest, domain.git("hash-object", "-w", str(domain.sql)))
    assert audit(event, "--repository", str(domain.top))[0] == 0


def test_a_symlink_in_the_commit_is_no_file_that_was_hashed(audit: Auditor, domain: AuditedDomain) -> None:
    real = domain.sql.with_name("real.sql")
    domain.sql.rename(real)
    domain.sql.symlink_to("real.sql")
    domain.commit()
    event = domain.event()
    provenance_of(event)["file_sha256"]["domains/fraud/sql/score.sql"] = "0" * 64
    code, lines = audit(event, "--repository", str(domain.top))
    assert code == 1
    assert any("score.sql in commit" in line and "symlink" in line for line in lines)


def test_nothing_that_the_repository_configures_is_ever_run(
    audit: Auditor, domain: AuditedDomain, tmp_path: Path
) -> None:
    (domain.top / ".gitattributes").write_text("* diff=evil filter=evil\n")
    domain.commit()
    event = domain.event()
    marker = tmp_path / "executed"
    trap = tmp_path / "trap"
    trap.write_text(f"#!/bin/sh\ntouch {marker}\nexit 0\n")
    trap.chmod(0o755)
    for setting in (
        *("gpg.program", "gpg.openpgp.program", "gpg.ssh.program", "gpg.x509.program", "core.fsmonitor"),
        *("core.sshCommand", "core.pager", "core.editor", "diff.evil.textconv", "diff.evil.command", "diff.external"),
        *("filter.evil.smudge", "filter.evil.clean", "filter.evil.process", "uploadpack.packObjectsHook"),
        *("core.alternateRefsCommand", "core.gitProxy", "credential.helper", "alias.cat-file", "alias.rev-parse"),
        "gpg.ssh.defaultKeyCommand",
    ):
        domain.git("config", setting, f"!{trap}" if setting.startswith("alias") else str(trap))
    domain.git("config", "core.hooksPath", str(tmp_path / "hooks"))
    (tmp_path / "hooks").mkdir()
    for hook in ("post-checkout", "reference-transaction", "post-index-change"):
        shutil.copy(trap, tmp_path / "hooks" / hook)
    # A partial clone fetches what it lacks from wherever its settings say.
    domain.git("config", "extensions.partialClone", "evil")
    domain.git("config", "remote.evil.promisor", "true")
    domain.git("config", "remote.evil.url", f"ext::{trap}")
    domain.git("config", "protocol.ext.allow", "always")
    domain.git("config", "core.repositoryFormatVersion", "1")
    other_commit(missing := json.loads(json.dumps(event)))

    honest = audit(event, "--repository", str(domain.top))
    absent = audit(missing, "--repository", str(domain.top))

    assert (honest[0], absent[0]) == (0, 1), (honest, absent)
    assert not marker.exists()
