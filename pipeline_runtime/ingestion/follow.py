"""Starts a task, or finds it running, and follows it to the end of a batch."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeVar

from pipeline_runtime.errors import ConfigurationError, IngestionFailed, IngestionStopped
from pipeline_runtime.ingestion.statistics import TableCounts
from pipeline_runtime.ingestion.task import Task, Tasks, Unanswered

__all__ = ["Bound", "Ended", "begin", "check_bound", "follow"]

#: Seconds for which DMS may fail to answer, and for which a started task may still show its state of before.
PATIENCE = 300.0

_UNDER_WAY = frozenset({"starting", "running", "stopping", "modifying", "testing"})
_GONE = frozenset({"failed", "failed-move", "deleting"})
#: Reasons to stop that say: the work is done as it was asked for.
_FINISHED = frozenset(
    {
        "FULL_LOAD_ONLY_FINISHED",
        "STOPPED_AFTER_FULL_LOAD",
        "STOPPED_AFTER_CACHED_EVENTS",
        "STOPPED_AT_SERVER_TIME",
        "STOPPED_AT_COMMIT_TIME",
    }
)
_FAILED = ("ERROR", "LIMITS_REACHED", "LOW_MEMORY", "LOW_DISK")

_Answer = TypeVar("_Answer")


@dataclass(frozen=True)
class Bound:
    """Where the batch of a task that never ends is cut: after a time, or once its counters have stood still.

    With both, whichever comes first. `stop` also stops the task there.
    """

    duration: timedelta | None = None
    quiet: timedelta | None = None
    stop: bool = False


@dataclass(frozen=True)
class Ended:
    """A batch's end: the task as it was then, its counters, and what ended the batch."""

    task: Task
    counters: tuple[TableCounts, ...]
    why: str


def check_bound(task: Task, bound: Bound) -> None:
    """Raises ConfigurationError where the batch would never end, or would be cut although the task ends."""
    cut = bound.duration is not None or bound.quiet is not None
    if task.ends and (cut or bound.stop):
        raise ConfigurationError(
            f"task {task.name} is a full load, which ends by itself; leave --for, --until-caught-up and --stop out"
        )
    if not task.ends and not cut:
        raise ConfigurationError(
            f"task {task.name} follows changes ({task.kind}) and never ends; say where its batch does: "
            "--for PT15M, --until-caught-up, or both"
        )


def begin(tasks: Tasks, task: Task) -> str:
    """Starts the task where it is not under way; says what was done. Raises IngestionFailed."""
    if task.status in _UNDER_WAY:
        return f"{task.name} is {task.status} already; following it"
    if task.started_at is None:
        how = "start-replication"
    elif task.ends:
        # A full load has nothing to resume: a second one replaces what the first has landed.
        how = "reload-target"
    else:
        how = "resume-processing"
    _patiently(lambda: tasks.start(how))
    return f"{task.name} ({task.kind}) {how}"


def follow(tasks: Tasks, before: Task, bound: Bound, pause: float, looked: Callable[[], None]) -> Ended:
    """Looks at the task every `pause` seconds until its batch ends. `before` is the task before it was started.

    `looked` is called at each look, and may raise.

    Raises IngestionFailed where the task fails or has given a table up, IngestionStopped where somebody stopped it.
    """
    begun = still_since = time.monotonic()
    counters: tuple[TableCounts, ...] | None = None
    while True:
        task = _patiently(tasks.look)
        looked()
        now = time.monotonic()
        if not _is_of_before(task, before, now - begun):
            if task.status in _GONE:
                raise IngestionFailed(f"task {task.name} is {task.status}: {task.failure or 'DMS gives no reason'}")
            if task.status not in _UNDER_WAY:
                counters = _patiently(tasks.statistics)
                return _checked(Ended(task, counters, _end_of(task, counters)))
        if bound.quiet is not None:
            seen = _patiently(tasks.statistics)
            if seen != counters or not task.loaded or task.status != "running":
                counters, still_since = seen, now
        if (why := _cut(bound, now - begun, now - still_since)) is not None:
            return _checked(_cut_off(tasks, task, bound, pause, why))
        time.sleep(pause)


def _is_of_before(task: Task, before: Task, seconds: float) -> bool:
    """Whether this is the state that a former start has left, and the new one does not show yet."""
    return (
        before.status not in _UNDER_WAY
        and task.status == before.status
        and task.started_at == before.started_at
        and seconds < PATIENCE
    )


def _end_of(task: Task, counters: tuple[TableCounts, ...]) -> str:
    reason = task.stop_reason
    if any(word in reason for word in _FAILED):
        raise IngestionFailed(f"task {task.name} stopped with {reason}: {task.failure or 'DMS gives no reason'}")
    # DMS says NORMAL of a load that is over, and of a task that somebody has stopped.
    all_there = bool(counters) and all(each.state == "Table completed" or each.is_broken for each in counters)
    if reason in _FINISHED or (task.ends and reason == "NORMAL" and all_there):
        return reason
    raise IngestionStopped(f"task {task.name} was stopped ({reason or task.status}) before its batch had ended")


def _cut(bound: Bound, seconds: float, still: float) -> str | None:
    if bound.quiet is not None and still >= bound.quiet.total_seconds():
        return "caught up"
    if bound.duration is not None and seconds >= bound.duration.total_seconds():
        return "its time is over"
    return None


def _cut_off(tasks: Tasks, task: Task, bound: Bound, pause: float, why: str) -> Ended:
    if bound.stop:
        _patiently(tasks.stop)
        since = time.monotonic()
        while (task := _patiently(tasks.look)).status in _UNDER_WAY:
            if time.monotonic() - since > PATIENCE:
                raise IngestionFailed(f"task {task.name} was told to stop {PATIENCE:g} s ago and is {task.status}")
            time.sleep(pause)
        if task.status in _GONE:
            raise IngestionFailed(f"task {task.name} is {task.status}: {task.failure or 'DMS gives no reason'}")
    return Ended(task, _patiently(tasks.statistics), why)


def _checked(ended: Ended) -> Ended:
    broken = [f"{each.name} ({each.state})" for each in ended.counters if each.is_broken]
    if broken:
        raise IngestionFailed(
            f"task {ended.task.name} has given up {', '.join(broken)}; the other tables went on. Reload them in DMS."
        )
    return ended


def _patiently(ask: Callable[[], _Answer]) -> _Answer:
    since, wait = time.monotonic(), 1.0
    while True:
        try:
            return ask()
        except Unanswered as refusal:
            if time.monotonic() - since + wait > PATIENCE:
                raise IngestionFailed(f"for {PATIENCE:g} s: {refusal}") from refusal
            time.sleep(wait)
            wait = min(wait * 2, 30.0)
