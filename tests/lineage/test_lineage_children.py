"""The listener's events as child runs: corrected, and forwarded where a deployment asks for it."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from listener_samples import (
    APPLICATION,
    BRANCH,
    QUARANTINE,
    SOURCE,
    TARGET,
    batch_write,
    creation,
    edge,
    event,
    quarantine_write,
    read,
    witnessed,
    written,
)

from pipeline_runtime.cli.replay import main as replay
from pipeline_runtime.context import ParentRun
from pipeline_runtime.errors import ConfigurationError
from pipeline_runtime.evidence.runs import EventKind, RunEvidence
from pipeline_runtime.evidence.store import open_store
from pipeline_runtime.lineage.children import child_events
from pipeline_runtime.lineage.delivery import Delivery
from pipeline_runtime.lineage.emitter import Emitter
from pipeline_runtime.lineage.events import RunStatus
from pipeline_runtime.lineage.facts import RunFacts
from pipeline_runtime.lineage.settings import LineageSettings

RUN = "b8c1c9e3-5a1e-4c0f-9a1a-2c9f8b1a5e12"
OURS = {"run": {"runId": RUN}, "job": {"namespace": "cordata.fraud", "name": "transactions-scored-daily"}}
ACCOUNT = "arn:aws:glue:eu-central-1:111122223333"
OUR_SOURCE = ("arn:aws:glue:eu-central-1:444455556666", "table/fraud_raw/transactions")
OUR_TARGET = (ACCOUNT, "table/fraud_curated/transactions_scored")
OUR_QUARANTINE = (ACCOUNT, "table/fraud_curated/transactions_scored__quarantine")


def names(datasets: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(each["namespace"], each["name"]) for each in datasets]


def application(kind: str) -> dict[str, Any]:
    return event(kind, run_id=APPLICATION, job="cordata_fraud_transactions_scored_daily")


def test_reported_ol_8_children_name_our_run_and_our_job_as_parent_and_root(facts: RunFacts) -> None:
    start = batch_write(kind="START")
    found = child_events(witnessed(facts, start, batch_write()), RunStatus.COMPLETE)
    assert [each["eventType"] for each in found] == ["START", "COMPLETE"]
    for each in found:
        parent = each["run"]["facets"]["parent"]
        assert {key: parent[key] for key in ("run", "job")} == OURS
        assert parent["root"] == OURS
        assert each["run"]["runId"] != RUN
        assert each["job"]["namespace"] == "cordata.fraud"
        assert each["job"]["name"] == (
            "transactions-scored-daily.overwrite_partitions_dynamic.glue_catalog_fraud_curated"
        )


def test_a_schedulers_run_is_the_root_of_the_children(facts: RunFacts) -> None:
    airflow = ParentRun("airflow", "dag.task", "0b8c7a40-0000-4000-8000-000000000001")
    scheduled = dataclasses.replace(facts, context=dataclasses.replace(facts.context, parent=airflow))
    (child,) = child_events(witnessed(scheduled, batch_write()), RunStatus.COMPLETE)
    parent = child["run"]["facets"]["parent"]
    assert parent["run"] == OURS["run"]
    assert parent["root"]["job"] == {"namespace": "airflow", "name": "dag.task"}


def test_children_name_datasets_as_we_do_and_link_them_as_datazone_needs_it(facts: RunFacts) -> None:
    (child,) = child_events(witnessed(facts, batch_write()), RunStatus.COMPLETE)
    assert names(child["inputs"]) == [OUR_SOURCE]
    assert names(child["outputs"]) == [OUR_TARGET]
    output = child["outputs"][0]
    assert output["facets"]["symlinks"]["identifiers"][0] == {
        "namespace": OUR_TARGET[0],
        "name": OUR_TARGET[1],
        "type": "TABLE",
    }
    assert "branch_audit" not in json.dumps(child)
    assert output["facets"]["version"]["datasetVersion"] == "9007199254740993"
    assert "version" not in child["inputs"][0]["facets"]
    edges = output["facets"]["columnLineage"]["fields"]["tx_id"]["inputFields"]
    assert names(edges) == [OUR_SOURCE]
    glue = child["run"]["facets"]["environment-properties"]["environment-properties"]
    assert glue["GLUE_VERSION"] == "5.1"


def test_reported_ol_1_the_applications_own_end_is_not_forwarded(facts: RunFacts) -> None:
    seen = [application("START"), batch_write(kind="RUNNING"), batch_write(), application("COMPLETE")]
    found = child_events(witnessed(facts, *seen), RunStatus.FAIL)
    assert [each["run"]["runId"] for each in found] == [batch_write()["run"]["runId"]]


def test_a_blocked_run_forwards_no_output_at_all(facts: RunFacts) -> None:
    found = child_events(witnessed(facts, creation(), batch_write(), quarantine_write()), RunStatus.FAIL)
    assert found
    assert [each["outputs"] for each in found] == [[]] * len(found)


def test_a_quarantined_run_forwards_the_quarantine_made_of_the_source(facts: RunFacts) -> None:
    found = child_events(witnessed(facts, creation(), batch_write(), quarantine_write()), RunStatus.QUARANTINED)
    assert [names(each["outputs"]) for each in found] == [[], [], [OUR_QUARANTINE]]
    last = found[-1]
    assert names(last["inputs"]) == [OUR_SOURCE]
    edges = last["outputs"][0]["facets"]["columnLineage"]["fields"]["tx_id"]["inputFields"]
    assert names(edges) == [OUR_SOURCE]


def test_job_names_do_not_grow_with_every_run(facts: RunFacts) -> None:
    path = ("s3://curated", f"transactions_scored/_runs/{RUN}")
    job = f"cordata_fraud_transactions_scored_daily.adaptive_spark_plan._runs_{RUN}"
    write = event(inputs=[read(SOURCE)], outputs=[written(path, None, {"tx_id": [edge(SOURCE, "tx_id")]})], job=job)
    (child,) = child_events(witnessed(facts, write), RunStatus.COMPLETE)
    assert child["job"]["name"] == "transactions-scored-daily.adaptive_spark_plan.fraud_curated_transactions_scored"


def test_reported_ol_10_secrets_of_the_listeners_events_are_not_forwarded(facts: RunFacts) -> None:
    write = batch_write(spark_properties={"properties": {"spark.password": "s3cret", "url": "jdbc:x://a:s3cret@h/d"}})
    (child,) = child_events(witnessed(facts, write), RunStatus.COMPLETE)
    assert "s3cret" not in json.dumps(child)


def test_a_run_that_read_nothing_has_no_children(facts: RunFacts) -> None:
    assert child_events(dataclasses.replace(facts, source=None), RunStatus.FAIL) == []
    assert child_events(facts, RunStatus.COMPLETE) == []
    with pytest.raises(ValueError, match="cannot be understood"):
        child_events(witnessed(facts, {"eventType": "COMPLETE"}), RunStatus.COMPLETE)


@pytest.fixture
def evidence(tmp_path: Path) -> RunEvidence:
    return RunEvidence(open_store(str(tmp_path / "evidence"), lambda: pytest.fail("no S3 here")), RUN)


def test_children_are_kept_first_and_what_is_not_delivered_replay_sends(
    facts: RunFacts, evidence: RunEvidence, sink: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said: list[str] = []
    seen = witnessed(facts, batch_write(kind="START"), batch_write())
    sink.script = [(400, b"no")]
    Emitter(evidence, Delivery(sink.url), said.append).children(lambda: child_events(seen, RunStatus.COMPLETE))

    (line,) = said
    assert line.startswith("0 of 2 events of child runs delivered; the rest is kept, `replay` sends it later: ")
    assert line.endswith("answered 400: no")
    assert sink.bodies == list(evidence.children())
    # `replay` goes by the runs that have events of their own.
    evidence.claim(EventKind.START, b"{}")
    sink.script = [(202, b'{"status":"accepted","id":"1"}')]
    sink.received.clear()
    arguments = [RUN, "--evidence", str(tmp_path / "evidence"), "--lineage-url", sink.url]
    assert replay(arguments) == 0
    assert sink.bodies[1:] == list(evidence.children())
    assert "child runs: 2 of 2 events delivered" in capsys.readouterr().out
    sink.received.clear()
    assert replay(arguments) == 0
    assert sink.bodies == []


def test_a_child_event_that_stays_too_large_is_left_out_and_said(
    facts: RunFacts, evidence: RunEvidence, sink: Any
) -> None:
    said: list[str] = []
    huge = batch_write(custom={"text": "ü" * 200_000})
    seen = witnessed(facts, huge, quarantine_write())
    Emitter(evidence, Delivery(sink.url), said.append).children(lambda: child_events(seen, RunStatus.COMPLETE))
    assert said == [
        "lineage: 1 child events are too large and were left out",
        "1 of 1 events of child runs delivered",
    ]


@pytest.mark.parametrize(("said", "asked"), [("", False), ("off", False), ("on", True), ("ON", True)])
def test_a_deployment_asks_for_children_in_so_many_words(said: str, asked: bool) -> None:
    environ = {"CORDATA_EVIDENCE": "/e", "CORDATA_LINEAGE": "off", "CORDATA_LINEAGE_CHILDREN": said}
    assert LineageSettings.from_environ(environ).children is asked
    with pytest.raises(ConfigurationError, match="CORDATA_LINEAGE_CHILDREN is 'yes'; allowed are on and off"):
        LineageSettings.from_environ({**environ, "CORDATA_LINEAGE_CHILDREN": "yes"})


def test_the_samples_say_what_the_listener_says() -> None:
    assert QUARANTINE[1].startswith(TARGET[1])
    assert BRANCH.endswith(RUN.replace("-", "_"))
