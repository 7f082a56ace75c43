"""One story told by all four emitters, each the real one, to one adapter with its authorisation on.

dbt makes a table of a database. Airflow starts a job whose source is that table. The executor, which runs it, tells
of its run by the IAM route and afterwards of what the Spark listener saw. What they touch together has to be one node.
"""

from __future__ import annotations

import json
import os
import subprocess
import threading
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from adapter_sink import Sink, parent_node, run_node
from airflow_here import ACCOUNT, AIRFLOW, running_airflow
from dbt_project import DBT_OL, DbtProject

from pipeline_runtime.cli import main
from sandbox.lineage_access import AIRFLOW_KEY, TRANSFORM_KEY
from tests.orchestration.glue_front import Start
from tests.readers.postgres import Postgres
from tests.run.lab import Lab

pytestmark = [pytest.mark.slow, pytest.mark.spark]

DESCRIPTOR = "domains/fraud/pipelines/payments_scored.yml"
DAG = "fraud.payments-scored"
COLUMNS = {"id": "bigint", "amount": "decimal(10,2)", "status": "string", "day": "date"}


@dataclass(frozen=True)
class Story:
    """What was told, and where it took place."""

    sink: Sink
    lab: Lab
    start: Start
    database: str
    said: str

    @property
    def run(self) -> str:
        """The source identifier of the executor's run."""
        return f"cordata.fraud.payments-scored/{self.start.arguments['--run-id']}"

    @property
    def read(self) -> str:
        """The table that dbt writes and the executor reads."""
        return f"{self.database}/ledger.analytics.payments"

    @property
    def made(self) -> str:
        """The product: its table's ARN, as the catalog's asset has it."""
        return f"arn:aws:glue:{self.lab.aws.region}:{ACCOUNT}:table/{self.lab.curated}/payments_scored"

    @property
    def children(self) -> list[dict[str, Any]]:
        """The events of the runs that the listener saw."""
        return [event for event in self.sink.events("cordata.fraud") if parent_node(event) == self.run]


@pytest.fixture(scope="module")
def story(
    aws: Any, spark: Any, spark_conf: Path, shared_sink: Sink, postgres: Postgres, tmp_path_factory: Any
) -> Iterator[Story]:
    for tool, command in ((DBT_OL, "make dbt"), (AIRFLOW, "make airflow")):
        if not tool.exists():
            pytest.skip(f"{tool.relative_to(tool.parents[3])} is not set up; run `{command}`")
    folder = tmp_path_factory.mktemp("story")
    shared_sink.forget()
    project = DbtProject.copied(folder / "merchants", postgres)
    done = project.run_documented(shared_sink.url, TRANSFORM_KEY)
    assert done.returncode == 0, done.stdout + done.stderr

    lab = Lab(aws, spark, folder, shared_sink.adapter)
    reads_what_dbt_makes(lab, postgres)
    job = f"payments_scored_{uuid.uuid4().hex[:6]}"
    with running_airflow(aws, folder / "airflow", lab.root.parent, DESCRIPTOR, job) as airflow:
        runs = Runs(lab, spark_conf, folder / "executor.log")
        airflow.front.on_start = lambda start: runs.begin(start, airflow.front)
        run = airflow.test(DAG, "2026-08-01T00:00:00Z", url=shared_sink.url, key=AIRFLOW_KEY)
        said = airflow.said + runs.log.read_text()
        assert run["state"] == "success", said
        yield Story(shared_sink, lab, airflow.front.starts[0], project.namespace, said)


def reads_what_dbt_makes(lab: Lab, postgres: Postgres) -> None:
    """Catalogues dbt's table as a JDBC crawler does, and makes it the descriptor's source."""
    name = f"ledger-{uuid.uuid4().hex[:8]}"
    properties = {
        "JDBC_CONNECTION_URL": postgres.url,
        "USERNAME": postgres.user,
        "PASSWORD": postgres.password,
    }
    glue = lab.client("glue")
    glue.create_connection(ConnectionInput={"Name": name, "ConnectionType": "JDBC", "ConnectionProperties": properties})
    columns = [{"Name": column, "Type": type_} for column, type_ in COLUMNS.items()]
    glue.create_table(
        DatabaseName=lab.raw,
        TableInput={
            "Name": "ledger_payments",
            "StorageDescriptor": {"Columns": columns, "Location": "ledger.analytics.payments"},
            "Parameters": {"classification": "postgresql", "connectionName": name, "cordata.primary_keys": "id"},
        },
    )
    lab.change_descriptor("kind: glue_table", "kind: jdbc")
    lab.change_descriptor("table: payments\n", "table: ledger_payments\n")
    lab.pin(0)


@dataclass(frozen=True)
class Runs:
    """Glue's part: a job run that is started is a process of the executor, with an engine and a listener of its own."""

    lab: Lab
    spark_conf: Path
    log: Path

    def begin(self, start: Start, front: Any) -> None:
        threading.Thread(target=self._run, args=(start, front)).start()

    def _run(self, start: Start, front: Any) -> None:
        given = [part for pair in start.arguments.items() for part in pair if pair[0] != "--run-id"]
        with self.log.open("w") as log:
            done = subprocess.run(
                self.lab.command(start.arguments["--run-id"], *given),
                env={**os.environ, **self.lab.process_environ(self.spark_conf), "CORDATA_LINEAGE_CHILDREN": "on"},
                stdout=log,
                stderr=subprocess.STDOUT,
                check=False,
                timeout=600,
            )
        front.end(ACCOUNT, start.job, start.id, "SUCCEEDED" if done.returncode == 0 else "FAILED")


def test_each_is_let_in_by_its_own_route_and_all_of_it_is_accepted_unchanged(story: Story) -> None:
    story.sink.took_everything_unchanged()
    assert story.sink.answers() == {
        ("key", "dbt", "accepted"),
        ("key", "airflow", "accepted"),
        ("iam", "lineage-invoker", "accepted"),
    }
    assert {event["job"]["namespace"] for event in story.sink.events()} == {
        "cordata.transform",
        "cordata.orchestration",
        "cordata.fraud",
    }
    assert story.children
    assert story.lab.rows(columns="id") == [(number,) for number in range(1, 6)]


def test_the_table_that_dbt_writes_and_our_run_reads_is_one_node(story: Story) -> None:
    nodes = story.sink.nodes()
    node = nodes[story.read]
    [by_dbt] = [run for run in node["upstream"] if run in nodes]
    assert by_dbt.startswith("cordata.transform.ledger.analytics.merchants.payments/")
    assert story.run in node["downstream"]
    # Nobody calls it anything else.
    assert node["knownAs"] == [story.read]
    elsewhere = [each for each in nodes.values() if "ledger_payments" in each["sourceIdentifier"]]
    assert elsewhere == []


def test_the_graph_leads_from_dbts_source_to_the_product_in_the_catalog(story: Story) -> None:
    nodes = story.sink.nodes()
    reached, seen = [f"{story.database}/ledger.public.card_payments"], set[str]()
    while reached:
        here = reached.pop()
        if here not in seen:
            seen.add(here)
            reached += nodes[here]["downstream"]
    assert {story.read, story.run, story.made} <= seen


def test_the_listeners_runs_touch_the_same_nodes_as_the_run_that_they_are_children_of(story: Story) -> None:
    nodes = story.sink.nodes()
    runs = {run_node(event) for event in story.children}
    read = {dataset for run in runs for dataset in nodes[run]["upstream"]}
    written = {dataset for run in runs for dataset in nodes[run]["downstream"]}
    assert read == {story.read}
    assert written == {story.made}
    assert nodes[story.run]["upstream"] == [story.read]
    assert nodes[story.run]["downstream"] == [story.made]


def test_every_run_that_is_named_as_a_parent_is_there_up_to_airflows(story: Story) -> None:
    nodes = story.sink.nodes()
    parents = {parent_node(event) for event in story.sink.events()} - {None}
    assert parents <= nodes.keys()
    namespace, job, airflows = story.start.arguments["--parent-run"].split("/")
    [ours] = {parent_node(event) for event in story.sink.events("cordata.fraud") if run_node(event) == story.run}
    assert ours == f"{namespace}.{job}/{airflows}"
    assert (namespace, job) == ("cordata.orchestration", f"{DAG}.run")
    roots = {event["run"]["facets"]["parent"]["root"]["run"]["runId"] for event in story.children}
    assert roots == {airflows}


def test_airflow_tells_of_its_run_again_at_each_look_and_it_stays_one_run(story: Story) -> None:
    _, job, airflows = story.start.arguments["--parent-run"].split("/")
    told = [event for event in story.sink.events("cordata.orchestration") if event["job"]["name"] == job]
    assert {event["run"]["runId"] for event in told} == {airflows}
    assert [event["eventType"] for event in told if event["eventType"] != "START"] == ["COMPLETE"]
    assert told[-1]["eventType"] == "COMPLETE"
    assert len(told) > 2


def test_the_record_of_processing_is_read_from_all_of_it_and_says_who_reads_what_dbt_made(
    story: Story, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["ropa", "--format", "json", str(story.sink.adapter.folder)]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["scope"]["unusable"] == []
    assert record["scope"]["orchestrators"] == [
        f"cordata.orchestration/{DAG}",
        f"cordata.orchestration/{DAG}.run",
        "cordata.transform/dbt-run-merchants",
    ]
    found = {activity["job"]: activity for activity in record["activities"]}
    by_dbt = found["ledger.analytics.merchants.payments"]
    recipients = {recipient["job"]: recipient for recipient in by_dbt["recipients"]}
    assert recipients["payments-scored"]["purpose"] == "fraud-detection"
    assert recipients["payments-scored"]["datasets"] == [story.read]


def test_no_key_and_no_password_is_in_any_of_it(story: Story) -> None:
    told = str(story.sink.accepted()) + story.said + story.sink.log.read_text()
    for secret in (AIRFLOW_KEY, TRANSFORM_KEY, "s3cret-w0rd"):
        assert secret not in told
