"""The openlineage-spark listener as a run's witness: attached by the deployment, aimed by us (design decision D13)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline_runtime.evidence.runs import RunEvidence
from pipeline_runtime.lineage.redact import redact, redact_json

__all__ = ["LISTENER_CLASS", "Witness", "keep_events", "listener_attached", "listener_settings", "read_events"]

LISTENER_CLASS = "io.openlineage.spark.agent.OpenLineageSparkListener"


@dataclass(frozen=True)
class Witness:
    """What the listener left of a run: its events as it wrote them, in order.

    `missing` says in words why there are none, or why some may be missing; None where it was heard to the end.
    """

    events: tuple[Mapping[str, Any], ...] = ()
    missing: str | None = None


def listener_attached(conf: Mapping[str, str]) -> bool:
    """Whether these Spark settings attach the listener and leave it switched on."""
    listeners = {name.strip() for name in conf.get("spark.extraListeners", "").split(",")}
    return LISTENER_CLASS in listeners and conf.get("spark.openlineage.disabled", "false").lower() != "true"


def listener_settings(*, namespace: str, job_name: str, run_id: str, events_file: Path) -> dict[str, str]:
    """Spark settings that aim an attached listener at a file of ours and make its runs children of our run.

    They override where the deployment lets it report. Not among them is `applicationRunId`, which would give our
    run a second terminal event.
    """
    prefix = "spark.openlineage."
    return {
        f"{prefix}namespace": namespace,
        f"{prefix}transport.type": "file",
        f"{prefix}transport.location": str(events_file),
        f"{prefix}parentRunId": run_id,
        f"{prefix}parentJobName": job_name,
        f"{prefix}parentJobNamespace": namespace,
        f"{prefix}rootParentRunId": run_id,
        f"{prefix}rootParentJobName": job_name,
        f"{prefix}rootParentJobNamespace": namespace,
    }


def read_events(events_file: Path) -> tuple[Mapping[str, Any], ...]:
    """The listener's events; none where it wrote nothing. A line that is cut short is left out.

    They may hold secrets: what leaves the process is redacted first. Raises OSError where the file cannot be read.
    """
    try:
        lines = events_file.read_text(encoding="utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return ()
    events = (_parsed(line) for line in lines if line.strip())
    return tuple(event for event in events if event is not None)


def keep_events(events_file: Path, evidence: RunEvidence) -> int:
    """Copies the listener's events, without secrets, into the run's evidence; returns how many there are.

    Zero where the listener wrote nothing. A last line that is cut short is kept as it is. Raises EvidenceFailed.
    """
    try:
        lines = events_file.read_text(encoding="utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return 0
    kept = [_without_secrets(line) for line in lines if line.strip()]
    if kept:
        evidence.keep_listener_events("".join(line + "\n" for line in kept).encode())
    return len(kept)


def _parsed(line: str) -> Mapping[str, Any] | None:
    try:
        event = json.loads(line)
    except ValueError:
        return None
    return event if isinstance(event, dict) else None


def _without_secrets(line: str) -> str:
    try:
        event = json.loads(line)
    except ValueError:
        return redact(line)
    return json.dumps(redact_json(event), ensure_ascii=False, separators=(",", ":"))
