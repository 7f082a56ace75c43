"""A run without an engine: the command line, the evidence and the exit codes of the executor, and nothing else.

    executor_stub.py <plan.json> <descriptor> --run-id … --nominal-time …

The plan says by nominal time, or by the descriptor's name, a space and the nominal time, what a run does: "publish",
"fail", "quarantine", "refuse", "hang" (until SIGTERM, then it fails properly), "deaf" (SIGTERM is not heard) or "die"
(kill -9 by itself, after START).
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import time
from pathlib import Path

from pipeline_runtime.evidence.runs import EventKind, RunEvidence
from pipeline_runtime.evidence.s3 import evidence_client
from pipeline_runtime.evidence.store import open_store


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("plan", type=Path)
    parser.add_argument("descriptor")
    parser.add_argument("--run-id")
    parser.add_argument("--nominal-time")
    options = parser.parse_args()
    plan = json.loads(options.plan.read_text())
    action = plan.get(f"{Path(options.descriptor).stem} {options.nominal_time}")
    action = action or plan.get(options.nominal_time, "publish")
    told: list[int] = []
    if action in ("hang", "deaf"):
        signal.signal(signal.SIGTERM, lambda *_: None if action == "deaf" else told.append(1))
    note(options, ".spawned")
    time.sleep(float(plan.get("late", 0)))
    run = RunEvidence(open_store(os.environ["CORDATA_EVIDENCE"], evidence_client), options.run_id)
    if action != "refuse":
        run.claim(EventKind.START, event(options.run_id, "START"))
    # Last, since a test that sees it goes on: the run can be told to end, and has said that it began.
    note(options, ".starts")
    if action == "refuse":
        run.refuse("ConfigurationError: CORDATA_LINEAGE_URL is not set", "2026-08-01T00:00:00Z")
        return 2
    if action == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if action in ("hang", "deaf"):
        while not told:
            time.sleep(0.02)
        run.claim(EventKind.TERMINAL, event(options.run_id, "FAIL", "RunInterrupted: SIGTERM"))
        return 1
    time.sleep(float(plan.get("seconds", 0)))
    match action:
        case "publish":
            run.claim(EventKind.TERMINAL, event(options.run_id, "COMPLETE"))
            code = 0
        case "fail":
            run.claim(EventKind.TERMINAL, event(options.run_id, "FAIL", "SchemaDrift: payments is at v8\nmore"))
            code = 1
        case "quarantine":
            kept = [{"namespace": "arn:aws:glue:eu-central-1:111122223333", "name": "table/d/t__quarantine"}]
            run.claim(EventKind.TERMINAL, event(options.run_id, "FAIL", "Quarantined: 3 rows", kept))
            code = 3
        case _:
            raise SystemExit(f"no such action: {action}")
    note(options, ".ends")
    return code


def note(options: argparse.Namespace, suffix: str) -> None:
    with options.plan.with_suffix(suffix).open("a") as file:
        name = Path(options.descriptor).stem
        file.write(f"{options.nominal_time} {options.run_id} {time.monotonic()} {name}\n")


def event(run_id: str, kind: str, message: str | None = None, outputs: list[dict[str, str]] | None = None) -> bytes:
    facets = {"errorMessage": {"message": message}} if message else {}
    said = {
        "eventType": kind,
        "eventTime": "2026-08-01T00:00:00Z",
        "producer": "https://cordata.tech/tests",
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
        "run": {"runId": run_id, "facets": facets},
        "job": {"namespace": "cordata.fraud", "name": "payments-scored"},
        "inputs": [],
        "outputs": outputs or [],
    }
    return json.dumps(said).encode()


if __name__ == "__main__":
    sys.exit(main())
