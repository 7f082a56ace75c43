"""A run that could not say how it ended: the closer does, once, and what it says is what the catalog shows."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from lab import Lab, Outcome

from pipeline_runtime.closer import handler as closer
from pipeline_runtime.errors import WriteFailed
from pipeline_runtime.evidence.runs import EventKind, RunEvidence
from pipeline_runtime.evidence.store import open_store
from pipeline_runtime.job_run_ids import run_id_of_job_run
from pipeline_runtime.reporter import Reporter
from pipeline_runtime.writers import iceberg

pytestmark = pytest.mark.spark


class Domain:
    """A lab whose runs are those of a Glue job, with the closer beside it."""

    def __init__(self, lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
        self.lab, self._monkeypatch = lab, monkeypatch
        self.job = f"job-{uuid.uuid4().hex[:8]}"
        self.glue = lab.client("glue")
        self.glue.create_job(
            Name=self.job, Role="r", Command={"Name": "glueetl"}, ExecutionProperty={"MaxConcurrentRuns": 100}
        )
        for key, value in {
            **lab.environ,
            "CORDATA_CLOSER_JOBS": self.job,
            "CORDATA_CLOSER_GRACE_SECONDS": "0",
        }.items():
            monkeypatch.setenv(key, value)
        closer._connected.cache_clear()

    def lost(self, *, published: bool) -> str:
        """A run that is killed before or after its publishing commit, so without a word; its id."""
        run_id = str(uuid.uuid4())
        with self._monkeypatch.context() as patch:
            patch.setattr(Reporter, "ended", lambda *_: 1)
            if not published:

                def refused(*_: Any) -> None:
                    raise WriteFailed("killed here")

                patch.setattr(iceberg, "advance_main", refused)
            self.lab.run(run_id)
        return run_id

    def job_run(self, state: str, run_id: str | None = None) -> dict[str, Any]:
        """Glue's event about a job run in that state, which Glue confirms."""
        arguments = {"--fake-state": state} | ({"--run-id": run_id} if run_id else {})
        started = self.glue.start_job_run(JobName=self.job, Arguments=arguments)
        return {
            "detail-type": "Glue Job State Change",
            "time": "2026-08-04T09:00:00Z",
            "detail": {"jobName": self.job, "jobRunId": started["JobRunId"], "state": state},
        }

    def accepted(self, run_id: str) -> list[str]:
        """The types of the run's events that DataZone took, each once, START first."""
        found = [json.loads(event["body"]) for event in fake_events(self.lab)]
        return [event["eventType"] for event in found if event["run"]["runId"] == run_id]

    def terminal(self, run_id: str) -> dict[str, Any]:
        return self.lab.outcome(run_id, 0, "").terminal


def fake_events(lab: Lab) -> list[dict[str, Any]]:
    import urllib.request

    with urllib.request.urlopen(f"{lab.aws.endpoint}/fake/events") as answer:
        found: list[dict[str, Any]] = json.load(answer)
    return found


@pytest.fixture
def domain(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> Domain:
    return Domain(lab, monkeypatch)


@pytest.mark.parametrize(("state", "event_type"), [("FAILED", "FAIL"), ("TIMEOUT", "FAIL"), ("STOPPED", "ABORT")])
def test_a_lost_run_that_published_nothing_failed_or_was_aborted_with_the_reason(domain, state, event_type):
    run_id = domain.lost(published=False)
    assert domain.accepted(run_id) == ["START"]

    said = [closer.handler(event, None)["runs"][0]["action"] for event in [domain.job_run(state, run_id)] * 2]

    assert said == [event_type, "deliver"]
    assert domain.accepted(run_id) == ["START", event_type]
    event = domain.terminal(run_id)
    assert (event["inputs"], event["outputs"]) == ([], [])
    start = domain.lab.outcome(run_id, 0, "").stored["start"]
    assert (event["job"], event["producer"]) == (start["job"], start["producer"])
    facets = event["run"]["facets"]
    assert facets.pop("errorMessage")["message"].startswith(
        f"the job run ended as {state}, and nothing was published. The run itself did not say how it ended"
    )
    assert facets == start["run"]["facets"]
    assert domain.lab.definition() is None


def test_a_lost_run_that_published_is_complete_as_it_would_have_said_itself(domain):
    said_itself = domain.lab.run()
    run_id = domain.lost(published=True)

    closer.handler({"sweep": True}, None)
    assert domain.accepted(run_id) == ["START"], "no job run tells of it yet"
    domain.job_run("FAILED", run_id)
    first, second = (closer.handler({"sweep": True}, None)["runs"][0] for _ in range(2))

    assert (first["action"], second["action"]) == ("COMPLETE", "deliver")
    assert domain.accepted(run_id) == ["START", "COMPLETE", "OTHER"]
    output = domain.terminal(run_id)["outputs"][0]
    own = said_itself.terminal["outputs"][0]
    assert (output["name"], output["facets"]["tags"], output["facets"]["schema"]) == (
        own["name"],
        own["facets"]["tags"],
        own["facets"]["schema"],
    )
    assert output["outputFacets"]["outputStatistics"]["rowCount"] == 3
    assert output["outputFacets"]["cordata_publish"]["snapshot_id"] == snapshot_of_main(domain.lab)


def snapshot_of_main(lab: Lab) -> int:
    name = f"glue_catalog.{lab.curated}.payments_scored"
    lab.spark.sql(f"REFRESH TABLE {name}")
    return int(lab.spark.sql(f"SELECT snapshot_id FROM {name}.refs WHERE name = 'main'").first().snapshot_id)


def test_a_lost_parquet_run_is_complete_where_the_table_names_it_and_failed_where_not(domain, monkeypatch):
    domain.lab.change_descriptor("kind: iceberg", "kind: parquet")
    published = domain.lost(published=True)
    with monkeypatch.context() as patch:
        patch.setattr("pipeline_runtime.publish.assign_tags", refuse(WriteFailed("killed here")))
        staged = domain.lost(published=True)

    for run_id in (published, staged):
        closer.handler(domain.job_run("FAILED", run_id), None)

    assert domain.accepted(published) == ["START", "COMPLETE", "OTHER"]
    assert domain.accepted(staged) == ["START", "FAIL"]


def refuse(error: BaseException) -> Callable[..., Any]:
    def raising(*_: Any, **__: Any) -> Any:
        raise error

    return raising


def test_with_the_adapter_down_the_word_of_a_run_that_succeeded_stays_its_own_and_is_replayed_once(domain, monkeypatch):
    heard_by = domain.lab.environ["CORDATA_LINEAGE_URL"]
    down = {"CORDATA_LINEAGE_URL": "http://127.0.0.1:9/lineage", "CORDATA_LINEAGE_AUTH": "none"}
    auth = domain.lab.environ.get("CORDATA_LINEAGE_AUTH", "none")
    domain.lab.environ |= down
    outcome = domain.lab.run()
    assert outcome.code == 0, outcome.trace
    for key, value in down.items():
        monkeypatch.setenv(key, value)
    closer._connected.cache_clear()

    said = closer.handler(domain.job_run("SUCCEEDED", outcome.run_id), None)["runs"][0]

    assert said["action"] == "deliver"
    assert [problem.partition(":")[0] for problem in said["undelivered"]] == ["START", "TERMINAL", "OTHER"]
    replay(domain.lab, outcome, heard_by, auth)
    assert domain.accepted(outcome.run_id) == ["START", "COMPLETE", "OTHER"]
    monkeypatch.setenv("CORDATA_LINEAGE_URL", heard_by)
    monkeypatch.setenv("CORDATA_LINEAGE_AUTH", auth)
    closer._connected.cache_clear()
    closer.handler({"sweep": True}, None)
    assert domain.accepted(outcome.run_id) == ["START", "COMPLETE", "OTHER"]


def replay(lab: Lab, outcome: Outcome, url: str, auth: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pipeline_runtime", "replay", outcome.run_id],
        env={**os.environ, **lab.environ, "CORDATA_LINEAGE_URL": url, "CORDATA_LINEAGE_AUTH": auth},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_run_that_was_closed_from_outside_publishes_nothing_any_more(domain, monkeypatch):
    from pipeline_runtime import run as story

    run_id, judged = str(uuid.uuid4()), story._judge

    def closed_meanwhile(*arguments: Any) -> None:
        judged(*arguments)
        closer.handler(domain.job_run("STOPPED", run_id), None)

    monkeypatch.setattr(story, "_judge", closed_meanwhile)

    outcome = domain.lab.run(run_id)

    assert outcome.code == 1
    assert "the run was closed from outside" in outcome.trace
    assert outcome.terminal["eventType"] == "ABORT"
    assert domain.accepted(run_id) == ["START", "ABORT", "OTHER"]
    assert domain.lab.definition() is None


def test_a_run_that_is_refused_before_any_event_is_known_to_have_been(domain, capsys):
    (domain.lab.root / "pipelines/payments_scored.yml").write_text("kind: nothing\n")
    event = domain.job_run("FAILED")
    run_id = run_id_of_job_run(event["detail"]["jobRunId"])
    done = subprocess.run(
        domain.lab.command(run_id),
        env={**os.environ, **domain.lab.environ},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2, done.stderr

    said = closer.handler(event, None)["runs"][0]

    assert (said["runId"], said["action"], said["reason"]) == (run_id, "silent", "it was refused before it began")
    kept = RunEvidence(open_store(str(domain.lab.evidence), lambda: None), run_id)
    assert "payments_scored.yml" in kept.refused()
    assert kept.event(EventKind.TERMINAL) is None
    assert domain.accepted(run_id) == []
