"""The lake that both sides work on: a sandbox of its own, and a copy of the fraud domain that fits its size."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from sandbox.lineage_access import DBT_KEY
from sandbox.stack import ROOT, Stack

__all__ = ["Bench", "bench", "copied_domain", "side_environ", "spark_properties"]


@dataclass(frozen=True)
class Bench:
    """Where a measurement happens. `environ` and `properties` are the same for both sides; `handwritten_environ` is
    how the hand-written job's lineage client is let in.

    `format` is the target's: iceberg, or parquet where the domain's descriptor was changed to it.
    """

    folder: Path
    domain: Path
    environ: Mapping[str, str]
    properties: Path
    event_logs: Path
    format: str = "iceberg"
    handwritten_environ: Mapping[str, str] = field(default_factory=dict)


@contextmanager
def bench(folder: Path, rows: int, *, memory: str) -> Iterator[Bench]:
    """Starts the stand-in for AWS, seeds `rows` transactions, and stops it afterwards.

    `memory` is the driver's heap, as Spark spells it. Raises SandboxError where the lake cannot be seeded.
    """
    stack = Stack(folder / "sandbox")
    try:
        stack.up(rows)
        domain = copied_domain(folder / "fraud-domain" / "fraud", rows)
        logs = folder / "event-logs"
        logs.mkdir(exist_ok=True)
        properties = folder / "spark.conf"
        defaults = (stack.settings_folder / "spark-conf" / "spark-defaults.conf").read_text("utf-8")
        properties.write_text(spark_properties(defaults, logs, folder, memory), "utf-8")
        settings = dict(
            line.split("=", 1) for line in (stack.folder / "env").read_text("utf-8").splitlines() if "=" in line
        )
        environ = side_environ(settings, account=settings["AWS_ACCESS_KEY_ID"])
        # OpenLineage's client cannot sign a request, so its job has a key, as dbt has one.
        keyed = {"OPENLINEAGE_URL": stack.adapter.url, "OPENLINEAGE_API_KEY": DBT_KEY}
        yield Bench(folder, domain, environ, properties, logs, handwritten_environ=keyed)
    finally:
        stack.down()


def copied_domain(domain: Path, rows: int) -> Path:
    """The fraud domain in a repository of its own, its suite's row counts scaled to a source of `rows` rows."""
    shutil.copytree(ROOT / "domains" / "fraud", domain, ignore=shutil.ignore_patterns("__pycache__"))
    suite = domain / "expectations" / "transactions_scored.yml"
    text, count = re.subn(
        r"min_value: 850_000, max_value: 1_400_000",
        f"min_value: {int(rows * 0.53)}, max_value: {int(rows * 0.875) + 1}",
        suite.read_text("utf-8"),
    )
    if count != 1:
        raise ValueError(f"{suite} no longer has the row counts that are scaled here")
    suite.write_text(text, "utf-8")
    for command in (
        ("init", "--quiet", "--initial-branch", "main"),
        ("add", "--all"),
        ("-c", "user.name=fraud", "-c", "user.email=fraud-data@cordata.example", "commit", "--quiet", "-m", "As it is"),
        ("remote", "add", "origin", "https://git.cordata.example/domains/fraud.git"),
    ):
        subprocess.run(["git", *command], cwd=domain.parent, check=True)
    return domain


def side_environ(settings: Mapping[str, str], account: str) -> dict[str, str]:
    """The variables of both sides; `settings` lead to the lake, in `account`."""
    return {
        **settings,
        "AWS_ACCOUNT_ID": account,
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "PYTHONPATH": str(ROOT),
        "PYTHONUNBUFFERED": "1",
    }


def spark_properties(defaults: str, logs: Path, folder: Path, memory: str) -> str:
    """A sandbox's own settings on two cores, with Spark's log of what it did.

    The listener is attached on both sides and writes to a file on both: the executor aims it at one of its own.
    """
    settings = dict(line.split(" ", 1) for line in defaults.splitlines() if " " in line)
    settings |= {
        "spark.master": "local[2]",
        "spark.driver.memory": memory,
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": logs.as_uri(),
        "spark.eventLog.compress": "false",
        "spark.openlineage.transport.type": "file",
        "spark.openlineage.transport.location": str(folder / "listener.jsonl"),
        "spark.ui.showConsoleProgress": "false",
    }
    settings.pop("spark.openlineage.transport.url", None)
    return "".join(f"{key} {value}\n" for key, value in settings.items())
