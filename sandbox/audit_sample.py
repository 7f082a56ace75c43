"""An auditor's sample: three domains in a signed repository, and a fortnight of events that their runs left.

    python -m sandbox.audit_sample [--into FOLDER]

No engine runs: the events are made by the code that a run makes them with. The folder then holds

    repository/       the domains, each commit signed with a key that was made for this
    domains.bundle    the same as one file
    allowed_signers   whose signatures count
    evidence/         what the runs left
    event.json        one of their events
    forged.json       the same with another purpose and another hash of its SQL
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from pipeline_runtime.lineage.events import RunStatus
from sandbox.audited_domain import AuditedDomain, allowed, ssh_key, ssh_signing

__all__ = ["main"]

_NULLS, _DRIFT = "expect_column_values_to_not_be_null", "expect_column_kl_divergence_to_be_less_than"
_COMMITTED = datetime(2026, 7, 1, 12, 0, tzinfo=UTC)
_FIRST = datetime(2026, 7, 29, 9, 14, 22, tzinfo=UTC)
#: One digit a day, from `_FIRST` on, whose runs end at this hour: 1 where the suite fails.
_DAYS = {"fraud": (9, "0010010"), "finance": (11, "0000000"), "policy": (6, "0101100")}
_PURPOSE_CHANGES = 3


def main(argv: Sequence[str] | None = None) -> int:
    """Makes the sample, in place of one that is there. Returns 0."""
    parser = argparse.ArgumentParser(prog="python -m sandbox.audit_sample", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--into", type=Path, default=Path(".sandbox") / "audit", metavar="FOLDER")
    folder: Path = parser.parse_args(sys.argv[1:] if argv is None else argv).into
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    key = ssh_key(folder, "key")
    allowed(folder / "allowed_signers", key)
    domains = _domains(folder / "repository", ssh_signing(key.absolute()))
    for domain in domains.values():
        domain.write()
    next(iter(domains.values())).commit(_COMMITTED)
    for day in range(len(_DAYS["fraud"][1])):
        if day == _PURPOSE_CHANGES:
            domains["finance"] = replace(domains["finance"], purpose="risk-reporting").write()
            domains["finance"].commit(_FIRST + timedelta(days=day) - timedelta(hours=3))
        for number, (name, domain) in enumerate(domains.items(), 1):
            _run(domain, folder / "evidence", number, name, day)
    domains["fraud"].git("bundle", "create", "--quiet", str((folder / "domains.bundle").absolute()), "HEAD")
    _events(folder)
    print(f"{folder}: {len(domains)} domains, {len(list((folder / 'evidence' / 'runs').iterdir()))} runs")
    return 0


def _domains(top: Path, signing: Sequence[str]) -> dict[str, AuditedDomain]:
    fraud = AuditedDomain(top, signing=signing)
    finance = AuditedDomain(
        top,
        name="merchant-settlement-daily",
        domain="finance",
        source=fraud.target,
        target=("finance_curated", "merchant_settlement"),
        purpose="reporting",
        legal_basis="legal-obligation",
        signing=signing,
    )
    policy = AuditedDomain(
        top,
        name="claims-ingest",
        domain="policy",
        source=("policy_raw", "claims"),
        target=("policy_raw", "claims_deduped"),
        on_failure="quarantine",
        purpose="claims-processing",
        legal_basis="contract",
        signing=signing,
    )
    return {"fraud": fraud, "finance": finance, "policy": policy}


def _run(domain: AuditedDomain, evidence: Path, number: int, name: str, day: int) -> None:
    hour, days = _DAYS[name]
    fails = days[day] == "1"
    bad = RunStatus.QUARANTINED if domain.on_failure == "quarantine" else RunStatus.FAIL
    failing: Mapping[str, bool] = {_NULLS: False, _DRIFT: fails}
    domain.run(
        evidence,
        f"0000000{number}-0000-4000-8000-{day + 1:012d}",
        _FIRST + timedelta(days=day, hours=hour - 9),
        status=bad if fails else RunStatus.COMPLETE,
        failing=failing,
    )


def _events(folder: Path) -> None:
    body = (folder / "evidence" / "runs" / "00000001-0000-4000-8000-000000000007" / "terminal.json").read_bytes()
    (folder / "event.json").write_bytes(body)
    forged = json.loads(body)
    forged["job"]["facets"]["processing"]["purpose"] = "service-improvement"
    forged["run"]["facets"]["cordata_provenance"]["file_sha256"]["domains/fraud/sql/score.sql"] = "0" * 64
    (folder / "forged.json").write_text(json.dumps(forged), encoding="utf-8")


if __name__ == "__main__":
    raise SystemExit(main())
