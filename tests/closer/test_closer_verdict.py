"""The closer's judgement: what evidence, catalog and Glue show decides, and nothing is said twice."""

from __future__ import annotations

import itertools

import pytest

from pipeline_runtime.closer.verdict import Action, Seen, judge

STATES = ("SUCCEEDED", "FAILED", "TIMEOUT", "STOPPED", "ERROR", "EXPIRED")
STARTED = Seen(started=True)
STAGED = Seen(started=True, announced=True, foreseen=True)
PUBLISHED = Seen(started=True, announced=True, foreseen=True, published=True)


def action(seen: Seen, state: str = "FAILED", *, has_ended: bool = True, is_fresh: bool = False) -> Action:
    return judge(seen, state, has_ended=has_ended, is_fresh=is_fresh).action


@pytest.mark.parametrize("state", STATES)
def test_what_the_catalog_shows_is_complete_whatever_glue_says_of_the_job_run(state: str) -> None:
    assert action(PUBLISHED, state) is Action.COMPLETE


@pytest.mark.parametrize("seen", [STARTED, STAGED], ids=["before staging", "staged"])
@pytest.mark.parametrize("state", STATES)
def test_where_nothing_was_published_the_run_failed_and_a_stopped_one_was_aborted(state: str, seen: Seen) -> None:
    verdict = judge(seen, state, has_ended=True, is_fresh=False)

    assert verdict.action is (Action.ABORT if state == "STOPPED" else Action.FAIL)
    assert verdict.reason == f"the job run ended as {state}, and nothing was published"


def test_an_empty_output_is_complete_only_where_the_job_run_came_to_its_end() -> None:
    empty = Seen(started=True, foreseen=True)

    assert action(empty, "SUCCEEDED") is Action.COMPLETE
    assert action(empty, "FAILED") is Action.FAIL


@pytest.mark.parametrize("seen", [STARTED, STAGED, PUBLISHED])
def test_a_run_that_may_be_alive_is_not_judged(seen: Seen) -> None:
    assert action(seen, "RUNNING", has_ended=False) is Action.WAIT
    assert action(seen, "STOPPED", is_fresh=True) is Action.WAIT


def test_a_run_that_was_refused_or_never_began_is_passed_over_in_silence() -> None:
    assert action(Seen(started=False, refused=True)) is Action.SILENT
    assert action(Seen(started=False)) is Action.SILENT


@pytest.mark.parametrize("flags", list(itertools.product([False, True], repeat=5)))
@pytest.mark.parametrize("state", [*STATES, "RUNNING"])
def test_no_event_is_made_for_a_run_that_has_one(state: str, flags: tuple[bool, ...]) -> None:
    refused, announced, foreseen, published, fresh = flags
    seen = Seen(True, True, refused, announced, foreseen, published)

    assert action(seen, state, has_ended=state != "RUNNING", is_fresh=fresh) is Action.DELIVER
