"""A week of twenty products that depend on one another, made after an outage, with what goes wrong in such a week.

All runs are real: the job's script, Spark with its listener, the adapter, DataZone's stand-in. One driver process makes
them one after the other (see `glue_driver.py`): there a run is four seconds of work, and in a JVM of its own twenty.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from estate import DAYS, FINAL, PRODUCTS, SUNDAY, SYSTEMS, Made
from glue_front import Start
from week import Week, deployed_week
from week_lake import ACCOUNT, ROWS, arn

from pipeline_runtime.closer import handler as closer
from pipeline_runtime.scheduling.products import find_products, makers_first
from tests.witness import iceberg_rows

pytestmark = [pytest.mark.spark, pytest.mark.slow]

BY_NAME = {made.name: made for made in PRODUCTS}
PATHS = tuple(made.path for made in PRODUCTS)
KILLED, DRIFTED = BY_NAME["payments_scored"], BY_NAME["claims_clean"]
#: The day in the middle of the week on which both go wrong, and how many days are before it.
THURSDAY, BEFORE = DAYS[len(DAYS) // 2], len(DAYS) // 2
WEEK = f"every P1D: {len(DAYS)} periods: "
#: Runs of Spark that publish, runs that do not, and batches of replications.
PUBLISHED = len(PRODUCTS) * (1 + len(DAYS))
FAILED = 1 + len(DAYS) - BEFORE
BATCHES = len(SYSTEMS) * (1 + len(DAYS))


@pytest.fixture(scope="module")
def week(tmp_path_factory: pytest.TempPathFactory, jars: list[Path]) -> Iterator[Week]:
    """Everything is deployed, and every product was made for Sunday; its source is pinned as it was then."""
    with deployed_week(tmp_path_factory.mktemp("week"), jars) as week:
        for system in SYSTEMS:
            week.ingest(system, SUNDAY)
        for product in makers_first(find_products(week.top)):
            week.pin(BY_NAME[Path(product.path).stem])
            done = week.backfill(product.path, start=SUNDAY, end=DAYS[0])
            assert done.code == 0, done.said
        yield week


def test_a_week_with_a_killed_run_and_a_drift_is_made_by_one_command_again_and_again(week: Week) -> None:
    for day in DAYS:
        for system in SYSTEMS:
            week.ingest(system, day)
    week.runner.before += [once(KILLED, lambda: kill_in_the_middle(week)), once(DRIFTED, lambda: add_column(week))]

    first = week.backfill(*PATHS)

    assert first.code == 1
    assert outcome(first.said, KILLED) == f"{len(DAYS) - 1} published, 1 failed"
    assert outcome(first.said, DRIFTED) == f"{BEFORE} published, {len(DAYS) - BEFORE} failed"
    # Each batch has named its run on the landing table, which is a version.
    assert f"{DRIFTED.source} is at v{len(DAYS) + 2}, descriptor pins v1" in first.said
    left_out = below(KILLED) | below(DRIFTED)
    assert {made for made in PRODUCTS if f"{made.pipeline} not started: periods of {made.source}" in first.said} == (
        left_out
    )
    assert not any(job in {made.name for made in left_out} for job, day in job_runs(week) if day != SUNDAY)
    drifted = [start for start in week.runner.front.starts if start.job == DRIFTED.name]
    for start in drifted[-(len(DAYS) - BEFORE) :]:
        assert "FAILED SchemaDrift: + channel (string" in week.runner.log_of(start.id)
        assert " read " not in week.runner.log_of(start.id)

    assert "+ channel (string" in week.pin(DRIFTED)
    second = week.backfill(*PATHS)

    assert second.code == 0, second.said
    assert outcome(second.said, KILLED) == f"{len(DAYS)} published ({len(DAYS) - 1} of them before)"
    assert outcome(second.said, DRIFTED) == f"{len(DAYS)} published ({BEFORE} of them before)"
    runs = Counter((made.name, day) for made in PRODUCTS for day in (SUNDAY, *DAYS))
    runs.update([(KILLED.name, THURSDAY), *((DRIFTED.name, day) for day in DAYS[BEFORE:])])
    assert job_runs(week) == runs

    third = week.backfill(*PATHS)

    assert third.code == 0
    assert {outcome(third.said, made) for made in PRODUCTS} == {f"{len(DAYS)} published ({len(DAYS)} of them before)"}
    assert job_runs(week) == runs, "nothing was left to run"
    closer.handler({"sweep": True}, None)
    every_run_has_one_terminal_event(week)
    the_graph_leads_from_the_source_systems_to_every_product(week)
    each_owner_was_told_once(week)
    rows = iceberg_rows(week.cloud.client("glue"), "finance_curated", FINAL.name) or []
    assert sorted((str(row["day"]), int(row["amount"]), row["bookings"]) for row in rows) == [
        (day, sum(10 * (n + 1) for n in range(batch * ROWS, batch * ROWS + ROWS)), ROWS)
        for batch, day in enumerate((SUNDAY, *DAYS))
    ]


def every_run_has_one_terminal_event(week: Week) -> None:
    kept = {kind: week.kept(kind) for kind in ("start", "terminal")}
    assert len(kept["start"]) == PUBLISHED + FAILED + BATCHES
    assert kept["start"].keys() == kept["terminal"].keys()
    told = [(event["run"]["runId"], event["eventType"]) for event in week.accepted()]
    assert sorted(run for run, kind in told if kind == "START") == sorted(kept["start"])
    ended = sorted((run, kind) for run, kind in told if kind in ("COMPLETE", "FAIL", "ABORT"))
    assert ended == sorted((run, event["eventType"]) for run, event in kept["terminal"].items())
    assert Counter(kind for _, kind in ended) == {"COMPLETE": PUBLISHED + BATCHES, "FAIL": FAILED}


def the_graph_leads_from_the_source_systems_to_every_product(week: Week) -> None:
    sources = {made.target: made.source for made in PRODUCTS}
    for made in PRODUCTS:
        upstream = week.upstream(arn(made.target))
        landing = made.source
        while landing in sources:
            assert arn(landing) in upstream
            landing = sources[landing]
        database = landing.partition(".")[0]
        for system in SYSTEMS:
            # A batch is one run, so the graph has all of its tables above each; which is which is in its facets.
            tables = {f"postgres://{system.host}:5432/{system.database}.public.{each}" for each in system.tables}
            assert upstream & tables == (tables if system.landing == database else set())
    assert "postgres://cards-db.example.org:5432/cards.public.payment" in week.upstream(arn(FINAL.target))


def each_owner_was_told_once(week: Week) -> None:
    letters = week.letters()
    assert [letter["Subject"] for letter in letters["policy"]] == ["claims-clean: run failed, SchemaDrift"]
    assert [letter["Subject"] for letter in letters["fraud"]] == ["payments-scored: run failed"]
    assert letters["finance"] == []
    assert len(letters["everyone"]) == 2
    assert "channel" in letters["policy"][0]["Message"]
    assert "the driver was killed" in letters["fraud"][0]["Message"]


def outcome(said: str, made: Made) -> str:
    """What a backfill says of one of its products, in a few words."""
    [line] = [line for line in said.splitlines() if line.startswith(f"{made.pipeline} from ")]
    return line.partition(WEEK)[2]


def job_runs(week: Week) -> Counter[tuple[str, str]]:
    """How many job runs each product had for each nominal day."""
    return Counter((start.job, start.arguments["--nominal-time"][:10]) for start in week.runner.front.starts)


def below(made: Made) -> set[Made]:
    """What is made of a product, directly or not."""
    found = {each for each in PRODUCTS if each.source == made.target}
    return found.union(*map(below, found))


def once(made: Made, act: Callable[[], None]) -> Callable[[Start], None]:
    """Acts before the product's first run for Thursday."""
    left = [act]

    def before(start: Start) -> None:
        if start.job == made.name and start.arguments["--nominal-time"].startswith(THURSDAY) and left:
            left.pop()()

    return before


def kill_in_the_middle(week: Week) -> None:
    """kill -9 of the driver as soon as it has begun to stage its batch."""

    def wait_and_kill() -> None:
        deadline = time.monotonic() + 300
        while not week.evidence_holds(f"audits/{ACCOUNT}/{KILLED.target}/"):
            assert time.monotonic() < deadline, "no batch is staged"
            time.sleep(0.02)
        week.runner.kill_driver()

    threading.Thread(target=wait_and_kill, daemon=True).start()


def add_column(week: Week) -> None:
    """The source gets a column that no pin knows."""
    glue = week.cloud.client("glue")
    database, _, name = DRIFTED.source.partition(".")
    table = glue.get_table(DatabaseName=database, Name=name)["Table"]
    storage = table["StorageDescriptor"]
    columns = [*storage["Columns"], {"Name": "channel", "Type": "string"}]
    changed = {"Name": name, "Parameters": table["Parameters"], "StorageDescriptor": {**storage, "Columns": columns}}
    glue.update_table(DatabaseName=database, TableInput=changed)
