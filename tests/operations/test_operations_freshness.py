"""A product is compared with the freshness it promises; its owner hears once of a breach, and once when it is over."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from product_lake import NOON, OWNER, ProductLake, hours, new_run, snapshot

from pipeline_runtime.cli import main
from pipeline_runtime.freshness import handler as function
from pipeline_runtime.freshness.check import Report, Watch
from pipeline_runtime.freshness.judging import shown_time
from pipeline_runtime.freshness.metrics import metric_line
from pipeline_runtime.freshness.settings import open_watch

pytestmark = pytest.mark.lengthy


@pytest.fixture
def watch(lake: ProductLake) -> Watch:
    return open_watch({**os.environ, **environ(lake)})


def environ(lake: ProductLake) -> dict[str, str]:
    return {
        "CORDATA_EVIDENCE": lake.evidence,
        "CORDATA_OWNER_FILE": str(lake.mailbox),
        "CORDATA_FRESHNESS_DOMAIN": lake.domain,
    }


@pytest.fixture
def command(lake: ProductLake, monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    for key, value in environ(lake).items():
        monkeypatch.setenv(key, value)
    function._watch.cache_clear()
    return lambda *options: main(["freshness", *options])


def standings(report: Report) -> dict[str, str]:
    return {each.found.product.identity.table: each.found.standing.value for each in report.products}


def test_a_product_is_late_from_the_instant_after_its_promise_on(lake, watch):
    lake.register("scored", "PT4H")
    lake.published("scored", NOON)
    assert standings(watch.look(NOON + hours(4))) == {"scored": "fresh"}
    assert standings(watch.look(NOON + hours(4) + timedelta(milliseconds=1))) == {"scored": "late"}


def test_its_owner_is_told_once_when_it_is_late_and_once_when_it_is_over(lake, watch):
    lake.register("scored")
    run_id = lake.published("scored", NOON)
    for hour in (1, 4, 5, 6, 7):
        watch.look(NOON + hours(hour))
    (late,) = lake.told
    assert (late["kind"], late["owner"], late["subject"]) == ("late", OWNER, f"{lake.database}.scored is late")
    assert late["text"].startswith(
        f"{lake.database}.scored is late since 2026-08-04T16:00:00.000Z: published 5 h ago, at "
        f"2026-08-04T12:00:00.000Z (run {run_id}); its contract promises PT4H.\n"
        "No run of its pipeline has ended since.\n"
    )
    assert late["text"].endswith("docs/operations.md#late-data\n")

    after = lake.published("scored", NOON + hours(7))
    for hour in (8, 9):
        watch.look(NOON + hours(hour))
    assert lake.told_of == ["scored is late", "scored is fresh again"]
    assert lake.told[1]["run_id"] == after
    assert "It was late since 2026-08-04T16:00:00.000Z, for 3 h." in lake.told[1]["text"]


def test_every_breach_is_told_of_also_where_nobody_saw_the_publish_between_two(lake, watch):
    lake.register("scored")
    lake.published("scored", NOON)
    watch.look(NOON + hours(5))
    lake.published("scored", NOON + hours(6))
    for hour in (20, 21):
        watch.look(NOON + hours(hour))
    assert lake.told_of == ["scored is late", "scored is late"]
    lake.published("scored", NOON + hours(22))
    watch.look(NOON + hours(23))
    lake.published("scored", NOON + hours(24))
    watch.look(NOON + hours(30))
    assert lake.told_of == ["scored is late", "scored is late", "scored is fresh again", "scored is late"]


def test_of_many_that_look_at_once_one_tells(lake, watch):
    lake.register("scored")
    lake.register("settled")
    lake.published("scored", NOON)
    lake.published("settled", NOON)

    def look_at_once(now: datetime) -> None:
        gate, problems = threading.Barrier(6), []

        def look() -> None:
            gate.wait()
            problems.extend(open_watch({**os.environ, **environ(lake)}).look(now).problems)

        threads = [threading.Thread(target=look) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert problems == []

    look_at_once(NOON + hours(5))
    assert sorted(lake.told_of) == ["scored is late", "settled is late"]
    lake.published("scored", NOON + hours(5))
    look_at_once(NOON + hours(6))
    assert sorted(lake.told_of) == ["scored is fresh again", "scored is late", "settled is late"]


def test_a_view_that_is_older_than_what_another_noted_adds_nothing(lake, watch):
    lake.register("scored")
    lake.published("scored", NOON)
    last, found = watch._judged(
        next(each.found.product for each in replace(watch, notifier=None).look(NOON).products), NOON + hours(5)
    )
    watch.look(NOON + hours(5))
    lake.published("scored", NOON + hours(5))
    watch.look(NOON + hours(6))
    noted = {key: lake.store.get(key) for key in lake.store.keys("freshness/")}
    assert watch._told(last, replace(found, now=NOON + hours(7))) is None
    assert {key: lake.store.get(key) for key in lake.store.keys("freshness/")} == noted
    assert lake.told_of == ["scored is late", "scored is fresh again"]


def test_a_product_that_was_never_published_is_due_from_when_it_was_registered_on(lake, watch):
    lake.register("scored", "P1D")
    registered = lake.glue.get_table(DatabaseName=lake.database, Name="scored")["Table"]["CreateTime"]
    assert standings(watch.look(registered + hours(23))) == {"scored": "new"}
    assert standings(watch.look(registered + hours(25))) == {"scored": "never"}
    watch.look(registered + hours(26))
    (notice,) = lake.told
    assert ": never published, known for 1 d 1 h; its contract promises P1D.\n" in notice["text"]


def test_a_declared_product_without_a_table_is_due_from_when_it_was_first_seen_on(lake, watch):
    declared = {"database": lake.database, "table": "scored", "domain": lake.domain, "pipeline": "scored-daily"}
    text = json.dumps([{**declared, "owner": OWNER, "freshness_sla": "PT4H"}])
    watch = open_watch({**os.environ, **environ(lake), "CORDATA_FRESHNESS_PRODUCTS": text})
    for hour, standing in ((0, "new"), (4, "new"), (5, "never"), (6, "never")):
        assert standings(watch.look(NOON + hours(hour))) == {"scored": standing}
    lake.register("scored")
    lake.published("scored", NOON + hours(6))
    assert standings(watch.look(NOON + hours(7))) == {"scored": "fresh"}
    assert lake.told_of == ["scored is late", "scored is fresh again"]


def test_what_only_changes_the_table_publishes_nothing(lake, watch):
    lake.register("scored")
    run_id = new_run()
    published = snapshot(1, NOON - hours(1), run_id)
    compaction = snapshot(2, NOON + hours(5), parent=1, operation="replace")
    # The staged snapshot is older than the publish; a rollback shows it again.
    log = [(1, NOON), (2, NOON + hours(5)), (1, NOON + hours(6))]
    lake.iceberg("scored", published, compaction, shown=2, log=log[:2])
    assert standings(watch.look(NOON + hours(4.5))) == {"scored": "late"}
    lake.iceberg("scored", published, compaction, shown=1, log=log)
    (looked,) = watch.look(NOON + hours(7)).products
    assert looked.found.publish is not None
    assert (looked.found.publish.at, looked.found.publish.run_id) == (NOON, run_id)


def test_a_batch_that_was_picked_onto_a_main_that_had_moved_is_a_publish_of_its_run(lake, watch):
    lake.register("scored")
    run_id = new_run()
    staged = snapshot(2, NOON, run_id, parent=1)
    picked = {**snapshot(4, NOON + hours(1), parent=3), "summary": {"source-snapshot-id": "2"}}
    lake.iceberg("scored", snapshot(1, NOON - hours(9), new_run()), staged, snapshot(3, NOON, parent=1), picked)
    (looked,) = watch.look(NOON + hours(2)).products
    assert looked.found.publish is not None
    assert (looked.found.publish.at, looked.found.publish.run_id) == (NOON + hours(1), run_id)


def test_a_publish_that_the_table_has_forgotten_is_remembered(lake, watch):
    lake.register("scored")
    lake.published("scored", NOON)
    watch.look(NOON + hours(1))
    lake.iceberg("scored", snapshot(9, NOON + hours(20), parent=8, operation="replace"))
    assert standings(watch.look(NOON + hours(21))) == {"scored": "late"}

    lake.register("unseen")
    lake.iceberg("unseen", snapshot(9, NOON + hours(20), parent=8, operation="replace"))
    assert standings(watch.look(NOON + hours(21)))["unseen"] == "fresh"


def test_a_parquet_product_was_published_when_its_run_ended(lake, watch):
    run_id = lake.ended("scored", "COMPLETE", NOON)
    lake.register("scored", **{"cordata.run_id": run_id})
    (looked,) = watch.look(NOON + hours(5)).products
    assert looked.found.publish is not None
    assert (looked.found.publish.at, looked.found.publish.run_id) == (NOON, run_id)
    assert looked.found.standing.value == "late"


def test_a_late_product_says_since_when_and_by_what_it_is_blocked(lake, watch):
    lake.register("scored")
    lake.published("scored", NOON)
    lake.ended("scored", "FAIL", NOON - hours(1), reason="of before the publish")
    lake.ended("scored", "FAIL", NOON + hours(2), reason="scored: no answer\nand more")
    last = lake.ended("scored", "FAIL", NOON + hours(4), reason="scored: batch quarantined in x", quarantined=True)
    lake.ended("other", "FAIL", NOON + hours(4.5), reason="of another pipeline")

    (looked,) = watch.look(NOON + hours(5)).products

    assert looked.found.cause == (
        f"Blocked since 2026-08-04T14:00:00.000Z, 2 runs; run {last} at 2026-08-04T16:00:00.000Z was quarantined: "
        "scored: batch quarantined in x"
    )
    assert looked.found.cause in lake.told[0]["text"]


def test_a_late_product_whose_runs_pass_had_nothing_to_publish(lake, watch):
    lake.register("scored")
    lake.published("scored", NOON)
    lake.ended("scored", "FAIL", NOON + hours(2), reason="no answer")
    last = lake.ended("scored", "COMPLETE", NOON + hours(3))
    (looked,) = watch.look(NOON + hours(5)).products
    assert looked.found.cause == (
        f"Its runs pass and had nothing to publish, last run {last} at 2026-08-04T15:00:00.000Z."
    )


def test_a_row_value_in_a_runs_error_stays_out_of_the_notice(lake, watch):
    lake.register("scored")
    lake.published("scored", NOON)
    lake.ended("scored", "FAIL", NOON + hours(2), reason="""The value 'DE8937' of the type "STRING" cannot be cast""")
    watch.look(NOON + hours(5))
    assert """The value … of the type "STRING" cannot be cast""" in lake.told[0]["text"]


def test_what_cannot_be_judged_or_told_stops_nothing_and_is_made_up_for(lake, watch, monkeypatch):
    for table in ("broken", "scored"):
        lake.register(table, "P1M" if table == "broken" else "PT4H")
        lake.published(table, NOON)
    lake.mailbox.mkdir()
    report = watch.look(NOON + hours(5))
    assert standings(report) == {"scored": "late"}
    first, second = report.problems
    assert first.startswith(f"{lake.database}.broken: the table Parameter cordata.freshness_sla: 'P1M' is not an ISO")
    assert second.startswith(f"{lake.database}.scored: {OWNER} was not told: ")
    lake.mailbox.rmdir()
    watch.look(NOON + hours(6))
    watch.look(NOON + hours(7))
    assert lake.told_of == ["scored is late"]


def test_a_resource_link_and_a_table_without_a_promise_are_no_products(lake, watch):
    lake.register("plain", **{"cordata.freshness_sla": None})
    lake.glue.create_table(
        DatabaseName=lake.database,
        TableInput={
            "Name": "link",
            "Parameters": {"cordata.freshness_sla": "PT1H", "cordata.domain": lake.domain},
            "TargetTable": {"CatalogId": "222233334444", "DatabaseName": "x", "Name": "y"},
        },
    )
    assert watch.look(NOON).products == ()


def test_the_command_says_how_each_product_stands_and_ends_with_what_that_means(lake, command, capsys):
    assert command() == 0
    assert capsys.readouterr().out == "no product promises a freshness\n"

    now = datetime.now(UTC)
    lake.register("scored")
    run_id = lake.published("scored", now - hours(1))
    assert command() == 0
    out = capsys.readouterr().out
    assert out.startswith(f"fresh {lake.database}.scored: published 1 h ")
    assert f"(run {run_id}); its contract promises PT4H\n" in out

    lake.published("scored", now - hours(5))
    assert command("--only-look") == 1
    assert capsys.readouterr().out.startswith(f"late  {lake.database}.scored: published 5 h ")
    assert lake.told == []
    assert lake.store.keys("freshness/")[-1].endswith("/published.json"), "only looking notes no breach"
    assert command() == 1
    assert f"      {OWNER} → {lake.mailbox}\n" in capsys.readouterr().out

    lake.register("scored", "soon")
    assert command() == 2
    assert "cordata.freshness_sla: 'soon' is not an ISO 8601 duration" in capsys.readouterr().err


def test_the_command_knows_what_a_domain_declares_and_has_never_published(lake, command, capsys, tmp_path):
    sample = Path(__file__).resolve().parents[2] / "domains" / "fraud" / "pipelines" / "transactions_scored.yml"
    own = sample.read_text("utf-8").replace("domain: fraud", f"domain: {lake.domain}")
    (tmp_path / "pipelines").mkdir()
    (tmp_path / "pipelines" / sample.name).write_text(own.replace("fraud_curated", lake.database), "utf-8")
    assert command("--only-look", str(tmp_path)) == 0
    assert f"new   {lake.database}.transactions_scored: never published, known for 0 s; " in capsys.readouterr().out
    assert command(str(tmp_path / "nothing")) == 2


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        ("CORDATA_EVIDENCE", "", "CORDATA_EVIDENCE is not set"),
        ("CORDATA_OWNER_FILE", "", None),
        ("CORDATA_OWNER_TOPIC", "owners", "are both set"),
        ("CORDATA_FRESHNESS_PRODUCTS", '[{"database": "x"}]', "is no JSON list of objects with database, table,"),
        ("CORDATA_FRESHNESS_PRODUCTS", "{}", "is no JSON list of objects with database, table,"),
    ],
)
def test_a_setting_that_cannot_work_is_named(lake, command, capsys, monkeypatch, variable, value, message):
    monkeypatch.setenv(variable, value)
    assert command() == (0 if message is None else 2)
    assert (message or "") in capsys.readouterr().err


def test_a_metric_is_embedded_as_cloudwatch_reads_it(lake, watch):
    lake.register("scored")
    lake.register("unpublished")
    lake.published("scored", NOON)
    lake.ended("scored", "FAIL", NOON + hours(2), reason="no answer")
    scored, unpublished = (metric_line(each.found, each.told) for each in watch.look(NOON + hours(5)).products)
    for line in (scored, unpublished):
        (directive,) = line["_aws"]["CloudWatchMetrics"]
        assert line["_aws"]["Timestamp"] == int((NOON + hours(5)).timestamp() * 1000)
        assert directive["Namespace"] == "Cordata/Freshness"
        assert directive["Dimensions"] == [["domain"], ["domain", "product"]]
        named = {metric["Name"]: metric["Unit"] for metric in directive["Metrics"]}
        assert all(isinstance(line[name], int | float) for name in named)
        assert all(isinstance(line[name], str) for name in ("domain", "product"))
        assert len(json.dumps(line)) < 200_000
    assert (scored["Late"], scored["Age"], scored["Allowed"], scored["Blocked"]) == (1, 18_000, 14_400, 1)
    assert (unpublished["NeverPublished"], "Age" in unpublished) == (1, False)
    assert scored["told"] == str(lake.mailbox)


def test_the_function_writes_a_line_a_product_and_answers_what_it_found(lake, command, capsys):
    now = datetime.now(UTC)
    lake.register("scored")
    lake.published("scored", now - hours(5))
    answer = function.handler({"detail-type": "Scheduled Event"}, None)
    assert answer == {"products": [{"product": f"{lake.database}.scored", "standing": "late", "told": True}]}
    (line,) = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert (line["standing"], line["Late"], line["domain"]) == ("late", 1, lake.domain)
    assert function.handler({}, None)["products"][0]["told"] is False


def test_the_function_fails_at_its_end_where_something_could_not_be_judged(lake, command, capsys):
    lake.register("broken", "P1M")
    lake.register("scored", "PT4H")
    lake.published("scored", datetime.now(UTC))
    with pytest.raises(function.FreshnessFailed, match="'P1M' is not an ISO 8601 duration"):
        function.handler({}, None)
    assert json.loads(capsys.readouterr().out)["standing"] == "fresh"


def test_the_function_needs_boto3_and_nothing_that_an_engine_or_a_descriptor_needs():
    code = (
        "import sys\n"
        "for name in ('pydantic', 'yaml', 'pyspark', 'openlineage', 'great_expectations', 'sqlglot', 'attr'):\n"
        "    sys.modules[name] = None\n"
        "import pipeline_runtime.freshness.handler\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)


@pytest.mark.parametrize(
    ("span", "shown"),
    [
        (timedelta(), "0 s"),
        (timedelta(seconds=59.9), "59 s"),
        (timedelta(minutes=5, seconds=2), "5 min 2 s"),
        (timedelta(hours=6, minutes=12, seconds=59), "6 h 12 min"),
        (timedelta(hours=6, seconds=59), "6 h"),
        (timedelta(days=3, minutes=4), "3 d"),
        (timedelta(days=40, hours=4), "40 d 4 h"),
    ],
)
def test_a_length_of_time_is_shown_in_its_two_largest_units(span, shown):
    assert shown_time(span) == shown
