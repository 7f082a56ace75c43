"""Airflow's own provider, configured as MWAA is: its events pass the keyed route, and a refusal fails no task."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from adapter_sink import Sink, run_node
from airflow_here import AIRFLOW, AirflowHere, running_airflow

from sandbox.lineage_access import AIRFLOW_KEY, TRANSFORM_KEY

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
SCORED = "fraud.transactions-scored-daily"
DESCRIPTOR = "domains/fraud/pipelines/transactions_scored.yml"


@pytest.fixture(scope="module")
def airflow(aws: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AirflowHere]:
    if not AIRFLOW.exists():
        pytest.skip("Airflow is not set up; run `make airflow` (it needs Python 3.12)")
    job = f"scored_{uuid.uuid4().hex[:6]}"
    with running_airflow(aws, tmp_path_factory.mktemp("airflow"), ROOT / "domains", DESCRIPTOR, job) as made:
        yield made


def test_its_events_are_accepted_unchanged_and_hold_the_run_that_ours_name_as_parent(
    sink: Sink, airflow: AirflowHere
) -> None:
    airflow.ends("SUCCEEDED")

    run = airflow.test(SCORED, "2026-08-01T05:00:00Z", url=sink.url, key=AIRFLOW_KEY)

    assert run["state"] == "success", airflow.said
    sink.took_everything_unchanged()
    assert sink.answers() == {("key", "airflow", "accepted")}
    events = sink.events("cordata.orchestration")
    assert len(events) == len(sink.accepted())
    told = {(event["job"]["name"], event["eventType"]) for event in events}
    assert told >= {(f"{SCORED}.run", "START"), (f"{SCORED}.run", "COMPLETE")}, told
    start = airflow.front.starts[-1]
    namespace, job, parent = start.arguments["--parent-run"].split("/")
    assert f"{namespace}.{job}/{parent}" in sink.nodes()
    assert AIRFLOW_KEY not in json.dumps(events) + airflow.said


def test_a_job_run_that_fails_is_told_as_the_tasks_failure(sink: Sink, airflow: AirflowHere) -> None:
    airflow.ends("FAILED")

    run = airflow.test(SCORED, "2026-08-02T05:00:00Z", url=sink.url, key=AIRFLOW_KEY)

    assert run["state"] == "failed"
    sink.took_everything_unchanged()
    start = airflow.front.starts[-1]
    namespace, job, parent = start.arguments["--parent-run"].split("/")
    [failed] = [event for event in sink.events() if event["eventType"] == "FAIL" and event["job"]["name"] == job]
    assert run_node(failed) == f"{namespace}.{job}/{parent}"


def test_another_domains_key_costs_the_lineage_and_not_the_task(sink: Sink, airflow: AirflowHere) -> None:
    airflow.ends("SUCCEEDED")

    run = airflow.test(SCORED, "2026-08-03T05:00:00Z", url=sink.url, key=TRANSFORM_KEY)

    assert run["state"] == "success", airflow.said
    assert sink.accepted() == []
    reasons = {letter["reason"] for letter in sink.letters()}
    assert all("belongs to domain orchestration, the caller belongs to transform" in reason for reason in reasons)
    assert len(sink.letters()) == len(sink.received()) >= 2
