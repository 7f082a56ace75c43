"""What an auditor makes of a real run: its event, its commit and its record, long after the engine is gone."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from lab import Lab

from pipeline_runtime.cli import main

pytestmark = pytest.mark.spark


@pytest.fixture
def committed(lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lab:
    """The lab's domain in a repository, its commit signed by a key that `allowed_signers` lists."""
    settings = tmp_path / "gitconfig"
    settings.write_text("[user]\n\tname = Ana\n\temail = ana@cordata.example\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    key = tmp_path / "ana"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    kind, public = key.with_suffix(".pub").read_text().split()[:2]
    (tmp_path / "allowed_signers").write_text(f"ana@cordata.example {kind} {public}\n")
    top = lab.root.parents[1]
    for command in (
        ["init", "--quiet"],
        ["add", "domains"],
        ["-c", "gpg.format=ssh", "-c", f"user.signingkey={key}", "commit", "--quiet", "-S", "-m", "Score payments"],
    ):
        subprocess.run(["git", "-C", str(top), *command], check=True)
    monkeypatch.setenv("CORDATA_EVIDENCE", str(lab.evidence))
    return lab


def test_an_honest_run_verifies_is_in_the_record_and_in_the_history(
    committed: Lab, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    outcome = committed.run()
    assert outcome.code == 0, outcome.trace
    capsys.readouterr()
    top = committed.root.parents[1]

    def asked(*arguments: str) -> tuple[int, str]:
        code = main(arguments)
        return code, capsys.readouterr().out

    trust = ("--repository", str(top), "--allowed-signers", str(tmp_path / "allowed_signers"))
    code, said = asked("verify", outcome.run_id, *trust)
    assert (code, said.startswith(f"verified: run {outcome.run_id} of payments-scored (COMPLETE)")) == (0, True), said

    code, said = asked("ropa", str(committed.evidence), "--format", "json")
    record: dict[str, Any] = json.loads(said)
    [activity] = record["activities"]
    assert (code, activity["purpose"]["value"], activity["legal_basis"]["value"]) == (
        0,
        "fraud-detection",
        "legitimate-interest",
    )
    assert activity["outputs"][0]["tags"] == {"sensitivity": "high", "residency": "eu"}
    assert activity["last_run"]["evidence"]["run_id"] == outcome.run_id

    code, said = asked("quality", f"{committed.curated}.payments_scored")
    assert code == 0
    assert f"last batch    passed, run {outcome.run_id} of payments-scored, " in said


@pytest.mark.slow
def test_a_run_of_sql_that_was_changed_and_not_committed_is_found_out(
    committed: Lab, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    committed.change("sql/score.sql", "amount / 100", "amount / 200")
    outcome = committed.run()
    assert outcome.code == 0, outcome.trace
    capsys.readouterr()
    top = committed.root.parents[1]
    code = main(
        [
            *("verify", outcome.run_id, "--repository", str(top)),
            *("--allowed-signers", str(tmp_path / "allowed_signers")),
        ]
    )
    found = [line.partition(":")[0] for line in capsys.readouterr().out.splitlines()]
    assert (code, found) == (1, ["dirty tree", "hash mismatch"])
