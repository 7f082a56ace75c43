"""What is started often, and therefore must start fast: `validate` in a build, the adapter's functions on Lambda.

    python -m benchmarks.startup [--pairs 5]

Each figure is a ratio of processor time to a reference that is measured right beside it, in alternation, so that a
slow or a busy machine meets both: the median over the pairs, with the least and the largest. Ends with 1 where a
median is above its bound.

    validate           `validate domains` against importing the three libraries that it cannot do without
    a Lambda handler   importing its module after boto3 against importing boto3
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

__all__ = ["FIGURES", "Figure", "main"]

_ROOT = Path(__file__).resolve().parents[2]
#: Runs what it is given, prints the processor seconds of it and of all it started.
_WRAPPED = """
import resource, subprocess, sys
subprocess.run([sys.executable, *sys.argv[1:]], stdout=subprocess.DEVNULL, check=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime + used.ru_stime)
"""
_IMPORT = """
import sys, time
for name in sys.argv[2:]:
    __import__(name)
before = time.process_time()
__import__(sys.argv[1])
print(time.process_time() - before)
"""


@dataclass(frozen=True)
class Figure:
    """A start, its reference (each gives processor seconds), and the ratio that it must stay under."""

    name: str
    taken: Callable[[], float]
    reference: Callable[[], float]
    bound: float


def _run(program: str, *arguments: str, environ: Mapping[str, str] = os.environ) -> float:
    command = [sys.executable, "-c", program, *arguments]
    settings = {**environ, "PYTHONPATH": str(_ROOT)}
    done = subprocess.run(command, cwd=_ROOT, env=settings, capture_output=True, text=True, check=True)
    return float(done.stdout.splitlines()[-1])


def _handler(name: str) -> Figure:
    module = f"lineage_adapter.{name}"
    return Figure(module, lambda: _run(_IMPORT, module, "boto3"), lambda: _run(_IMPORT, "boto3"), bound=0.5)


FIGURES = (
    Figure(
        "validate domains",
        lambda: _run(_WRAPPED, "-m", "pipeline_runtime", "validate", "domains"),
        lambda: _run(_WRAPPED, "-c", "import yaml, sqlglot; from pydantic import BaseModel"),
        bound=3.0,
    ),
    *(_handler(name) for name in ("handler", "kinesis", "authorizer")),
)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.startup", description="Times what is started often.")
    parser.add_argument("--pairs", type=int, default=5, help="how often each is measured beside its reference [5]")
    options = parser.parse_args(argv)
    slow = False
    for figure in FIGURES:
        figure.taken(), figure.reference()  # Writes the byte code, once.
        pairs = [(figure.taken(), figure.reference()) for _ in range(options.pairs)]
        ratios = [taken / reference for taken, reference in pairs]
        ratio = statistics.median(ratios)
        milliseconds = statistics.median(taken for taken, _ in pairs) * 1000
        slow = slow or ratio > figure.bound
        print(
            f"{figure.name:<28} {ratio:5.2f} of {figure.bound:.2f} allowed ({min(ratios):.2f} to {max(ratios):.2f}); "
            f"{milliseconds:.0f} ms of processor time"
        )
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
