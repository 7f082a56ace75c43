"""Runs a descriptor in the sandbox as Glue would: through spark-submit, with the listener attached.

    python -m sandbox.submit domains/fraud/pipelines/transactions_scored.yml

Afterwards it says where to look: the terminal event as the adapter received it, and the table's first rows.
Ends with the run's own exit code.
"""

from __future__ import annotations

import os
import subprocess
import sys
import uuid
from collections.abc import Sequence
from pathlib import Path

from sandbox.engine import engine_here, settings_folder
from sandbox.show import say_where_to_look

__all__ = ["environment", "main"]

ROOT = Path(__file__).resolve().parents[1]
SANDBOX = ROOT / ".sandbox"


def environment() -> dict[str, str]:
    """The process environment with what `sandbox.stack up` wrote on top; raises SystemExit where nothing is up."""
    file = _settings() / "env"
    if not file.exists():
        raise SystemExit("the sandbox is not up: run `make up` first")
    settings = dict(line.split("=", 1) for line in file.read_text("utf-8").splitlines() if "=" in line)
    return {**os.environ, **settings, "PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}


def _settings() -> Path:
    """Those of the engine that this environment has."""
    return settings_folder(SANDBOX, engine_here())


def main(argv: Sequence[str]) -> int:
    """Submits one descriptor; further arguments go to the job."""
    if not argv:
        raise SystemExit("usage: python -m sandbox.submit <descriptor> [job arguments…]")
    settings = environment()
    descriptor, *rest = argv
    run_id = str(uuid.uuid4())
    command = [
        str(Path(sys.executable).parent / "spark-submit"),
        *("--properties-file", str(_settings() / "spark-conf" / "spark-defaults.conf")),
        str(ROOT / "glue_jobs" / "run_pipeline.py"),
        *("--descriptor", descriptor, "--run-id", run_id, *rest),
    ]
    code = subprocess.run(command, env=settings, check=False).returncode
    say_where_to_look(descriptor, run_id, settings, SANDBOX)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
