"""What Spark did, by its own event log: jobs, and the bytes that reading the source took. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["Job", "SparkWork", "spark_work", "work_of"]

_SQL = "org.apache.spark.sql.execution.ui.SparkListener"
_ROWS = "number of output rows"


@dataclass(frozen=True)
class Job:
    """One Spark job: its statement's number (None outside SQL), when it ran (seconds since 1970), what it read."""

    execution: int | None
    began: float
    ended: float
    source_bytes: int
    what: str = ""

    @property
    def seconds(self) -> float:
        return self.ended - self.began


@dataclass(frozen=True)
class SparkWork:
    """All that one application did. Times are seconds since 1970."""

    application_started: float
    jobs: tuple[Job, ...]

    @property
    def source_bytes(self) -> int:
        """Bytes that tasks read while they scanned the source: files only, no cached blocks."""
        return sum(job.source_bytes for job in self.jobs)


def spark_work(log: Path, source: str) -> SparkWork:
    """The event log of one application that has ended; `source` is `<database>.<table>`."""
    with log.open(encoding="utf-8") as lines:
        return work_of((json.loads(line) for line in lines), source)


def work_of(events: Iterable[Mapping[str, Any]], source: str) -> SparkWork:
    """A task belongs to the scan where it moved the counter of a scan of `source`: what it read came from there.

    Spark books bytes from cached blocks under the same name; a task that reads those moves no scan's counter.
    """
    started = 0.0
    scans: set[int] = set()
    statements: dict[int, str] = {}
    begun: dict[int, tuple[int | None, float]] = {}
    ended: dict[int, float] = {}
    job_of_stage: dict[int, int] = {}
    tasks: list[tuple[int, set[int], int]] = []
    for event in events:
        match event["Event"]:
            case "SparkListenerApplicationStart":
                started = event["Timestamp"] / 1000
            case name if name.startswith(_SQL) and "sparkPlanInfo" in event:
                scans |= set(_counters(event["sparkPlanInfo"], source))
                statements.setdefault(event["executionId"], _top(event["sparkPlanInfo"]))
            case "SparkListenerJobStart":
                execution = (event.get("Properties") or {}).get("spark.sql.execution.id")
                begun[event["Job ID"]] = (None if execution is None else int(execution), event["Submission Time"])
                for stage in event["Stage IDs"]:
                    job_of_stage.setdefault(stage, event["Job ID"])
            case "SparkListenerJobEnd":
                ended[event["Job ID"]] = event["Completion Time"]
            case "SparkListenerTaskEnd" if event.get("Task Metrics"):
                moved = {each["ID"] for each in event["Task Info"]["Accumulables"] if each.get("Update")}
                read = event["Task Metrics"]["Input Metrics"]["Bytes Read"]
                tasks.append((event["Stage ID"], moved, read))
            case _:
                pass
    read_by_job: dict[int, int] = {}
    for stage, moved, read in tasks:
        if moved & scans:
            job = job_of_stage[stage]
            read_by_job[job] = read_by_job.get(job, 0) + read
    jobs = tuple(
        Job(
            execution,
            began / 1000,
            ended.get(number, began) / 1000,
            read_by_job.get(number, 0),
            statements.get(execution, "") if execution is not None else "",
        )
        for number, (execution, began) in begun.items()
    )
    return SparkWork(started, jobs)


def _counters(plan: Mapping[str, Any], source: str) -> Iterator[int]:
    """The accumulators that count rows of a scan of `source`, anywhere in a plan."""
    if plan["nodeName"].startswith("BatchScan") and plan["nodeName"].rstrip().endswith(source):
        yield from (metric["accumulatorId"] for metric in plan["metrics"] if metric["name"] == _ROWS)
    for child in plan["children"]:
        yield from _counters(child, source)


def _top(plan: Mapping[str, Any]) -> str:
    """What a plan is about: its first node that is not adaptive execution's own."""
    while plan["nodeName"] == "AdaptiveSparkPlan" and plan["children"]:
        plan = plan["children"][0]
    return str(plan["nodeName"])
