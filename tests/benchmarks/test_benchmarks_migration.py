"""The fraud product, hand-written and as a descriptor: the migration changed nothing, and costs no second scan."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest

import benchmarks.handwritten
from benchmarks.overhead.report import report, stage_costs
from benchmarks.overhead.sides import Outcome
from pipeline_runtime.cli.compare import main
from sandbox.lake.places import BUCKETS, CURATED

TABLE = f"{CURATED}.transactions_scored"


@pytest.fixture(scope="module")
def iceberg(pair: Any) -> tuple[Outcome, Outcome]:
    outcomes: tuple[Outcome, Outcome] = pair("iceberg")
    return outcomes


def at_its_snapshot(outcome: Outcome) -> str:
    """The table as it was when the run's event said so."""
    event = json.loads(outcome.event.read_bytes())
    return f"{TABLE}@{event['outputs'][0]['outputFacets']['cordata_publish']['snapshot_id']}"


def compare(spark: Any, *arguments: object) -> int:
    return main([str(each) for each in arguments], start_spark=lambda _name, _settings: spark)


def test_the_hand_written_job_has_no_line_of_the_executor() -> None:
    folder = Path(benchmarks.handwritten.__path__[0])
    imported = {
        name
        for file in folder.glob("*.py")
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        for name in _imports(node)
    }
    assert "pyspark.sql" in imported
    assert not {name for name in imported if name.partition(".")[0] in {"pipeline_runtime", "glue_jobs", "sandbox"}}


def _imports(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [each.name for each in node.names]
    return [node.module] if isinstance(node, ast.ImportFrom) and node.module else []


@pytest.mark.spark
def test_the_hand_written_job_and_the_executor_publish_the_same_table_and_the_same_event(
    spark: Any, iceberg: tuple[Outcome, Outcome], capsys: pytest.CaptureFixture[str]
) -> None:
    written, executor = iceberg
    places = [at_its_snapshot(outcome) for outcome in iceberg]

    code = compare(spark, *places, "--keys", "tx_id", "--bytes", "--events", written.event, executor.event)

    assert capsys.readouterr().out == ""
    assert code == 0
    assert spark.table(f"glue_catalog.{TABLE}").count() > 10_000


@pytest.mark.spark
def test_a_changed_cell_of_the_real_product_and_a_changed_edge_of_its_event_are_found(
    spark: Any, iceberg: tuple[Outcome, Outcome], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    executor = iceberg[1]
    tx_id = spark.table(f"glue_catalog.{TABLE}").first().tx_id
    spark.sql(f"UPDATE glue_catalog.{TABLE} SET country = 'XX' WHERE tx_id = '{tx_id}'")
    changed = json.loads(executor.event.read_bytes())
    edges = changed["outputs"][0]["facets"]["columnLineage"]["fields"]["scored_date"]["inputFields"]
    edges[0]["field"] = "booked_at"
    event = tmp_path / "changed.json"
    event.write_text(json.dumps(changed), "utf-8")
    before = at_its_snapshot(executor)

    code = compare(spark, before, TABLE, "--keys", "tx_id", "--events", executor.event, event)

    found = capsys.readouterr().out.splitlines()
    assert code == 1
    assert found[0] == "rows: 1 only in the first, 1 only in the second"
    assert found[1].startswith(f"row: tx_id={tx_id}: country ")
    assert found[1].endswith(" → XX")
    # The event names the snapshot it published, and the table has moved on.
    assert [line for line in found if "columnLineage.fields.scored_date" in line]
    assert [line for line in found if "cordata_publish.snapshot_id" in line]
    spark.sql(f"CALL glue_catalog.system.rollback_to_snapshot('{TABLE}', {before.partition('@')[2]})")


@pytest.mark.spark
def test_the_executor_scans_the_source_once_and_asks_spark_for_less_than_half_of_the_jobs(
    iceberg: tuple[Outcome, Outcome],
) -> None:
    written, executor = iceberg

    assert written.spark.source_bytes > 100_000
    assert executor.spark.source_bytes <= 1.05 * written.spark.source_bytes
    assert len([job for job in executor.spark.jobs if job.source_bytes]) == 1
    assert len(executor.spark.jobs) * 2 < len(written.spark.jobs)


@pytest.mark.spark
def test_the_report_has_every_figure_of_both_sides(iceberg: tuple[Outcome, Outcome]) -> None:
    text = report(20_000, iceberg)

    for figure in ("wall time", "CPU time", "Spark jobs", "read from the source", "memory of the JVM", "of Python"):
        assert figure in text
    for outcome in iceberg:
        costs = stage_costs(outcome)
        assert sum(costs.values()) == pytest.approx(outcome.seconds)
        assert all(seconds >= 0 for seconds in costs.values())
        assert outcome.jvm_peak > 100 * 2**20
        assert outcome.python_peak > 20 * 2**20


@pytest.mark.spark
@pytest.mark.slow
def test_as_parquet_both_publish_the_same_files_byte_for_byte_and_the_same_event(
    spark: Any, pair: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    written, executor = pair("parquet")
    place = f"s3://{BUCKETS[CURATED]}/transactions_scored"
    events = ("--events", written.event, executor.event)

    code = compare(spark, place, f"{place}/_runs/{executor.run_id}", "--keys", "tx_id", "--bytes", *events)

    assert capsys.readouterr().out == ""
    assert code == 0
    # The table that the hand-written job made is the one that now shows the executor's files.
    assert compare(spark, TABLE, place, "--examples", "0") == 1
    assert capsys.readouterr().out == "schema: ~ scored_date: date -> string\n"
