"""Runs of copies of the sample domains in a process of their own, with the listener attached."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lineage_sink import Sink

from pipeline_runtime.lineage.listener import LISTENER_CLASS

ROOT = Path(__file__).resolve().parents[2]

SCORE = """\
from pyspark.sql import functions as F
from pyspark.sql.types import StringType


def transform(frame, params):
    masked = F.udf(lambda iban: iban[:2], StringType())
    return frame.select("tx_id", masked("iban").alias("bank"), F.lit("x").alias("label"), "settled_at")
"""


MASKED_SUITE = """\
suite_name: masked
expectations:
  - type: expect_column_values_to_not_be_null
    kwargs: {column: tx_id}
"""


@dataclass(frozen=True)
class Run:
    """One run: its end, its trace and its events as they are kept and as they were received."""

    run_id: str
    code: int
    trace: str
    folder: Path
    received: list[dict[str, Any]]

    @property
    def bodies(self) -> dict[str, bytes]:
        return {kind: (self.folder / f"{kind}.json").read_bytes() for kind in ("start", "terminal", "other")}

    @property
    def terminal(self) -> dict[str, Any]:
        event: dict[str, Any] = json.loads(self.bodies["terminal"])
        return event

    @property
    def output(self) -> dict[str, Any]:
        (output,) = self.terminal["outputs"]
        return dict(output)

    @property
    def open_points(self) -> dict[str, Any]:
        facet = self.output["facets"]["cordata_column_origins"]
        return {key: value for key, value in facet.items() if not key.startswith("_")}

    @property
    def children(self) -> list[dict[str, Any]]:
        return [event for event in self.received if event["run"]["runId"] != self.run_id]


class Lake:
    """The sample lake with few rows, and copies of the sample domains to change."""

    def __init__(self, folder: Path, endpoint: str, region: str, lineage: Mapping[str, str]) -> None:
        self.folder = folder
        self.environ = {
            "AWS_ENDPOINT_URL": endpoint,
            "AWS_REGION": region,
            "AWS_ACCESS_KEY_ID": "testing",
            "CORDATA_EVIDENCE": str(folder / "evidence"),
            **lineage,
        }
        self.scenarios: list[dict[str, Any]] = []

    def add(self, name: str, descriptor: str, *changes: tuple[str, str, str], before: str = "", **more: str) -> None:
        """A run of a copy of a sample domain, with passages of its files replaced."""
        domain, _, path = descriptor.partition("/")
        copy = self.folder / name / domain
        shutil.copytree(ROOT / "domains" / domain, copy)
        for suite in (copy / "expectations").glob("*.yml"):
            text = suite.read_text("utf-8")
            suite.write_text(re.sub(r"min_value: \d+_000, max_value", "min_value: 1, max_value", text), "utf-8")
        for file, old, new in changes:
            text = (copy / file).read_text("utf-8") if (copy / file).exists() else old
            assert old in text, f"{file} does not hold {old!r}"
            (copy / file).write_text(text.replace(old, new), "utf-8")
        environ = {**self.environ, **more}
        self.scenarios.append({"name": name, "descriptor": str(copy / path), "environ": environ, "before": before})


ROW_COUNT = ("kwargs: {min_value: 1, max_value: 1_400_000}", "kwargs: {min_value: 1, max_value: 2}")
FRAUD, FRAUD_SUITE = "fraud/pipelines/transactions_scored.yml", "expectations/transactions_scored.yml"


def scenarios(lake: Lake) -> None:
    children = {"CORDATA_LINEAGE_CHILDREN": "on"}
    pipeline = FRAUD.partition("/")[2]
    lake.add("fraud", FRAUD, **children)
    lake.add("finance", "finance/pipelines/merchant_settlement_daily.yml")
    lake.add("policy", "policy/pipelines/claims_ingest.yml")
    lake.add("bad claims", "policy/pipelines/claims_ingest.yml", before="bad claims")
    lake.add(
        "quarantined",
        FRAUD,
        (pipeline, "block_publish", "quarantine"),
        (FRAUD_SUITE, *ROW_COUNT),
        **children,
    )
    lake.add("blocked", FRAUD, (FRAUD_SUITE, *ROW_COUNT), **children)
    lake.add(
        "python",
        FRAUD,
        (
            pipeline,
            "kind: sql\n    query_file: sql/score.sql",
            "kind: python\n    module: domains.fraud.transforms.score",
        ),
        (pipeline, "table: transactions_scored", "table: transactions_masked"),
        (pipeline, "transactions_scored/", "transactions_masked/"),
        (pipeline, "partition_by: [scored_date]", "partition_by: []"),
        (pipeline, "suite: expectations/transactions_scored.yml", "suite: expectations/masked.yml"),
        ("transforms/score.py", "", SCORE),
        (
            "expectations/masked.yml",
            "",
            MASKED_SUITE,
        ),
    )


def process(lake: Lake, aws: Any, jars: list[Path]) -> subprocess.CompletedProcess[str]:
    settings = {
        "spark.master": "local[2]",
        "spark.driver.memory": "1g",
        "spark.jars": ",".join(map(str, jars)),
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(lake.folder / "warehouse"),
        "spark.extraListeners": LISTENER_CLASS,
        "spark.hadoop.fs.s3.impl": "org.apache.hadoop.fs.s3a.S3AFileSystem",
        "spark.hadoop.fs.s3a.endpoint": aws.endpoint,
        "spark.hadoop.fs.s3a.path.style.access": "true",
    }
    given, found = lake.folder / "scenarios.json", lake.folder / "outcomes.json"
    given.write_text(json.dumps({"spark": settings, "scenarios": lake.scenarios}), "utf-8")
    script = Path(__file__).with_name("listened_runs.py")
    environ = {**os.environ, "PYTHONPATH": str(ROOT), "PYSPARK_PYTHON": sys.executable}
    environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    return subprocess.run(
        [sys.executable, str(script), str(given), str(found)],
        env=environ,
        cwd=lake.folder,
        capture_output=True,
        text=True,
        check=False,
    )


def outcomes(lake: Lake, sink: Sink) -> dict[str, Run]:
    found = json.loads((lake.folder / "outcomes.json").read_text("utf-8"))
    received = [json.loads(body) for body in sink.bodies]
    runs = {}
    for name, each in found.items():
        root = each["run_id"]
        ours = [event for event in received if root in {event["run"]["runId"], parent_of(event)}]
        folder = lake.folder / "evidence" / "runs" / root
        runs[name] = Run(root, each["code"], each["trace"], folder, ours)
    return runs


def parent_of(event: dict[str, Any]) -> str | None:
    run_id = event["run"]["facets"].get("parent", {}).get("run", {}).get("runId")
    return None if run_id is None else str(run_id)
