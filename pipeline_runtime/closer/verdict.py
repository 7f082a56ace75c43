"""How a run ended, judged from outside. Pure: what the evidence, the catalog and Glue show goes in."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

__all__ = ["Action", "Seen", "Verdict", "judge"]


class Action(str, Enum):
    """What is to be done about a run."""

    COMPLETE = "COMPLETE"
    FAIL = "FAIL"
    ABORT = "ABORT"
    #: The run has said itself how it ended, or another closer has; what is not delivered yet is.
    DELIVER = "deliver"
    SILENT = "silent"
    #: Not to be judged yet; the sweep comes again.
    WAIT = "wait"


@dataclass(frozen=True)
class Seen:
    """What is known of a run.

    `started`: its START is stored. `ended`: its terminal event is. `refused`: it ended before any event, on purpose.
    `announced`: it wrote down what it was about to publish. `foreseen`: its COMPLETE event is stored, unclaimed.
    `published`: the catalog shows its batch.
    """

    started: bool
    ended: bool = False
    refused: bool = False
    announced: bool = False
    foreseen: bool = False
    published: bool = False


@dataclass(frozen=True)
class Verdict:
    """What to do, and why: a clause for the log, and for the error message of a FAIL or ABORT."""

    action: Action
    reason: str


def judge(seen: Seen, state: str, *, has_ended: bool, is_fresh: bool) -> Verdict:
    """The verdict on the run of a Glue job run in that state.

    `is_fresh` says that it ended so lately that its last words may still be on their way.
    """
    if seen.ended:
        return Verdict(Action.DELIVER, "it has its terminal event")
    if seen.refused:
        return Verdict(Action.SILENT, "it was refused before it began")
    if not has_ended:
        return Verdict(Action.WAIT, f"the job run is {state}")
    if is_fresh:
        return Verdict(Action.WAIT, f"the job run has just become {state}; its last words may be on their way")
    if not seen.started:
        return Verdict(Action.SILENT, "it never said that it began")
    if seen.published:
        return Verdict(Action.COMPLETE, "the catalog shows its batch")
    if state == "SUCCEEDED" and seen.foreseen and not seen.announced:
        # The job run's exit code 0 says that it came to its end, and there was nothing to publish.
        return Verdict(Action.COMPLETE, "its output had no rows, so nothing was replaced")
    action = Action.ABORT if state == "STOPPED" else Action.FAIL
    return Verdict(action, f"the job run ended as {state}, and nothing was published")
