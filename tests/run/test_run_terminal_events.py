"""However a run ends, it says so once, and what it says is what the catalog shows (design decision D2)."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import uuid

import pytest
from lab import ROWS, SCORE, Lab, Outcome

pytestmark = pytest.mark.spark

BEFORE = [(1, 0.1, "2026-08-01"), (2, 0.2, "2026-08-01"), (4, 0.4, "2026-08-02")]
NEW_ROWS = [(9, "90.00", "settled", "2026-08-01")]

#: More work for one row than a test waits for: 4e10 additions.
SLOW = """\
SELECT id, amount, amount / 100 AS score, :model_version AS model, day,
       aggregate(sequence(1, 200000), 0L, (a, x) -> a + aggregate(sequence(1, 200000), 0L, (b, y) -> b + y)) AS work
FROM frame
"""


def assert_one_terminal_event(outcome: Outcome, event_type: str) -> None:
    kinds = [event["eventType"] for event in outcome.received if event["eventType"] != "OTHER"]
    assert kinds == ["START", event_type], outcome.trace
    assert outcome.terminal["eventType"] == event_type
    assert outcome.terminal["run"]["runId"] == outcome.run_id


def published_by(lab: Lab) -> str | None:
    """The run whose snapshot main shows."""
    name = f"glue_catalog.{lab.curated}.payments_scored"
    lab.spark.sql(f"REFRESH TABLE {name}")
    found = lab.spark.sql(
        f"SELECT s.summary['cordata.run_id'] AS run FROM {name}.snapshots s "
        f"JOIN {name}.refs r ON r.snapshot_id = s.snapshot_id WHERE r.name = 'main'"
    ).collect()
    return found[0].run if found else None


@pytest.fixture
def product(lab: Lab) -> Lab:
    """A domain whose product is published already, and whose source holds a batch that differs."""
    outcome = lab.run()
    assert outcome.code == 0, outcome.trace
    lab.load(NEW_ROWS)
    return lab


def failing(product: Lab, **run: object) -> Outcome:
    """One run that must fail and leave the product as it was."""
    before = product.definition()
    outcome = product.run(**run)
    assert outcome.code == 1, outcome.trace
    assert_one_terminal_event(outcome, "FAIL")
    assert outcome.terminal["inputs"] == []
    assert outcome.terminal["outputs"] == []
    assert outcome.terminal["run"]["facets"]["cordata_provenance"]["descriptor_sha256"]
    assert product.rows() == BEFORE
    after = product.definition()
    assert {k: v for k, v in after["Parameters"].items() if k.startswith("cordata.")} == {
        k: v for k, v in before["Parameters"].items() if k.startswith("cordata.")
    }
    assert after["StorageDescriptor"]["Columns"] == before["StorageDescriptor"]["Columns"]
    return outcome


def message(outcome: Outcome) -> str:
    return str(outcome.terminal["run"]["facets"]["errorMessage"]["message"])


def test_terminal_event_of_a_drifted_source(product):
    table = f"glue_catalog.{product.raw}.payments"
    product.spark.sql(f"ALTER TABLE {table} ADD COLUMN merchant_category_code string")

    outcome = failing(product)

    assert "Diff: + merchant_category_code (string, nullable)" in message(outcome)
    assert "FAILED SchemaDrift: + merchant_category_code (string, nullable)" in outcome.trace
    assert "bump the pin to accept" in outcome.trace


def test_terminal_event_of_an_unknown_tag(product):
    product.change_descriptor("sensitivity: high", "sensitivity: hgh")

    outcome = failing(product)

    assert "hgh" in message(outcome)
    assert "high, low" in message(outcome)


def test_terminal_event_of_a_blocked_batch(product):
    product.load([(9, "900.00", "settled", "2026-08-01")])

    outcome = failing(product)

    assert [assertion["assertion"] for assertion in outcome.failing] == ["expect_column_values_to_be_between"]
    assert "expect_column_values_to_be_between(score)" in message(outcome)
    assert "1 passed, 1 failed" in outcome.trace


def test_terminal_event_of_a_warned_batch_is_complete(product):
    product.change_descriptor("block_publish", "warn")
    product.load([(9, "900.00", "settled", "2026-08-01")])

    outcome = product.run()

    assert outcome.code == 0, outcome.trace
    assert_one_terminal_event(outcome, "COMPLETE")
    assert [assertion["column"] for assertion in outcome.failing] == ["score"]
    assert published_by(product) == outcome.run_id
    assert product.rows() == [(4, 0.4, "2026-08-02"), (9, 9.0, "2026-08-01")]


def test_terminal_event_of_a_quarantined_batch(product):
    product.change_descriptor("block_publish", "quarantine")
    product.load([(9, "900.00", "settled", "2026-08-01")])

    outcome = product.run()

    assert outcome.code == 3, outcome.trace
    assert_one_terminal_event(outcome, "FAIL")
    assert product.rows() == BEFORE
    kept = product.rows("payments_scored__quarantine", "id, score, run_id")
    assert kept == [(9, 9.0, outcome.run_id)]
    quarantine = f"table/{product.curated}/payments_scored__quarantine"
    assert [dataset["name"] for dataset in outcome.terminal["outputs"]] == [quarantine]
    assert [dataset["name"] for dataset in outcome.terminal["inputs"]] == [f"table/{product.raw}/payments"]
    assert outcome.stored["other"]["inputs"][0]["name"] == quarantine


def test_terminal_event_of_a_missing_sql_file(product):
    (product.root / "sql" / "score.sql").unlink()

    outcome = failing(product)

    assert "sql/score.sql" in message(outcome)


def test_terminal_event_of_a_step_that_spark_cannot_analyse(product):
    product.change("sql/score.sql", "amount / 100", "amuont / 100")

    outcome = failing(product)

    assert "sql/score.sql" in message(outcome)
    assert "amuont" in message(outcome)


def test_terminal_event_of_a_python_error_in_the_engine(product):
    def broken(_name, _settings):
        raise ZeroDivisionError("the engine broke")

    outcome = failing(product, start_spark=broken)

    assert message(outcome) == "ZeroDivisionError: the engine broke"


def test_terminal_event_of_a_write_that_fails_midway(product):
    product.load([*NEW_ROWS, (10, "10.00", "settled", "2026-08-02")])
    product.change(
        "sql/score.sql", "amount / 100", "CASE WHEN id = 10 THEN raise_error('row 10 is bad') ELSE amount / 100 END"
    )

    outcome = failing(product)

    assert "row 10 is bad" in message(outcome)
    assert outcome.trace.count("FAILED WriteFailed") == 1


def test_terminal_event_of_a_run_whose_tags_are_refused(product, monkeypatch):
    lf = product.aws.client("lakeformation")
    key = f"ghost_{uuid.uuid4().hex[:6]}"
    lf.create_lf_tag(TagKey=key, TagValues=["yes"])
    product.change_descriptor("residency: eu", f"residency: eu\n    {key}: yes!".replace("yes!", '"yes"'))
    from pipeline_runtime import run as story

    resolved = story.preflight

    def then_deleted(*arguments):
        plan = resolved(*arguments)
        lf.delete_lf_tag(TagKey=key)  # Governance withdraws it between the check and the publish.
        return plan

    monkeypatch.setattr(story, "preflight", then_deleted)

    outcome = failing(product)

    assert key in message(outcome)
    assert product.tags() == {"sensitivity": "high", "residency": "eu"}


def test_terminal_event_when_lineage_cannot_be_delivered(product, tmp_path):
    heard_by = product.environ["CORDATA_LINEAGE_URL"]
    product.environ["CORDATA_LINEAGE_URL"] = "http://127.0.0.1:9/lineage"

    outcome = product.run()

    assert outcome.code == 0, outcome.trace
    assert outcome.received == []
    assert "lineage: not delivered" in outcome.trace
    assert outcome.terminal["eventType"] == "COMPLETE"
    assert published_by(product) == outcome.run_id

    replayed = subprocess.run(
        [sys.executable, "-m", "pipeline_runtime", "replay", outcome.run_id],
        env={**os.environ, **product.environ, "CORDATA_LINEAGE_URL": heard_by},
        capture_output=True,
        text=True,
        check=False,
    )

    assert replayed.returncode == 0, replayed.stdout + replayed.stderr
    assert_one_terminal_event(product.outcome(outcome.run_id, 0, ""), "COMPLETE")
    stored = (product.evidence / "runs" / outcome.run_id / "terminal.json").read_bytes()
    bodies = [file.read_bytes() for file in product.adapter.folder.glob("*.json")]
    assert stored in bodies


def test_terminal_event_of_a_run_that_is_told_to_stop(product, spark_conf):
    product.change("sql/score.sql", SCORE, SLOW)
    product.change_descriptor("payments_scored\n  partition_by", "payments_slow\n  partition_by")
    product.change_descriptor("/payments_scored/", "/payments_slow/")
    run_id = str(uuid.uuid4())
    process = subprocess.Popen(
        product.command(run_id),
        env=product.process_environ(spark_conf),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    deadline = time.monotonic() + 180
    while product.definition("payments_slow") is None:
        assert process.poll() is None, process.stdout.read()
        assert time.monotonic() < deadline, "the run never came to write"
        time.sleep(0.5)
    time.sleep(3)  # Into the step: the table is made right before it is computed.

    process.send_signal(signal.SIGTERM)
    told = time.monotonic()
    trace, _ = process.communicate(timeout=60)

    assert time.monotonic() - told < 30
    assert process.returncode == 1, trace
    outcome = product.outcome(run_id, process.returncode, trace)
    assert_one_terminal_event(outcome, "FAIL")
    assert "SIGTERM" in message(outcome)
    assert product.rows("payments_slow", "id") == []


def test_terminal_event_of_a_run_id_that_has_ended_already_stays_the_only_one(product):
    first = product.run()

    with pytest.raises(Exception, match="already has its terminal event"):
        product.run(run_id=first.run_id)

    assert json.loads(json.dumps(product.outcome(first.run_id, 0, "").stored)) == json.loads(json.dumps(first.stored))
    assert_one_terminal_event(product.outcome(first.run_id, 0, ""), "COMPLETE")


def test_terminal_event_tells_nothing_where_the_evidence_cannot_be_kept(product, tmp_path):
    blocked = tmp_path / "blocked"
    blocked.write_text("a file, where a folder should be")
    product.environ["CORDATA_EVIDENCE"] = str(blocked)

    with pytest.raises(Exception, match="CORDATA_EVIDENCE"):
        product.run()

    assert product.rows() == BEFORE


def test_the_source_rows_stay_as_they_are_whatever_a_run_does(product):
    product.run()

    table = f"glue_catalog.{product.raw}.payments"
    assert product.spark.table(table).count() == len(NEW_ROWS) != len(ROWS)
