"""Runs descriptors one after the other, each with an engine of its own and the lineage listener attached, as on Glue.

    python listened_runs.py scenarios.json outcomes.json

A scenario has a name, a descriptor, more variables for the environment, and what happens to the lake before it.
The JVM is shared; each run builds its own SparkContext, and with it its own listener.
"""

from __future__ import annotations

import io
import json
import sys
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import boto3

from pipeline_runtime.engine.session import build_session
from pipeline_runtime.run import RunRequest, run
from pipeline_runtime.trace import Trace
from sandbox.lake.policy import land_bad_claims


def main(scenarios: Path, outcomes: Path) -> None:
    given = json.loads(scenarios.read_text("utf-8"))
    found = {each["name"]: outcome(each, given["spark"]) for each in given["scenarios"]}
    outcomes.write_text(json.dumps(found), "utf-8")


def outcome(scenario: Mapping[str, Any], spark: Mapping[str, str]) -> dict[str, Any]:
    if scenario.get("before") == "bad claims":
        session: Any = boto3.Session()
        land_bad_claims(session.client("glue"), session.client("s3"))
    sessions = []

    def start(name: str, settings: Mapping[str, str]) -> Any:
        sessions.append(build_session(name, {**spark, **settings}))
        return sessions[-1]

    run_id, out = str(uuid.uuid4()), io.StringIO()
    request = RunRequest(Path(scenario["descriptor"]), run_id)
    try:
        code = run(request, scenario["environ"], Trace(run_id, out=out), start)
    finally:
        for each in sessions:
            each.stop()
    return {"run_id": run_id, "code": code, "trace": out.getvalue()}


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
