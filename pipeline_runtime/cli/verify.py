"""`verify`: whether a run's event, the commit it names and that commit's signature tell one story."""

from __future__ import annotations

import argparse
import os
import sys
import uuid
from collections.abc import Sequence
from pathlib import Path

from pipeline_runtime.cli.instants import instant
from pipeline_runtime.errors import EvidenceFailed, UsageError
from pipeline_runtime.evidence.one_line import one_line
from pipeline_runtime.evidence.runs import RunEvidence
from pipeline_runtime.evidence.store import open_store
from pipeline_runtime.evidence.verification.checks import Verification, verified
from pipeline_runtime.evidence.verification.claim import ClaimedRun, claimed_run
from pipeline_runtime.evidence.verification.finding import Finding
from pipeline_runtime.evidence.verification.signature import TrustedKeys
from pipeline_runtime.evidence.verification.stored import stored_claim, stored_findings
from pipeline_runtime.lineage.settings import LineageSettings

__all__ = ["main"]


def main(argv: Sequence[str]) -> int:
    """0 where everything holds, 1 with a line for each finding, 2 where the input cannot be used."""
    try:
        options = _parser().parse_args(argv)
    except SystemExit as stop:
        return int(stop.code or 0)
    try:
        claim, found = _claim(options)
        keys = TrustedKeys(options.allowed_signers, options.keyring)
        at = claim.time if options.at is None else options.at
        result = verified(
            claim, keys, repository=options.repository, bundle=options.bundle, branch=options.branch, at=at
        )
    except (UsageError, EvidenceFailed) as error:
        sys.stderr.write(f"{one_line(str(error))}\n")
        return 2
    findings = [*found, *result.findings]
    for finding in findings:
        sys.stdout.write(f"{finding}\n")
    if not findings:
        sys.stdout.write(f"{_summary(result)}\n")
    return 1 if findings else 0


def _claim(options: argparse.Namespace) -> tuple[ClaimedRun, list[Finding]]:
    """What is to be verified, and what its other events say against it."""
    run_id = _run_id(options.event)
    path = Path(options.event)
    if run_id is None or path.exists():
        try:
            return claimed_run(path.read_bytes(), str(path)), []
        except OSError as error:
            raise UsageError(f"{path}: {error.strerror}; pass an event's file or a run id (a UUID)") from None
    # Here, for an event's file is verified without AWS.
    from pipeline_runtime.evidence.s3 import evidence_client

    evidence = LineageSettings.evidence_only(os.environ, options.evidence)
    run = RunEvidence(open_store(evidence, evidence_client), run_id)
    claim = stored_claim(run)
    return claim, list(stored_findings(run, claim))


def _summary(result: Verification) -> str:
    claim = result.claim
    files = "1 file" if result.files == 1 else f"{result.files} files"
    return one_line(
        f"verified: run {claim.run_id} of {claim.job} ({claim.event_type}): commit {claim.commit}, signed by "
        f"{result.signer}, holds {files} as the event says"
    )


def _run_id(text: str) -> str | None:
    try:
        return str(uuid.UUID(text))
    except ValueError:
        return None


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m pipeline_runtime verify",
        description="Compares a run's event with the commit it names: every file's hash, the descriptor's content, "
        "and the commit's signature. Works offline, and runs nothing that the repository holds or configures.",
        epilog="exit codes: 0 everything holds; 1 a line for each finding; 2 the event, the repository or the keys "
        "cannot be used",
        allow_abbrev=False,
    )
    parser.add_argument("event", metavar="event.json | run id", help="a file with one event, or a run's id (a UUID)")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--repository", type=Path, metavar="PATH", help="the domain's repository; default: this folder")
    where.add_argument("--bundle", type=Path, metavar="FILE", help="a git bundle of it, in place of a repository")
    parser.add_argument("--branch", metavar="NAME", help="the commit must be merged into it; default: not asked")
    parser.add_argument(
        "--allowed-signers", type=Path, metavar="FILE", help="whose SSH signatures count (OpenSSH's form)"
    )
    parser.add_argument(
        "--keyring",
        type=Path,
        metavar="PATH",
        help="whose GPG signatures count: a file of exported keys or a GnuPG home; default: your own keyring",
    )
    parser.add_argument(
        "--at", type=instant, metavar="TIME", help="when the key must have been valid; default: the event's time"
    )
    parser.add_argument("--evidence", metavar="URL", help="s3://bucket/prefix or a folder [CORDATA_EVIDENCE]")
    return parser
