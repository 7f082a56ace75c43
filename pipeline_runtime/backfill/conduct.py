"""The work of a backfill: which runs are due, and making them, a few at a time, until all have ended."""

from __future__ import annotations

import json
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Protocol

from pipeline_runtime.backfill.attempts import Attempt, Ending, ending_of, latest_attempt
from pipeline_runtime.backfill.periods import Period
from pipeline_runtime.backfill.starters import Running, Starter
from pipeline_runtime.errors import PipelineError
from pipeline_runtime.evidence.runs import EventKind, RunEvidence
from pipeline_runtime.evidence.store import EvidenceStore
from pipeline_runtime.scheduling.job_runs import NotNow

__all__ = ["Due", "Limits", "Listener", "Result", "Stop", "due_for", "make_runs", "stoppable"]

#: Seconds for which a start that is refused for now is tried again while nothing of ours is running.
PATIENCE = 900.0


@dataclass(frozen=True)
class Due:
    """One period's share of the work: a run to start or, with `running`, one to follow.

    `unclear` says why neither can be done; `published` that nothing is left to do.
    """

    attempt: Attempt
    running: Running | None = None
    published: bool = False
    unclear: str | None = None


@dataclass(frozen=True)
class Result:
    """How one run ended. `detail` is its reason in one line, `place` where it says more, `seconds` how long it took."""

    attempt: Attempt
    ending: Ending
    detail: str
    place: str
    seconds: float


@dataclass(frozen=True)
class Limits:
    """How many runs at a time, and whether the first that does not publish is to be the last that starts."""

    parallel: int = 1
    fail_fast: bool = False


class Listener(Protocol):
    """Who is told how it goes."""

    def started(self, attempt: Attempt) -> None: ...

    def finished(self, result: Result) -> None: ...

    def note(self, text: str) -> None: ...


@dataclass
class Stop:
    """How often the user has asked for an end: once to end properly, twice to end now."""

    asked: int = 0
    told: int = 0
    _changed: threading.Event = field(default_factory=threading.Event)

    def ask(self) -> None:
        self.asked += 1
        self._changed.set()

    def wait(self, seconds: float) -> None:
        """Returns after that time, or at once when someone asks."""
        self._changed.wait(seconds)
        self._changed.clear()


@contextmanager
def stoppable() -> Iterator[Stop]:
    """Within, Ctrl-C and SIGTERM ask for an end and raise nothing."""
    stop = Stop()

    def ask(_number: int, _frame: FrameType | None) -> None:
        stop.ask()

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def due_for(
    period: Period,
    store: EvidenceStore,
    starter: Starter,
    id_of: Callable[[Period, int], str],
    *,
    abandon: bool = False,
) -> Due:
    """What is left to do for a period: nothing where a run has published it, else the next attempt.

    A run that was left open is followed where it is alive and closed where it is gone; with `abandon` one that nobody
    here can tell of counts as gone. Raises EvidenceFailed, and CatalogError where closing needs the catalog.
    """
    latest = latest_attempt(store, period, id_of)
    if latest is None:
        return Due(Attempt(period, 1, id_of(period, 1)))
    attempt, ending = latest
    if ending is Ending.OPEN:
        try:
            running = starter.found(attempt)
        except LookupError as unknown:
            if not abandon:
                return Due(attempt, unclear=f"run {attempt.run_id} has begun and not ended; {unknown}")
            running = None
        if running is not None:
            return Due(attempt, running)
        starter.close(attempt, "its process is gone")
        ending = ending_of(store, attempt.run_id) or ending
    if ending is Ending.PUBLISHED:
        return Due(attempt, published=True)
    number = attempt.number + 1
    return Due(Attempt(period, number, id_of(period, number)))


def make_runs(
    due: Sequence[Due], starter: Starter, store: EvidenceStore, limits: Limits, listener: Listener, stop: Stop
) -> list[Result]:
    """Makes the runs and returns how each ended, in the order in which they did.

    Runs that were not started are not among them: after a stop, after a failure with `fail_fast`, and after a run that
    was refused, since the next would be too. Raises NotNow where no run can be started for PATIENCE seconds.
    """
    waiting = deque(due)
    running: list[_Under] = []
    results: list[Result] = []
    halted, refused_since = False, None
    while running or (waiting and not halted):
        if stop.asked > stop.told:
            halted = True
            _end(running, stop, listener)
        while waiting and not halted and len(running) < limits.parallel:
            try:
                running.append(_under(waiting[0], starter, listener))
            except NotNow as refusal:
                refused_since = _patience(refusal, refused_since, alone=not running)
                listener.note(f"waiting to start {waiting[0].attempt.period}: {refusal}")
                break
            waiting.popleft()
            refused_since = None
        for one in list(running):
            how = one.running.ended()
            if how is None:
                continue
            running.remove(one)
            result = _result(one, how, starter, store)
            results.append(result)
            listener.finished(result)
            halted |= result.ending is Ending.REFUSED or (limits.fail_fast and result.ending is not Ending.PUBLISHED)
        if running or (waiting and not halted):
            stop.wait(starter.pause)
    return results


@dataclass(frozen=True)
class _Under:
    """A run under way. `since` is of the monotonic clock."""

    attempt: Attempt
    running: Running
    since: float


def _under(due: Due, starter: Starter, listener: Listener) -> _Under:
    running = due.running or starter.start(due.attempt)
    listener.started(due.attempt)
    return _Under(due.attempt, running, time.monotonic())


def _patience(refusal: NotNow, since: float | None, *, alone: bool) -> float:
    """Since when starts are refused; raises the refusal where that is for too long and no run of ours explains it."""
    now = time.monotonic()
    since = now if since is None or not alone else since
    if now - since > PATIENCE:
        raise refusal
    return since


def _end(running: Sequence[_Under], stop: Stop, listener: Listener) -> None:
    stop.told = stop.asked
    for one in running:
        try:
            if stop.asked == 1:
                one.running.stop()
            else:
                one.running.kill()
        except (NotNow, PipelineError) as refusal:
            listener.note(f"{one.attempt.period} could not be told to end: {refusal}")
    if running:
        count = f"{len(running)} run{'s' if len(running) > 1 else ''}"
        listener.note(f"stopping: {count} told to end; ask again to kill" if stop.asked == 1 else f"killing {count}")


def _result(one: _Under, how: str, starter: Starter, store: EvidenceStore) -> Result:
    run_id = one.attempt.run_id
    ending = ending_of(store, run_id)
    detail = how
    if ending is Ending.OPEN:
        try:
            starter.close(one.attempt, how)
        except PipelineError as error:
            detail = f"{how}; its terminal event could not be made up for: {error}"
        ending = ending_of(store, run_id)
    if ending in (Ending.FAILED, Ending.QUARANTINED, Ending.REFUSED):
        detail = _reason(store, run_id) or how
    elif ending is None or ending is Ending.OPEN:
        detail = f"{detail}; it has no terminal event" if ending else f"{detail}; it left no evidence"
        ending = Ending.FAILED
    return Result(one.attempt, ending, detail, one.running.place, time.monotonic() - one.since)


def _reason(store: EvidenceStore, run_id: str) -> str | None:
    """The first line of why the run failed or was refused, as its evidence says."""
    run = RunEvidence(store, run_id)
    body = run.event(EventKind.TERMINAL)
    facets = {} if body is None else json.loads(body)["run"].get("facets", {})
    text = facets.get("errorMessage", {}).get("message") if body else run.refused()
    return text.splitlines()[0] if text else None
