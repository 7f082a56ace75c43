"""Measures the executor against the hand-written job, in pairs that alternate within one run.

    python -m benchmarks.overhead --rows 1000000 --pairs 3

Each run of a pair is a spark-submit of its own, on the same sandbox, with the same settings; the pair's first is the
other side each time. What is reported is the median of the pairs' ratios, so that a load which comes and goes on the
machine meets both sides. Ends with 0 where every run succeeded.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path

from benchmarks.overhead.lake import bench
from benchmarks.overhead.report import report, stage_costs
from benchmarks.overhead.sides import SIDES, Outcome, measure
from sandbox.errors import SandboxError

__all__ = ["main"]


def main(argv: Sequence[str]) -> int:
    options = _parser().parse_args(argv)
    outcomes: list[Outcome] = []
    with ExitStack() as stack:
        folder = options.folder or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="overhead-")))
        folder.mkdir(parents=True, exist_ok=True)
        try:
            lake = stack.enter_context(bench(folder.absolute(), options.rows, memory=options.memory))
            for pair in range(options.pairs):
                for side in SIDES if pair % 2 == 0 else reversed(SIDES):
                    outcomes.append(measure(side, lake))
                    _say(outcomes[-1])
        except (SandboxError, RuntimeError) as error:
            print(f"overhead: {error}", file=sys.stderr)
            return 1
    print(report(options.rows, outcomes))
    if options.json is not None:
        figures = json.dumps([asdict(outcome) for outcome in outcomes], indent=1, default=str)
        options.json.write_text(figures + "\n", "utf-8")
    return 0


def _say(outcome: Outcome) -> None:
    costs = ", ".join(f"{name} {seconds:.1f}" for name, seconds in stage_costs(outcome).items())
    print(f"{outcome.side}: {outcome.seconds:.1f} s ({costs})", flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.overhead", description="The executor against the hand-written job."
    )
    parser.add_argument("--rows", type=int, default=1_000_000, help="transactions in the source [1000000]")
    parser.add_argument("--pairs", type=int, default=3, help="runs of each side [3]")
    parser.add_argument("--memory", default="3g", help="the driver's heap on both sides [3g]")
    parser.add_argument("--json", type=Path, help="where to keep every figure of every run")
    parser.add_argument("--folder", type=Path, help="an empty folder to work in, kept afterwards [a temporary one]")
    return parser
