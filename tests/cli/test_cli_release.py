"""`python -m pipeline_runtime release`: what the command line says before anything is done."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from pipeline_runtime.cli import main

RUN = "0b8c7a40-0000-4000-8000-000000000001"
OTHER = "0b8c7a40-0000-4000-8000-000000000002"


@pytest.fixture
def evidence(tmp_path: Path, aws: Any, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CORDATA_EVIDENCE", str(tmp_path / "evidence"))
    monkeypatch.setenv("CORDATA_LINEAGE", "off")
    return tmp_path / "evidence"


def terminal(event_type: str, output: str | None, rows: int = 3) -> dict[str, Any]:
    provenance = {"descriptor_path": "pipelines/claims.yml", "descriptor_sha256": "0" * 64}
    facets = {"schema": {"fields": [{"name": "id", "type": "bigint"}]}}
    outputs = [{"name": output, "facets": facets, "outputFacets": {"outputStatistics": {"rowCount": rows}}}]
    return {
        "eventType": event_type,
        "run": {"runId": RUN, "facets": {"cordata_provenance": provenance}},
        "job": {"namespace": "cordata.policy", "name": "claims-ingest"},
        "outputs": outputs if output else [],
    }


def store(evidence: Path, event: dict[str, Any], run_id: str = RUN) -> None:
    file = evidence / "runs" / run_id / "terminal.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(event))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "the following arguments are required: run id, --by"),
        ([RUN], "the following arguments are required: --by"),
        ([RUN, "--by", " "], "--by: is empty"),
        (["9f3c", "--by", "ann"], "argument run id: invalid _uuid value: '9f3c'"),
    ],
)
def test_a_release_names_a_run_and_a_person(arguments, message, capsys):
    assert main(["release", *arguments]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("event", "message"),
    [
        (None, f"run {RUN}: .*runs/{RUN}/terminal.json does not exist; nothing to release"),
        (terminal("COMPLETE", "table/policy_raw/claims"), f"run {RUN} published; nothing to release"),
        (terminal("FAIL", None), f"run {RUN} failed, it kept no batch; nothing to release"),
        (
            terminal("FAIL", "table/policy_raw/claims__quarantine", rows=0),
            f"run {RUN}: its batch had no rows; nothing to release",
        ),
    ],
)
def test_a_run_without_a_batch_in_quarantine_is_exit_code_1(evidence, event, message, capsys):
    if event is not None:
        store(evidence, event)
    assert main(["release", RUN.upper(), "--by", "ann"]) == 1
    assert re.match(f"ReleaseRefused: {message}", capsys.readouterr().err)


def test_a_batch_that_was_released_before_is_exit_code_0_and_says_by_whom(evidence, capsys):
    store(evidence, terminal("FAIL", "table/policy_raw/claims__quarantine"))
    store(evidence, terminal("COMPLETE", "table/policy_raw/claims"), OTHER)
    claim = {
        "original_run_id": RUN,
        "run_id": OTHER,
        "released_by": "bob",
        "reason": None,
        "claimed_at": "2026-08-04T09:00:00.000Z",
        "owner": "elsewhere/1/2/3",
    }
    (evidence / "releases" / RUN).mkdir(parents=True)
    (evidence / "releases" / RUN / "1.json").write_text(json.dumps(claim))

    assert main(["release", RUN, "--by", "ann"]) == 0

    said = f"run {RUN} was released before, by bob at 2026-08-04T09:00:00.000Z (run {OTHER}); nothing was published now"
    assert capsys.readouterr().out.strip() == said


def test_a_run_whose_descriptor_is_not_here_is_exit_code_2_with_the_remedy(evidence, capsys):
    store(evidence, terminal("FAIL", "table/policy_raw/claims__quarantine"))
    assert main(["release", RUN, "--by", "ann"]) == 2
    assert "UsageError: pipelines/claims.yml does not exist. Run" in capsys.readouterr().err


def test_without_a_place_for_evidence_it_is_exit_code_2(aws, monkeypatch, capsys):
    monkeypatch.delenv("CORDATA_EVIDENCE", raising=False)
    assert main(["release", RUN, "--by", "ann"]) == 2
    assert "ConfigurationError: CORDATA_EVIDENCE is not set" in capsys.readouterr().err
