"""kill -9 of the driver at any moment: the product is old or new, the run ends with one word, the next run is clean.

`make kill-trials` runs all of it and prints a line a trial; KILL_TRIALS and KILL_SEED choose how many trials of each
kind and which moments.
"""

from __future__ import annotations

import json
import os
import random
import secrets
import sys
import threading
import time
import urllib.request
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from lab import Lab
from severed import Moment, Relay, relayed, run_killed

from pipeline_runtime.cli.replay import main as replay
from pipeline_runtime.closer import handler as closer
from tests.witness import iceberg_branches, iceberg_rows, keys_below, parquet_rows, strays_of_iceberg

pytestmark = pytest.mark.spark

#: Day → ids: what a reader sees of a product.
Shown = dict[str, list[int]]
DAYS = ("2026-08-01", "2026-08-02")
MODES = ("event", "duplicated", "early", "late", "missing", "replayed")
TERMINAL = ("COMPLETE", "FAIL", "ABORT")


@dataclass
class Trial:
    """What one kill did."""

    kind: str
    mode: str
    where: str
    found: str
    event: str
    seconds: float = 0.0

    def __str__(self) -> str:
        return f"{self.kind:8} {self.mode:10} {self.found:6} {self.event:9} {self.seconds:5.1f} s  killed {self.where}"


class Ground:
    """A product, read by a witness; its runs go through the relay, its evidence is on S3, a Glue job starts it."""

    def __init__(self, lab: Lab, kind: str, relay: Relay, conf: Path) -> None:
        self.lab, self.kind, self.relay = lab, kind, relay
        self.glue, self.s3 = lab.client("glue"), lab.client("s3")
        self.job = f"job-{uuid.uuid4().hex[:8]}"
        self.glue.create_job(
            Name=self.job, Role="r", Command={"Name": "glueetl"}, ExecutionProperty={"MaxConcurrentRuns": 1000}
        )
        lab.environ["CORDATA_EVIDENCE"] = f"s3://{lab.bucket}/evidence"
        if kind == "parquet":
            lab.change_descriptor("kind: iceberg", "kind: parquet")
        self._environ = {
            **lab.process_environ(conf),
            "AWS_ENDPOINT_URL": relay.aws,
            "CORDATA_LINEAGE_URL": relay.lineage,
        }
        self._batches = 0

    def load(self) -> Shown:
        """A new batch at the source, one row a day; returns what it makes of the days it touches."""
        self._batches += 1
        first = self._batches * 10
        self.lab.load([(first + n, "10.00", "settled", day) for n, day in enumerate(DAYS)])
        return {day: [first + n] for n, day in enumerate(DAYS)}

    def shown(self) -> Shown:
        """What a reader of the catalog sees now."""
        database, table = self.lab.curated, "payments_scored"
        if self.kind == "iceberg":
            days: Shown = {}
            for row in iceberg_rows(self.glue, database, table) or ():
                days.setdefault(str(row["day"]), []).append(row["id"])
            return {day: sorted(ids) for day, ids in days.items()}
        found = parquet_rows(self.glue, self.s3, database, table) or {}
        return {day: sorted(row["id"] for row in rows) for (day,), rows in found.items()}

    def drop(self) -> None:
        """No product: the next run is a first one."""
        self.glue.delete_table(DatabaseName=self.lab.curated, Name="payments_scored")
        for key in keys_below(self.s3, self.lab.bucket, "payments_scored"):
            self.s3.delete_object(Bucket=self.lab.bucket, Key=key)

    def killed(self, run_id: str, moment: Moment | None) -> tuple[int, str]:
        return run_killed(self.relay, self.lab.command(run_id), self._environ, moment)

    def evidence(self, prefix: str) -> list[str]:
        return keys_below(self.s3, self.lab.bucket, f"evidence/{prefix}")

    def kept(self, run_id: str, name: str) -> bool:
        return f"evidence/runs/{run_id}/{name}" in self.evidence(f"runs/{run_id}")

    def is_switching(self) -> bool:
        """Whether a parquet switch was announced and not settled."""
        bodies = (self.s3.get_object(Bucket=self.lab.bucket, Key=key)["Body"] for key in self.evidence("journals"))
        return any(json.loads(body.read())["state"] == "switching" for body in bodies)

    def event(self, state: str, run_id: str) -> dict[str, Any]:
        """Glue's event about a job run of that run, which Glue confirms."""
        arguments = {"--fake-state": state, "--run-id": run_id}
        started = self.glue.start_job_run(JobName=self.job, Arguments=arguments)
        detail = {"jobName": self.job, "jobRunId": started["JobRunId"], "state": state}
        return {"detail-type": "Glue Job State Change", "time": "2026-08-04T09:00:00Z", "detail": detail}

    def accepted(self, run_id: str) -> list[str]:
        """The types of the run's events that DataZone took."""
        with urllib.request.urlopen(f"{self.lab.aws.endpoint}/fake/events") as answer:
            found = [json.loads(each["body"]) for each in json.load(answer)]
        return [event["eventType"] for event in found if event["run"]["runId"] == run_id]

    def strays(self) -> list[str]:
        """What a clean run leaves nothing of: branches, records, and files that nothing shows or remembers."""
        left = [*self.evidence("audits"), *self.evidence("journals")]
        database, table = self.lab.curated, "payments_scored"
        if self.kind == "iceberg":
            branches = iceberg_branches(self.glue, database, table) - {"main"}
            return [*left, *branches, *strays_of_iceberg(self.glue, self.s3, database, table)]
        pages = self.glue.get_paginator("get_partitions").paginate(DatabaseName=database, TableName=table)
        held = {each["StorageDescriptor"]["Location"] for page in pages for each in page["Partitions"]}
        for key in self.evidence("superseded"):
            record = json.loads(self.s3.get_object(Bucket=self.lab.bucket, Key=key)["Body"].read())
            held |= {each["location"] for each in record["superseded"]}
        files = (f"s3://{self.lab.bucket}/{key}" for key in keys_below(self.s3, self.lab.bucket, "payments_scored"))
        return [*left, *(file for file in files if file.rpartition("/")[0] not in held)]


@pytest.fixture
def prepare(
    lab: Lab, spark_conf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[str], Ground]]:
    """Makes the ground of a kind of target: a product that is published, and the closer's environment."""
    with relayed(lab.aws.endpoint, lab.environ["CORDATA_LINEAGE_URL"]) as relay:
        conf = tmp_path / "spark-conf"
        conf.mkdir()
        text = (spark_conf / "spark-defaults.conf").read_text().replace(lab.aws.endpoint, relay.aws)
        (conf / "spark-defaults.conf").write_text(text)

        def prepared(kind: str) -> Ground:
            ground = Ground(lab, kind, relay, conf)
            settings = {"CORDATA_CLOSER_JOBS": ground.job, "CORDATA_CLOSER_GRACE_SECONDS": "0"}
            for key, value in {**lab.environ, **settings}.items():
                monkeypatch.setenv(key, value)
            closer._connected.cache_clear()
            return ground

        yield prepared
    closer._connected.cache_clear()


def try_to_kill(ground: Ground, moment: Moment, mode: str, state: str) -> Trial:
    """One kill, what a reader sees then, who closes the run and how, and the next run."""
    started_at = time.monotonic()
    old, batch = ground.shown(), ground.load()
    new = {**old, **batch}
    run_id = str(uuid.uuid4())
    if mode == "early":
        alive = ground.event("RUNNING", run_id)
        threading.Timer(8, lambda: closer.handler(alive, None)).start()

    code, said = ground.killed(run_id, moment)
    said = "\n".join(line for line in said.splitlines() if line.startswith(("[", "       ")))  # the run's own trace

    state = state if code == -9 else "SUCCEEDED"
    found = ground.shown()
    if ground.kind == "iceberg":
        assert found in (old, new), f"{found} is neither {old} nor {new}"
    else:
        assert all(found.get(day) in (old.get(day), new.get(day)) for day in new), f"{found}: {old} or {new}"
    how = "new" if found == new else "old" if found == old else "partly"
    is_published = how != "old" or (mode == "late" and ground.is_switching())
    began = ground.kept(run_id, "start.json")
    if mode == "late":
        assert_next_run_is_clean(ground, new)
    close(ground, mode, state, run_id)

    events = ground.accepted(run_id)
    ended = [event for event in events if event in TERMINAL]
    if not began:
        assert events == [], "it never began"
    else:
        assert len(ended) == 1, f"{events} after {said}"
        assert (ended[0] == "COMPLETE") == is_published, f"{ended} where the catalog shows {how}\n{said}"
        assert ended[0] != "ABORT" or state == "STOPPED"
    if mode != "late":
        assert ground.shown() == (new if is_published else old)
        assert_next_run_is_clean(ground, new)
    assert ground.accepted(run_id) == events, "nothing is added later"
    where = ground.relay.killed_at or "never: it came to its end"
    return Trial(ground.kind, mode, where, how, *(ended or ["no event"]), seconds=time.monotonic() - started_at)


def assert_next_run_is_clean(ground: Ground, new: Shown) -> None:
    again = ground.lab.run()
    assert again.code == 0, again.trace
    assert ground.shown() == new
    assert ground.strays() == []


def close(ground: Ground, mode: str, state: str, run_id: str) -> None:
    """What there is of Glue's event, and who else is at work."""
    event = ground.event(state, run_id)
    match mode:
        case "missing":
            closer.handler({"sweep": True}, None)
        case "duplicated":
            at_once(*[lambda: closer.handler(event, None)] * 3)
        case "replayed":
            at_once(lambda: closer.handler(event, None), lambda: replay([run_id]))
        case _:
            closer.handler(event, None)


def at_once(*calls: Callable[[], Any]) -> None:
    failed: list[BaseException] = []

    def guarded(call: Callable[[], Any]) -> None:
        try:
            call()
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=guarded, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []


@pytest.mark.parametrize(
    ("kind", "moment", "mode", "found", "event"),
    [
        ("iceberg", Moment(1, True, "/staged.json"), "duplicated", "old", "FAIL"),
        ("parquet", Moment(1, True, "glue.BatchUpdatePartition"), "event", "new", "COMPLETE"),
    ],
    ids=["iceberg", "parquet"],
)
def test_a_run_that_is_killed_leaves_old_or_new_one_terminal_event_and_no_stray(
    prepare, kind, moment, mode, found, event
):
    ground = prepare(kind)
    assert ground.lab.run().code == 0

    trial = try_to_kill(ground, moment, mode, "FAILED")

    assert (trial.found, trial.event) == (found, event), trial


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["iceberg", "parquet"])
def test_at_whatever_moment_a_run_is_killed(prepare, kind, capsys):
    seed = int(os.environ.get("KILL_SEED") or secrets.randbelow(1_000_000))
    trials = int(os.environ.get("KILL_TRIALS") or 25)
    chosen = random.Random(f"{seed}-{kind}")
    ground = prepare(kind)
    for _ in range(2):  # The first one creates the table; most of the trials replace what is there.
        code, said = ground.killed(str(uuid.uuid4()), None)
        assert code == 0, said
    last = len(ground.relay.requests)
    announced = next(n for n, each in enumerate(ground.relay.requests, 1) if "/staged.json" in each)
    say = Printer(capsys)
    say(f"\n{kind}: {trials} kills among the {last} requests of a run, which publishes from {announced} on")
    say(f"KILL_SEED={seed}")
    done: list[Trial] = []
    for number in range(trials):
        if number % 5 == 4:
            ground.drop()
        # Every other one from where it counts: what is published, registered and said lies behind the announcement.
        moment = Moment(chosen.randint(announced - 3 if number % 2 else 1, last), chosen.random() < 0.5)
        mode = MODES[number % len(MODES)]
        try:
            trial = try_to_kill(ground, moment, mode, chosen.choice(["FAILED", "TIMEOUT", "STOPPED"]))
        except AssertionError as error:
            raise AssertionError(f"trial {number + 1}, {mode}, {moment} ({ground.relay.killed_at}): {error}") from error
        done.append(trial)
        say(f"{number + 1:3} {trial}")
    ended = {event: sum(trial.event == event for trial in done) for event in (*TERMINAL, "no event")}
    say(f"{kind}: {len(done)} of {trials} hold, {ended}, {sum(trial.seconds for trial in done):.0f} s")


class Printer:
    """Writes a line to the terminal as it happens."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, line: str) -> None:
        with self._capsys.disabled():
            sys.stdout.write(line + "\n")
            sys.stdout.flush()
