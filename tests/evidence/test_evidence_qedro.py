"""The acceptance test of another's tool: our events, unmodified, give `qedro` what an auditor asks it for."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from pipeline_runtime.lineage.events import RunStatus
from sandbox.audited_domain import ACCOUNT, ENDED, REGION, AuditedDomain
from tests.conftest import ROOT

pytestmark = pytest.mark.slow

QEDRO = ROOT / ".cache" / "qedro" / "bin" / "qedro"
NULLS, DRIFT = "expect_column_values_to_not_be_null", "expect_column_kl_divergence_to_be_less_than"
CONTROLLER = "controller:\n  name: Cordata Beispiel GmbH\n  contact: dpo@cordata.example\n"


@dataclass(frozen=True)
class Events:
    """A folder with the events of four runs, and the commits that their domains were at."""

    folder: Path
    fraud: str
    finance: str

    def qedro(self, projection: str, *options: str) -> dict[str, Any]:
        """The projection's own JSON."""
        (self.folder.parent / "qedro.yaml").write_text(CONTROLLER)
        done = subprocess.run(
            [str(QEDRO), projection, str(self.folder), "--format", "json", *options],
            cwd=self.folder.parent,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        found: dict[str, Any] = json.loads(done.stdout)
        return found


@pytest.fixture
def events(tmp_path: Path, domain: AuditedDomain) -> Events:
    """Fraud publishes twice and is blocked once; finance reads what fraud publishes. As the runs left them."""
    if not QEDRO.exists():
        pytest.skip("qedro is not set up; run `make qedro` (it needs Python 3.12 or newer)")
    evidence = tmp_path / "evidence"
    domain.git("remote", "add", "origin", "git@github.com:cordata-tech/domains-fraud.git")
    fraud = domain.commit()
    runs: list[tuple[float, RunStatus, Mapping[str, bool]]] = [
        (3, RunStatus.COMPLETE, {NULLS: False, DRIFT: False}),
        (2, RunStatus.FAIL, {NULLS: False, DRIFT: True}),
        (1, RunStatus.COMPLETE, {NULLS: False, DRIFT: False}),
    ]
    for number, (age, status, failing) in enumerate(runs, 1):
        run_id = f"00000000-0000-4000-8000-{number:012d}"
        domain.run(evidence, run_id, ENDED - timedelta(days=age), status=status, failing=failing)
    consumer = replace(
        domain,
        domain="finance",
        name="exposure-daily",
        source=domain.target,
        target=("finance_curated", "exposure"),
        purpose="risk-reporting",
        legal_basis="legal-obligation",
    ).write()
    finance = consumer.commit()
    consumer.run(evidence, "00000000-0000-4000-8000-000000000009")
    folder = tmp_path / "events"
    folder.mkdir()
    for file in evidence.rglob("*.json"):
        shutil.copy(file, folder / f"{file.parent.name}-{file.name}")
    return Events(folder, fraud, finance)


def dataset(name: str) -> str:
    return f"arn:aws:glue:{REGION}:{ACCOUNT}/table/{name}"


def test_every_event_is_usable(events: Events) -> None:
    done = subprocess.run([str(QEDRO), "events", str(events.folder)], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert "12 events · 4 jobs · 3 datasets" in done.stdout
    assert "not usable" not in done.stdout + done.stderr


def test_its_record_shows_our_purpose_and_legal_basis_as_evidence(events: Events) -> None:
    found = {activity["job"]: activity for activity in events.qedro("ropa")["activities"]}
    for job, purpose, legal_basis in (
        ("cordata.fraud/transactions-scored-daily", "fraud-detection", "legitimate-interest"),
        ("cordata.finance/exposure-daily", "risk-reporting", "legal-obligation"),
    ):
        activity = found[job]
        assert activity["purpose"] == {"value": purpose, "provenance": "facet", "unrecognised": False}
        assert activity["legal_basis"] == {"value": legal_basis, "provenance": "facet", "unrecognised": False}
        assert activity["evidenced"] is True
    scored = found["cordata.fraud/transactions-scored-daily"]
    assert (scored["runs"], scored["reads"]) == (3, [dataset("fraud_raw/transactions")])
    assert scored["writes"] == [dataset("fraud_curated/transactions_scored")]
    assert [(tag["key"], tag["value"]) for tag in scored["classification"]] == [("residency", "eu")]


def test_its_history_shows_our_results(events: Events) -> None:
    found = {each["dataset"]: each for each in events.qedro("quality")["datasets"]}
    scored = found[dataset("fraud_curated/transactions_scored")]
    assert scored["runs"] == 3
    results = {each["assertion"]: (each["runs"], each["failures"]) for each in scored["expectations"]}
    assert results == {NULLS: (3, 0), DRIFT: (3, 1)}


def test_its_chain_shows_our_commits_and_that_they_are_signed(events: Events) -> None:
    steps = {each["dataset"]: each for each in events.qedro("provenance", "--dataset", "exposure")["steps"]}
    for name, commit, path in (
        ("finance_curated/exposure", events.finance, "domains/finance/sql/score.sql"),
        ("fraud_curated/transactions_scored", events.fraud, "domains/fraud/sql/score.sql"),
    ):
        produced = json.dumps(steps[dataset(name)])
        assert commit in produced
        assert path in produced
        assert '"signed": true' in produced
