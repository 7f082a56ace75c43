"""Events of runs as `ropa` reads them, and the record that it makes of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from pipeline_runtime.cli import main
from sandbox.audited_domain import ENDED

ROOT = Path(__file__).resolve().parents[2]
SCORED = "arn:aws:glue:eu-central-1:111122223333/table/fraud_curated/transactions_scored"


def run_id(number: int) -> str:
    return f"00000000-0000-4000-8000-{number:012d}"


def event(
    job: str = "cordata.fraud/scored",
    run: int = 1,
    at: datetime = ENDED,
    kind: str = "COMPLETE",
    *,
    reads: tuple[str, ...] = (),
    writes: tuple[str, ...] = (),
    parent: str | None = None,
    tags: Mapping[str, str] | None = None,
    aliases: tuple[str, ...] = (),
    **processing: str,
) -> dict[str, Any]:
    """A run event of anybody's; `tags` and `aliases` go to what it writes."""
    namespace, _, name = job.partition("/")

    def dataset(text: str, facets: dict[str, Any]) -> dict[str, Any]:
        space, _, title = text.partition("|")
        return {"namespace": space, "name": title, "facets": facets}

    about: dict[str, Any] = {}
    if tags is not None:
        about["tags"] = {"tags": [{"key": key, "value": value} for key, value in tags.items()]}
    if aliases:
        pairs = [alias.partition("|") for alias in aliases]
        about["symlinks"] = {"identifiers": [{"namespace": a, "name": b, "type": "TABLE"} for a, _, b in pairs]}
    run_facets: dict[str, Any] = {}
    if parent is not None:
        space, _, title = parent.partition("/")
        run_facets["parent"] = {"run": {"runId": run_id(run)}, "job": {"namespace": space, "name": title}}
    return {
        "eventType": kind,
        "eventTime": at.isoformat().replace("+00:00", "Z"),
        "run": {"runId": run_id(run), "facets": run_facets},
        "job": {"namespace": namespace, "name": name, "facets": {"processing": processing} if processing else {}},
        "inputs": [dataset(text, {}) for text in reads],
        "outputs": [dataset(text, about) for text in writes],
    }


DECLARED = {"purpose": "fraud-detection", "legal_basis": "legitimate-interest"}


def written(folder: Path, *events: dict[str, Any]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for number, item in enumerate(events):
        (folder / f"{number:05d}.json").write_text(json.dumps(item), encoding="utf-8")
    return folder


def record(capsys: pytest.CaptureFixture[str], place: Path | str, code: int = 0) -> dict[str, Any]:
    """The record as JSON, by activity's name for reading."""
    assert main(["ropa", str(place), "--format", "json"]) == code
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    found["jobs"] = {activity["job"]: activity for activity in found["activities"]}
    return found
