"""What the benchmark makes of an event log and of its runs, and the benchmark itself."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.overhead.eventlog import SparkWork, work_of
from benchmarks.overhead.lake import copied_domain
from benchmarks.overhead.report import report, stage_costs
from benchmarks.overhead.sides import EXECUTOR, HANDWRITTEN, Mark, Outcome

SQL = "org.apache.spark.sql.execution.ui.SparkListener"
ROOT = Path(__file__).resolve().parents[2]


def plan(name: str, counter: int, *children: dict[str, Any]) -> dict[str, Any]:
    metrics = [{"name": "number of output rows", "accumulatorId": counter}, {"name": "x", "accumulatorId": 99}]
    return {"nodeName": name, "metrics": metrics, "children": list(children)}


def statement(number: int, info: dict[str, Any]) -> dict[str, Any]:
    return {"Event": f"{SQL}SQLExecutionStart", "executionId": number, "sparkPlanInfo": info}


def job(number: int, execution: int | None, *stages: int, at: int = 0) -> dict[str, Any]:
    known = {} if execution is None else {"spark.sql.execution.id": str(execution)}
    return {
        "Event": "SparkListenerJobStart",
        "Job ID": number,
        "Submission Time": at,
        "Stage IDs": list(stages),
        "Properties": known,
    }


def task(stage: int, read: int, *moved: int) -> dict[str, Any]:
    return {
        "Event": "SparkListenerTaskEnd",
        "Stage ID": stage,
        "Task Info": {"Accumulables": [{"ID": each, "Update": "5"} for each in moved] + [{"ID": 1}]},
        "Task Metrics": {"Input Metrics": {"Bytes Read": read}},
    }


SCAN = plan("BatchScan glue_catalog.fraud_raw.transactions", 1)


def work(*events: dict[str, Any]) -> SparkWork:
    start = {"Event": "SparkListenerApplicationStart", "Timestamp": 1000}
    return work_of([start, *events], "fraud_raw.transactions")


def test_only_what_a_scan_of_the_source_reads_counts_as_read_from_it() -> None:
    other = plan("BatchScan glue_catalog.fraud_curated.transactions", 2)
    found = work(
        statement(0, plan("AdaptiveSparkPlan", 50, plan("HashAggregate", 51, plan("InMemoryTableScan", 3, SCAN)))),
        statement(1, other),
        job(0, 0, 0, 1, at=2000),
        task(0, 700, 1),
        task(1, 40),
        {"Event": "SparkListenerJobEnd", "Job ID": 0, "Completion Time": 5000},
        job(1, 0, 2),
        task(2, 9_999, 3),
        job(2, 1, 3),
        task(3, 500, 2),
        job(3, None, 4),
        {"Event": "SparkListenerTaskEnd", "Stage ID": 4},
    )

    assert found.source_bytes == 700
    assert [each.source_bytes for each in found.jobs] == [700, 0, 0, 0]
    assert [each.execution for each in found.jobs] == [0, 0, 1, None]
    assert (found.jobs[0].seconds, found.jobs[0].what, found.application_started) == (3.0, "HashAggregate", 1.0)


def test_a_scan_that_adaptive_execution_planned_later_counts_too() -> None:
    later = {"Event": f"{SQL}SQLAdaptiveExecutionUpdate", "executionId": 0, "sparkPlanInfo": SCAN}

    assert work(statement(0, plan("Exchange", 8)), job(0, 0, 0), later, task(0, 30, 1)).source_bytes == 30


def outcome(side: str, seconds: float, jobs: tuple[dict[str, Any], ...] = ()) -> Outcome:
    texts = {
        HANDWRITTEN: ("session up", "expect 0", "write 5"),
        EXECUTOR: ("[ab] policy ok", "[ab] step s", "[ab] expect ok", "[ab] write t"),
    }[side]
    spark = work(
        statement(0, SCAN),
        job(0, 0, 0, at=1_500),
        {"Event": "SparkListenerJobEnd", "Job ID": 0, "Completion Time": 2_000},
        task(0, 2**20, 1),
        *jobs,
    )
    marks = tuple(Mark(place if place < 2 else place + 1.5, text) for place, text in enumerate(texts, start=1))
    return Outcome(side, "id", Path("event.json"), seconds, 2 * seconds, 0.0, marks, 2**30, 2**28, spark)


def test_the_ratio_is_the_median_of_the_pairs_whichever_side_came_first() -> None:
    runs = [
        *(outcome(HANDWRITTEN, 10), outcome(EXECUTOR, 8)),
        *(outcome(EXECUTOR, 30), outcome(HANDWRITTEN, 60)),
        *(outcome(HANDWRITTEN, 10), outcome(EXECUTOR, 9)),
    ]

    text = report(1_000_000, runs)

    assert text.startswith("1,000,000 rows, 3 pairs; executor / hand-written, wall time: 0.80 (of 0.80, 0.50, 0.90)")
    assert "| wall time, s | 10.0 | 9.0 | 0.90 |" in text
    assert "| read from the source, MiB | 1.0 | 1.0 | 1.00 |" in text


@pytest.mark.parametrize("side", [HANDWRITTEN, EXECUTOR])
def test_the_stages_take_the_runs_time(side: str) -> None:
    costs = stage_costs(outcome(side, 10))

    assert sum(costs.values()) == pytest.approx(10)
    assert [name for name, seconds in costs.items() if seconds == pytest.approx(0.5)], costs


def test_the_copied_suite_asks_for_as_many_rows_as_the_lake_has(tmp_path: Path) -> None:
    domain = copied_domain(tmp_path / "fraud", 10_000_000)

    text = (domain / "expectations" / "transactions_scored.yml").read_text("utf-8")
    assert "{min_value: 5300000, max_value: 8750001}" in text
    status = subprocess.run(["git", "status", "--porcelain"], cwd=domain, capture_output=True, text=True, check=True)
    assert status.stdout == ""


@pytest.mark.spark
@pytest.mark.slow
def test_the_benchmark_runs_from_its_command_and_leaves_nothing_running(tmp_path: Path) -> None:
    figures = tmp_path / "figures.json"
    command = [sys.executable, "-m", "benchmarks.overhead", "--rows", "20000", "--pairs", "1", "--json", str(figures)]

    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout + done.stderr
    assert "20,000 rows, 1 pairs" in done.stdout
    assert "\nsandbox   down (adapter and aws stopped)\n" in done.stdout
    runs = json.loads(figures.read_text("utf-8"))
    assert [run["side"] for run in runs] == [HANDWRITTEN, EXECUTOR]
    assert all(run["seconds"] > 1 for run in runs)
