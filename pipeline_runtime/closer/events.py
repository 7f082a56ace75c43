"""The terminal event of a run that could not write it: from the run's own START, or from what it had foreseen.

Pure, and on JSON rather than on OpenLineage's classes, which the closer does not carry.
"""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from pipeline_runtime.lineage.values import utc_text

__all__ = ["completed_event", "ending_event"]

_ERROR_SCHEMA = "https://openlineage.io/spec/facets/1-0-1/ErrorMessageRunFacet.json#/$defs/ErrorMessageRunFacet"


def ending_event(start: bytes, event_type: str, message: str, at: datetime) -> bytes:
    """The START event's run, job and facets as a FAIL or ABORT: no datasets, and the reason as its error message."""
    event = json.loads(start)
    facets = event["run"].setdefault("facets", {})
    facets["errorMessage"] = {
        "_producer": event["producer"],
        "_schemaURL": _ERROR_SCHEMA,
        "message": message,
        "programmingLanguage": "python",
    }
    return _bytes({**event, "eventType": event_type, "eventTime": utc_text(at), "inputs": [], "outputs": []})


def completed_event(foreseen: bytes, at: datetime, snapshot_id: int | None) -> bytes:
    """The COMPLETE event that the run had foreseen, said now, with the snapshot that the catalog shows.

    That is another than the staged one where main had moved meanwhile. None leaves it as foreseen.
    """
    event = json.loads(foreseen)
    for output in event.get("outputs", []) if snapshot_id is not None else []:
        if "version" in output.get("facets", {}):
            output["facets"]["version"]["datasetVersion"] = str(snapshot_id)
        if "cordata_publish" in output.get("outputFacets", {}):
            output["outputFacets"]["cordata_publish"]["snapshot_id"] = snapshot_id
    return _bytes({**event, "eventTime": utc_text(at)})


def _bytes(event: dict[str, Any]) -> bytes:
    """As the executor writes its events: keys sorted, no spaces, UTF-8."""
    return json.dumps(event, sort_keys=True, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
