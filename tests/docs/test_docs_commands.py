"""Every command that the documentation shows is run, as printed, in a fresh copy of the project."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("docs", "domains", "sandbox", "benchmarks", "lineage_adapter", "terraform")
DOCUMENTS = [ROOT / "README.md", *(file for folder in FOLDERS for file in sorted((ROOT / folder).glob("**/*.md")))]

#: Run by nobody here: this is what runs us.
OURSELVES = {"make test"}

#: Run by the long proofs: another engine, whose environment is not set up for every test.
ON_GLUE_6 = {"make run ENGINE=glue-6.0"}

#: Command → the exit code that the document promises. make says 2 for any recipe that fails.
EXPECTED = {
    "make drift": 2,
    # docs/contracts.md shows a release that breaks its consumers.
    "python -m pipeline_runtime.consumers domains/proposals/card-ledger-v5.0.0.yml domains": 1,
    # docs/audit.md shows a forged event, and a dataset that breaks the rule of three failures.
    "python -m pipeline_runtime verify .sandbox/audit/forged.json --bundle .sandbox/audit/domains.bundle "
    "--allowed-signers .sandbox/audit/allowed_signers": 1,
    "python -m pipeline_runtime quality policy_raw.claims_deduped --evidence .sandbox/audit/evidence "
    "--at 2026-08-05T00:00:00Z": 1,
}


def commands() -> Iterator[str]:
    for document in DOCUMENTS:
        for block in re.findall(r"```console\n(.*?)```", document.read_text("utf-8"), re.DOTALL):
            yield from (line for line in block.splitlines() if line.strip())


@pytest.fixture(scope="module")
def fresh_copy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The project's tracked and new files, with the environment that is set up already."""
    folder = tmp_path_factory.mktemp("project")
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        check=True,
        text=True,
    ).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    for shared in (".venv", ".cache"):
        (folder / shared).symlink_to(ROOT / shared)
    yield folder
    run("make down", folder)


def run(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    environ = {key: value for key, value in os.environ.items() if not key.startswith(("AWS_", "CORDATA_", "SPARK_"))}
    sandbox = folder / ".sandbox" / "env"
    if command.startswith("python") and sandbox.exists():
        environ |= dict(line.split("=", 1) for line in sandbox.read_text("utf-8").splitlines() if "=" in line)
    environ["PATH"] = f"{ROOT / '.venv' / 'bin'}{os.pathsep}{environ['PATH']}"
    return subprocess.run(
        command, shell=True, cwd=folder, env=environ, capture_output=True, text=True, check=False, timeout=600
    )


@pytest.mark.spark
def test_every_command_in_the_documentation_does_what_it_says(fresh_copy):
    shown = [command for command in dict.fromkeys(commands()) if command not in OURSELVES | ON_GLUE_6]
    # What stops the sandbox comes last, whatever the order on the page.
    for command in sorted(shown, key="make down".__eq__):
        done = run(command, fresh_copy)
        assert done.returncode == EXPECTED.get(command, 0), f"{command}\n{done.stdout}\n{done.stderr}"
        if command == "make run":
            first_run_says_where_to_look(done.stdout)
        if command == "make drift":
            drift_names_column_release_and_remedy(done.stdout)


@pytest.mark.spark
@pytest.mark.slow
def test_the_commands_of_the_other_engine_do_what_they_say(fresh_copy):
    if not (ROOT / ".cache" / "glue-6.0" / ".installed").exists():
        pytest.skip("no environment of Glue 6.0 (Python 3.13): run `make setup ENGINE=glue-6.0`")
    assert set(commands()) >= ON_GLUE_6
    for command in ON_GLUE_6:
        done = run(command, fresh_copy)
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
        first_run_says_where_to_look(done.stdout)


def first_run_says_where_to_look(out: str) -> None:
    last = out.strip().splitlines()[-12:]
    assert any("fraud_curated.transactions_scored" in line for line in last), out
    assert any(line.startswith("event") and "COMPLETE" in line for line in last), out
    assert "expect transactions_scored 11 passed, 0 failed" in out
    assert re.search(r"write fraud_curated\.transactions_scored iceberg, \d+ partitions", out)


def drift_names_column_release_and_remedy(out: str) -> None:
    assert "FAILED SchemaDrift: + merchant_category_code (string, nullable)" in out
    assert "v8 was published by card-ledger release v4.12.0" in out
    assert "Bump the pin to v8 to accept." in out
    assert " read " not in out


def test_the_two_commands_come_first_in_the_readme():
    assert list(commands())[:2] == ["make run", "make test"]
