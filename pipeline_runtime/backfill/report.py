"""How a backfill shows how far it is, on a terminal and in a log, and how it sums up."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import IO, Any

from pipeline_runtime.backfill.attempts import Attempt, Ending
from pipeline_runtime.backfill.conduct import Due, Result

__all__ = ["Bar", "Lines", "exit_code", "listener_for", "summary"]


class Lines:
    """A line for every run that ended."""

    def __init__(self, total: int, done: int, out: IO[str]) -> None:
        self._total, self._done, self._out = total, done, out
        self._said: str | None = None

    def started(self, attempt: Attempt) -> None:
        self._say(f"{attempt.period} started, run {attempt.run_id}, attempt {attempt.number}")

    def finished(self, result: Result) -> None:
        self._done += 1
        self._say(f"{_line(result)} ({self._done} of {self._total})")

    def note(self, text: str) -> None:
        if text != self._said:  # the same is tried again and again
            self._say(text)
        self._said = text

    def close(self) -> None:
        """Nothing is left to be drawn."""

    def _say(self, text: str) -> None:
        print(text, file=self._out, flush=True)


class Bar:
    """A progress bar; above it a line for every run that did not publish."""

    def __init__(self, total: int, done: int, out: IO[str]) -> None:
        from tqdm import tqdm  # type: ignore[import-untyped]

        self._bar: Any = tqdm(
            total=total, initial=done, file=out, unit="run", dynamic_ncols=True, desc="backfill", smoothing=0
        )
        self._out = out
        self._running: list[str] = []

    def started(self, attempt: Attempt) -> None:
        self._running.append(str(attempt.period))
        self._show()

    def finished(self, result: Result) -> None:
        self._running.remove(str(result.attempt.period))
        if result.ending is not Ending.PUBLISHED:
            self.note(_line(result))
        self._bar.update(1)
        self._show()

    def note(self, text: str) -> None:
        self._bar.write(text, file=self._out)

    def close(self) -> None:
        self._bar.close()

    def _show(self) -> None:
        self._bar.set_postfix_str(", ".join(self._running[:3]) + (", …" if len(self._running) > 3 else ""))


def listener_for(total: int, done: int) -> Bar | Lines:
    """A bar where standard error is a terminal and tqdm is installed (as with [run]), else lines."""
    if sys.stderr.isatty():
        try:
            return Bar(total, done, sys.stderr)
        except ImportError:
            pass
    return Lines(total, done, sys.stderr)


def summary(due: Sequence[Due], results: Sequence[Result]) -> str:
    """What became of all periods: a line of counts, then a line for each that is not published, in order."""
    before = sum(each.published for each in due)
    by_period = {result.attempt.period: result for result in results}
    counts = {ending: sum(result.ending is ending for result in results) for ending in Ending}
    left = [each for each in due if not each.published and each.attempt.period not in by_period]
    parts = [
        f"{before + counts[Ending.PUBLISHED]} published" + (f" ({before} of them before)" if before else ""),
        *(f"{counts[ending]} {ending.value}" for ending in Ending if ending is not Ending.PUBLISHED and counts[ending]),
        *((f"{len(left)} not started",) if left else ()),
    ]
    lines = [f"{len(due)} periods: {', '.join(parts)}"]
    for each in due:
        result = by_period.get(each.attempt.period)
        if result is not None and result.ending is not Ending.PUBLISHED:
            lines.append(f"  {_line(result)}; see {result.place}")
        elif each.unclear is not None:
            lines.append(f"  {each.attempt.period} not started: {each.unclear}; --abandon counts it as gone")
    if len(lines) > 1 or left:
        lines.append("the same command again makes the runs that are missing")
    return "\n".join(lines)


def exit_code(due: Sequence[Due], results: Sequence[Result], *, stopped: bool) -> int:
    """0 all periods are published, 1 some are not, 2 a run was refused, 3 some are quarantined, 130 stopped."""
    endings = {result.ending for result in results}
    if stopped:
        return 130
    if Ending.REFUSED in endings:
        return 2
    published = sum(result.ending is Ending.PUBLISHED for result in results) + sum(each.published for each in due)
    if Ending.FAILED in endings or (Ending.QUARANTINED not in endings and published < len(due)):
        return 1
    return 3 if Ending.QUARANTINED in endings else 0


def _line(result: Result) -> str:
    attempt = result.attempt
    line = f"{attempt.period} {result.ending.value}, run {attempt.run_id}, attempt {attempt.number}, "
    line += f"{result.seconds:.0f} s"
    return line if result.ending is Ending.PUBLISHED else f"{line}: {result.detail}"
