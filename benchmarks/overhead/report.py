"""What the outcomes say: ratios of pairs, medians of sides, what each stage costs. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from statistics import median

from benchmarks.overhead.sides import EXECUTOR, HANDWRITTEN, Outcome

__all__ = ["report", "stage_costs"]

_MIB = 1024 * 1024


def report(rows: int, outcomes: Sequence[Outcome]) -> str:
    """Markdown: a table of figures, then one of stages. `outcomes` are pairs, in the order in which they ran."""
    pairs = [_pair(outcomes[place : place + 2]) for place in range(0, len(outcomes), 2)]
    ratios = [executor.seconds / written.seconds for written, executor in pairs]
    each = ", ".join(f"{ratio:.2f}" for ratio in ratios)
    lines = [
        f"{rows:,} rows, {len(pairs)} pairs; executor / hand-written, wall time: {median(ratios):.2f} (of {each})",
        "",
        "| median of each side | hand-written | executor | ratio |",
        "|---|---|---|---|",
    ]
    for name, number in _FIGURES.items():
        written, executor = (median(number(pair[side]) for pair in pairs) for side in (0, 1))
        lines.append(f"| {name} | {written:,.1f} | {executor:,.1f} | {executor / written:.2f} |")
    for side in (HANDWRITTEN, EXECUTOR):
        costs = [stage_costs(outcome) for outcome in outcomes if outcome.side == side]
        lines += ["", f"| {side}, stage | seconds (median) |", "|---|---|"]
        lines += [f"| {name} | {median(cost[name] for cost in costs):.1f} |" for name in costs[0]]
    return "\n".join(lines)


def stage_costs(outcome: Outcome) -> dict[str, float]:
    """Seconds by stage, in order; together they are the run's time.

    Stages end where the run says so; the start of the first and of the last job that scans the source is Spark's
    own word for where start-up ends, and where the frame is computed.
    """
    scans = [job for job in outcome.spark.jobs if job.source_bytes]
    if not scans:
        raise ValueError(f"the {outcome.side} run never scanned the source")
    statement = {job.execution for job in scans}
    computing = [
        job for job in outcome.spark.jobs if job in scans or (job.execution in statement and outcome.side == EXECUTOR)
    ]
    first, last = computing[0].began - outcome.started, max(job.ended for job in computing) - outcome.started
    if outcome.side == EXECUTOR:
        ends = {
            "start Python and the JVM, checks before Spark": _at(outcome, "] policy "),
            "start Spark, plan, branch": first,
            "read, steps, write to the branch": last,
            "rows of the trace": _at(outcome, "] step "),
            "judge": _at(outcome, "] expect "),
            "publish and register": _at(outcome, "] write "),
            "events, end": outcome.seconds,
        }
    else:
        ends = {
            "start Python, the JVM and Spark": _at(outcome, "session "),
            "plan, import Great Expectations": first,
            "read, steps, cache, first metric": last,
            "judge": _at(outcome, "expect "),
            "write": _at(outcome, "write "),
            "tags, events, end": outcome.seconds,
        }
    times = [0.0, *ends.values()]
    return {name: end - begin for name, (begin, end) in zip(ends, pairwise(times), strict=True)}


def _at(outcome: Outcome, text: str) -> float:
    """When the run printed its last line with that text."""
    found = [mark.at for mark in outcome.marks if text in mark.text]
    if not found:
        raise ValueError(f"the {outcome.side} run printed no line with {text!r}")
    return found[-1]


def _pair(outcomes: Iterable[Outcome]) -> tuple[Outcome, Outcome]:
    by_side = {outcome.side: outcome for outcome in outcomes}
    return by_side[HANDWRITTEN], by_side[EXECUTOR]


_FIGURES: dict[str, Callable[[Outcome], float]] = {
    "wall time, s": lambda outcome: outcome.seconds,
    "CPU time of JVM and Python, s": lambda outcome: outcome.cpu_seconds,
    "Spark jobs": lambda outcome: len(outcome.spark.jobs),
    "read from the source, MiB": lambda outcome: outcome.spark.source_bytes / _MIB,
    "peak memory of the JVM, MiB": lambda outcome: outcome.jvm_peak / _MIB,
    "peak memory of Python, MiB": lambda outcome: outcome.python_peak / _MIB,
}
