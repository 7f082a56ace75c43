"""The sandbox as a whole, by its own commands."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.processes import Server

ROOT = Path(__file__).resolve().parents[2]


class Sandbox:
    """A sandbox of a thousand transactions in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.aws = Server("aws", folder, "/moto-api/data.json")
        self.adapter = Server("adapter", folder, "/health")

    def __call__(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "sandbox.stack", "--folder", str(self.folder), *arguments]
        environment = {key: value for key, value in os.environ.items() if not key.startswith("AWS_")}
        return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)

    def up(self) -> subprocess.CompletedProcess[str]:
        return self("up", "--rows", "1000")

    @property
    def settings(self) -> dict[str, str]:
        return dict(line.split("=", 1) for line in (self.folder / "env").read_text().splitlines())


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    made = Sandbox(tmp_path_factory.mktemp("sandbox") / "here")
    answer = made.up()
    assert answer.returncode == 0, answer.stderr
    yield made
    made("down")


@pytest.mark.spark
def test_a_second_up_does_nothing_and_keeps_everything(sandbox: Sandbox) -> None:
    before = (sandbox.aws.pid, sandbox.adapter.pid)
    answer = sandbox.up()
    assert answer.returncode == 0
    assert answer.stdout.startswith("sandbox   up: AWS on http://127.0.0.1:")
    assert len(answer.stdout.splitlines()) == 1
    assert (sandbox.aws.pid, sandbox.adapter.pid) == before


@pytest.mark.spark
def test_the_settings_lead_a_run_to_the_sandbox(sandbox: Sandbox) -> None:
    settings = sandbox.settings
    assert settings["AWS_ENDPOINT_URL"] == sandbox.aws.url
    assert settings["CORDATA_LINEAGE_URL"] == f"{sandbox.adapter.url}/lineage"
    defaults = (Path(settings["SPARK_CONF_DIR"]) / "spark-defaults.conf").read_text()
    for line in (
        "spark.extraListeners io.openlineage.spark.agent.OpenLineageSparkListener",
        "spark.openlineage.transport.type http",
        f"spark.openlineage.transport.url {sandbox.adapter.url}",
        "spark.openlineage.namespace cordata.fraud",
        f"spark.hadoop.fs.s3a.endpoint {sandbox.aws.url}",
    ):
        assert line in defaults.splitlines()


@pytest.mark.spark
def test_the_tables_are_assets_in_datazone(sandbox: Sandbox) -> None:
    with urllib.request.urlopen(f"{sandbox.aws.url}/fake/assets") as answer:
        assets = answer.read().decode()
    assert "arn:aws:glue:eu-central-1:111122223333:table/fraud_raw/transactions" in assets
    assert "arn:aws:glue:eu-central-1:111122223333:table/fraud_curated/transactions_scored" in assets


@pytest.mark.spark
def test_a_killed_adapter_is_started_again_and_the_lake_stays(sandbox: Sandbox) -> None:
    aws, url = sandbox.aws.pid, sandbox.adapter.url
    assert sandbox.adapter.pid is not None
    os.kill(sandbox.adapter.pid, signal.SIGKILL)
    assert sandbox("status").returncode == 1
    answer = sandbox.up()
    assert answer.returncode == 0
    assert "seeding" not in answer.stdout
    assert (sandbox.aws.pid, sandbox.adapter.url) == (aws, url)
    assert sandbox("status").returncode == 0


@pytest.mark.spark
def test_drift_and_undrift_move_the_version_and_say_so(sandbox: Sandbox) -> None:
    assert "card-ledger v4.12.0 adds merchant_category_code: fraud_raw.transactions is at v8" in sandbox("drift").stdout
    assert "drifted: `python -m sandbox.stack undrift` takes it back" in sandbox.up().stdout
    assert "fraud_raw.transactions is at v9, columns as in v7" in sandbox("undrift").stdout
    assert "drifted" not in sandbox("status").stdout


@pytest.mark.spark
def test_down_leaves_nothing(sandbox: Sandbox) -> None:
    addresses = (sandbox.aws.url, f"{sandbox.adapter.url}/health")
    assert sandbox("down").stdout == "sandbox   down (adapter and aws stopped)\n"
    assert not sandbox.folder.exists()
    for address in addresses:
        with pytest.raises(OSError, match="refused"):
            urllib.request.urlopen(address)


@pytest.mark.parametrize("command", ["drift", "undrift"])
def test_a_sandbox_that_is_not_up_says_how_to_start_it(tmp_path: Path, command: str) -> None:
    answer = Sandbox(tmp_path / "none")(command)
    assert answer.returncode == 1
    assert answer.stderr == "sandbox: the sandbox is not up: run `python -m sandbox.stack up` first.\n"


def test_down_without_a_sandbox_is_no_error(tmp_path: Path) -> None:
    answer = Sandbox(tmp_path / "none")("down")
    assert (answer.returncode, answer.stdout) == (0, "sandbox   was not up\n")
