"""The Spark listener of a job that is not the executor's, configured as docs/adapter.md says."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from adapter_sink import Sink, run_node
from dbt_project import documented

from sandbox.lineage_access import DBT_KEY, REPORTING_KEY
from tests.readers.postgres import Postgres

pytestmark = [pytest.mark.slow, pytest.mark.spark]

ROOT = Path(__file__).resolve().parents[2]
JOB = Path(__file__).parent / "listened_job.py"


def submit(
    sink: Sink, key: str, postgres: Postgres, spark_conf: Path, folder: Path
) -> subprocess.CompletedProcess[str]:
    postgres.sql(
        "CREATE TABLE IF NOT EXISTS analytics.payments AS "
        "SELECT id, amount, status, day, 'Bäckerei Nord'::text AS merchant FROM card_payments"
    )
    script = documented("The Spark listener")
    for old, new in (
        ("https://<api>", sink.url),
        ("<key>", key),
        ("job.py", f"{JOB} {postgres.url} {postgres.user} {folder}"),
    ):
        assert old in script
        script = script.replace(old, new)
    return subprocess.run(
        ["sh", "-ec", script],
        env={
            **os.environ,
            "PATH": f"{ROOT / '.venv' / 'bin'}{os.pathsep}{os.environ['PATH']}",
            "SPARK_CONF_DIR": str(spark_conf),
            "LEDGER_PASSWORD": postgres.password,
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def test_its_events_are_accepted_unchanged_and_name_the_table_as_dbt_and_the_executor_do(
    sink: Sink, postgres: Postgres, spark_conf: Path, tmp_path: Path
) -> None:
    done = submit(sink, DBT_KEY, postgres, spark_conf, tmp_path / "out")

    assert done.returncode == 0, done.stdout + done.stderr
    sink.took_everything_unchanged()
    assert sink.answers() == {("key", "dbt-fraud", "accepted")}
    [written] = [event for event in sink.events() if event["eventType"] == "COMPLETE" and event["outputs"]]
    node = sink.nodes()[run_node(written)]
    assert node["upstream"] == [f"postgres://{postgres.host}:{postgres.port}/ledger.analytics.payments"]
    assert node["downstream"] == [f"file/{tmp_path / 'out'}"]
    assert {event["job"]["namespace"] for event in sink.events()} == {"cordata.fraud"}
    assert postgres.password not in str(sink.accepted())


def test_another_domains_key_costs_the_lineage_and_not_the_job(
    sink: Sink, postgres: Postgres, spark_conf: Path, tmp_path: Path
) -> None:
    done = submit(sink, REPORTING_KEY, postgres, spark_conf, tmp_path / "out")

    assert done.returncode == 0, done.stdout + done.stderr
    assert list((tmp_path / "out").glob("*.parquet"))
    assert sink.accepted() == []
    assert len(sink.letters()) == len(sink.received()) > 0
