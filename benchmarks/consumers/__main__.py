"""How long the producer's check takes, and how much memory, over thousands of descriptors.

    python -m benchmarks.consumers [--descriptors 10000] [--consumers 100]

Generates the domains in a temporary folder, runs `python -m pipeline_runtime.consumers` on them as a build does, on
all of them and on a tenth, and prints wall seconds and the peak memory of its largest process. Ends with 1 where the
check took longer than --seconds, or where ten times as many descriptors took half as much memory again.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.consumers.domains import make_domains, proposal

__all__ = ["Measured", "main", "measure"]

_ROOT = Path(__file__).resolve().parents[2]
#: Runs the check in a process of its own; prints its exit code, the processor seconds it took, the peak resident size
#: of the largest process in it (kB), and its last line.
_WRAPPED = """
import resource, subprocess, sys
done = subprocess.run([sys.executable, "-m", "pipeline_runtime.consumers", *sys.argv[1:]], stdout=subprocess.PIPE)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(done.returncode, used.ru_utime + used.ru_stime, used.ru_maxrss, done.stdout.decode().splitlines()[-1])
"""


@dataclass(frozen=True)
class Measured:
    """One run: wall seconds, processor seconds, MB of the largest process, and the check's last line."""

    descriptors: int
    seconds: float
    processor_seconds: float
    megabytes: float
    verdict: str


def measure(descriptors: int, consumers: int) -> Measured:
    """The check over freshly generated domains. Raises RuntimeError where it does not find every consumer."""
    with tempfile.TemporaryDirectory(prefix="consumers-") as folder:
        root = Path(folder)
        make_domains(root / "domains", descriptors, consumers)
        (root / "proposal.yml").write_text(proposal(), encoding="utf-8")
        command = [sys.executable, "-c", _WRAPPED, "proposal.yml", "domains", "--no-catalog"]
        environ = {**os.environ, "PYTHONPATH": str(_ROOT)}
        before = time.perf_counter()
        said = subprocess.run(command, cwd=root, env=environ, capture_output=True, text=True, check=True).stdout
        seconds = time.perf_counter() - before
    code, used, kilobytes, verdict = said.strip().split(" ", 3)
    if code != "1" or not verdict.startswith(f"{consumers} of {consumers} "):
        raise RuntimeError(f"the check ended with {code}: {verdict}")
    return Measured(descriptors, seconds, float(used), int(kilobytes) / 1024, verdict)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.consumers", description="Times the producer's check.")
    parser.add_argument("--descriptors", type=int, default=10_000, help="how many are scanned [10000]")
    parser.add_argument("--consumers", type=int, default=100, help="how many of them read the table [100]")
    parser.add_argument("--seconds", type=float, default=20.0, help="what the check may take [20]")
    options = parser.parse_args(argv)
    tenth = measure(options.descriptors // 10, max(1, options.consumers // 10))
    whole = measure(options.descriptors, options.consumers)
    for run in (tenth, whole):
        time_taken = f"{run.seconds:6.2f} s ({run.processor_seconds:.2f} s of processor time)"
        print(f"{run.descriptors:>7,} descriptors  {time_taken}  {run.megabytes:6.1f} MB  {run.verdict}")
    flat = whole.megabytes < 1.5 * tenth.megabytes
    print(f"{os.cpu_count()} processors; memory is {'flat' if flat else 'not flat'}")
    return 0 if flat and whole.seconds < options.seconds else 1


if __name__ == "__main__":
    sys.exit(main())
