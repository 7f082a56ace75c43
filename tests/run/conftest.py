"""A domain of its own for every test of whole runs, and the adapter that hears its events."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from lab import Lab

from tests.servers import free_port, wait_until_up


@dataclass(frozen=True)
class Adapter:
    """The Lambda's handler behind a local port, in front of the DataZone fake."""

    url: str
    folder: Path

    def events(self, run_id: str) -> list[dict[str, Any]]:
        """The run's events as received, in order of arrival."""
        bodies = [json.loads(file.read_bytes()) for file in sorted(self.folder.glob("*.json"))]
        return [body for body in bodies if body["run"]["runId"] == run_id]


@pytest.fixture(scope="session")
def adapter(aws: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Adapter]:
    folder = tmp_path_factory.mktemp("received")
    port = free_port()
    process = subprocess.Popen(
        [sys.executable, "-m", "sandbox.adapter_front", "--port", str(port), "--events", str(folder)],
        env={**os.environ, "DATAZONE_DOMAIN_ID": "dzd_sandbox"},
        stdout=subprocess.DEVNULL,
    )
    wait_until_up(f"http://127.0.0.1:{port}/health", process)
    yield Adapter(f"http://127.0.0.1:{port}/lineage", folder)
    process.terminate()
    process.wait(10)


@pytest.fixture
def lab(aws: Any, spark: Any, tmp_path: Path, adapter: Adapter) -> Lab:
    return Lab(aws, spark, tmp_path, adapter)


@pytest.fixture(scope="session")
def spark_conf(aws: Any, jars: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Spark configuration folder, as a deployment has it, for runs in a process of their own."""
    folder = tmp_path_factory.mktemp("spark-conf")
    settings = {
        "spark.master": "local[2]",
        "spark.driver.memory": "1g",
        "spark.jars": ",".join(map(str, jars)),
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.extraListeners": "io.openlineage.spark.agent.OpenLineageSparkListener",
        "spark.hadoop.fs.s3.impl": "org.apache.hadoop.fs.s3a.S3AFileSystem",
        "spark.hadoop.fs.s3a.endpoint": aws.endpoint,
        "spark.hadoop.fs.s3a.path.style.access": "true",
    }
    (folder / "spark-defaults.conf").write_text("".join(f"{key} {value}\n" for key, value in settings.items()))
    return folder
