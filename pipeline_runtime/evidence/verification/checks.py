"""The checks of `verify`: the event's hashes, the commit's files and the commit's signature must tell one story."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from pipeline_runtime.evidence.verification.claim import ClaimedRun
from pipeline_runtime.evidence.verification.declaration import declaration_findings
from pipeline_runtime.evidence.verification.finding import Finding, FindingKind
from pipeline_runtime.evidence.verification.git_objects import BadObject, GitObjects, Missing, objects_of
from pipeline_runtime.evidence.verification.signature import TrustedKeys, commit_signature, judged
from pipeline_runtime.lineage.values import utc_text

__all__ = ["Verification", "verified"]

#: A commit that is dated later than the run's event by more than two clocks disagree cannot be what the run executed.
_CLOCKS = timedelta(minutes=10)
_COMMITTER = re.compile(rb"^committer .* (\d+) [+-]\d{4}$", re.MULTILINE)


@dataclass(frozen=True)
class Verification:
    """What was found; `signer` is who signed the commit, where the signature is good, and `files` how many agree."""

    claim: ClaimedRun
    findings: tuple[Finding, ...]
    signer: str | None
    files: int


def verified(
    claim: ClaimedRun,
    keys: TrustedKeys,
    *,
    repository: Path | None,
    bundle: Path | None,
    branch: str | None,
    at: datetime,
) -> Verification:
    """Every finding about the claim; `at` is when the signing key must have been valid.

    Reads the bundle, else the repository, else the current folder's; where a branch is given, the commit must be in
    its history. Raises UsageError where git, a tool, the repository, the bundle, the branch or a file of keys
    cannot be used.
    """
    findings = list(_said_by_the_event(claim))
    if claim.commit is None:
        why = claim.reason or "the event gives no reason"
        findings.append(Finding(FindingKind.NO_COMMIT, f"the event names no commit ({why}); its hashes prove nothing"))
        return Verification(claim, tuple(findings), None, 0)
    with objects_of(repository, bundle, branch, claim.commit) as objects:
        try:
            commit = objects.commit(claim.commit)
        except Missing:
            text = f"{claim.commit} is not in {objects.shown_as}"
            return Verification(claim, (*findings, Finding(FindingKind.MISSING_COMMIT, text)), None, 0)
        except BadObject as problem:
            return Verification(claim, (*findings, Finding(FindingKind.BAD_OBJECT, str(problem))), None, 0)
        findings += _late(claim, commit)
        findings += _unmerged(objects, claim.commit, branch)
        signer, found = _signature(claim, commit, keys, at)
        findings += found
        files = 0
        for path, digest in claim.files.items():
            found = list(_file(claim, objects, path, digest))
            findings += found
            files += not found
    return Verification(claim, tuple(findings), signer, files)


def _said_by_the_event(claim: ClaimedRun) -> Iterator[Finding]:
    """What the event admits, and where it contradicts itself."""
    if claim.dirty:
        yield Finding(
            FindingKind.DIRTY_TREE,
            "the event says that the run executed files that its commit does not hold as they were",
        )
    if claim.commit is not None and claim.code_version not in {None, claim.commit}:
        text = f"commit: cordata_provenance says {claim.commit}, sourceCodeLocation {claim.code_version}"
        yield Finding(FindingKind.DISAGREEMENT, text)


def _late(claim: ClaimedRun, commit: bytes) -> Iterator[Finding]:
    match = _COMMITTER.search(commit.partition(b"\n\n")[0])
    if match is None:
        return
    try:
        made = datetime.fromtimestamp(int(match[1]), UTC)
    except (OverflowError, ValueError, OSError):
        yield Finding(FindingKind.LATE_COMMIT, f"{claim.commit} is dated {match[1].decode()}, which is no time")
        return
    if made > claim.time + _CLOCKS:
        text = f"{claim.commit} was made at {utc_text(made)}, the event is of {utc_text(claim.time)}"
        yield Finding(FindingKind.LATE_COMMIT, text)


def _unmerged(objects: GitObjects, commit: str, branch: str | None) -> Iterator[Finding]:
    try:
        if not objects.is_merged(commit):
            yield Finding(FindingKind.UNMERGED, f"{commit} is not in the history of {branch}")
    except Missing as reason:
        yield Finding(FindingKind.MISSING_COMMIT, f"{commit} is perhaps not in {branch}: {reason}")


def _signature(claim: ClaimedRun, commit: bytes, keys: TrustedKeys, at: datetime) -> tuple[str | None, list[Finding]]:
    signed = commit_signature(commit)
    if signed is None:
        findings = [Finding(FindingKind.UNSIGNED, f"{claim.commit} carries no signature")]
        if claim.signed:
            text = "signature: the event says that the commit is signed, and it is not"
            findings.append(Finding(FindingKind.DISAGREEMENT, text))
        return None, findings
    verdict = judged(signed, keys, at)
    findings = [] if verdict.finding is None else [verdict.finding]
    if claim.signed is False:
        text = "signature: the event says that the commit is not signed, and it carries a signature"
        findings.append(Finding(FindingKind.DISAGREEMENT, text))
    return (verdict.signer if verdict.finding is None else None), findings


def _file(claim: ClaimedRun, objects: GitObjects, path: str, digest: str) -> Iterator[Finding]:
    commit = claim.commit or ""
    try:
        data = objects.file(commit, path)
    except Missing as reason:
        yield Finding(FindingKind.MISSING_FILE, f"{path} in commit {commit}: {reason}")
        return
    except BadObject as problem:
        yield Finding(FindingKind.BAD_OBJECT, f"{path}: {problem}")
        return
    committed = hashlib.sha256(data).hexdigest()
    if committed != digest:
        text = f"{path}: the event says {digest}, commit {commit} holds {committed}"
        yield Finding(FindingKind.HASH_MISMATCH, text)
    elif path == claim.descriptor_path:
        yield from declaration_findings(claim, data)
