"""Keeps an event below its sink's limit: facets are left out in a fixed order, and a marker says which. Pure.

Nothing is cut in the middle: a step takes a kind of content out of the whole event, or leaves it alone. The order is
from what explains least to what explains most; identities, names, symlinks, the run's provenance, the processing, the
error, the verdict and the statistics are never touched.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from typing import Any

from pipeline_runtime.lineage.limits import MAX_EVENT_BYTES
from pipeline_runtime.lineage.own_facets import PRODUCER, SlimmedRunFacet

__all__ = ["MARKER", "SLIMMING_ORDER", "fitted", "slim", "wire_bytes"]

#: The run facet that says what was left out.
MARKER = "cordata_slimmed"

_Event = dict[str, Any]


def fitted(body: bytes, keep_full: Callable[[bytes], str], *, limit: int = MAX_EVENT_BYTES) -> bytes:
    """The event as it may be sent: as it is, or slimmed once `keep_full` has kept it whole and said where.

    Still above the limit where slimming does not help: such an event is parked. Raises what `keep_full` raises.
    """
    if len(body) <= limit:
        return body
    return slim(body, keep_full(body), limit=limit) or body


def slim(body: bytes, full_event: str, *, limit: int = MAX_EVENT_BYTES) -> bytes | None:
    """The event with as few steps of SLIMMING_ORDER as bring it to `limit` bytes of UTF-8; None where none do.

    `full_event` is where the whole event is kept; the marker names it, with its SHA-256.
    """
    event: _Event = json.loads(body)
    dropped: list[str] = []
    for name, leave_out in _STEPS:
        if not leave_out(event):
            continue
        dropped.append(name)
        event["run"].setdefault("facets", {})[MARKER] = _marker(body, full_event, dropped)
        slimmed = wire_bytes(event)
        if len(slimmed) <= limit:
            return slimmed
    return None


def wire_bytes(event: Any) -> bytes:
    """JSON as events are stored and sent: UTF-8, keys sorted, no spaces. Raises ValueError for NaN and infinity."""
    return json.dumps(event, sort_keys=True, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def _marker(body: bytes, full_event: str, dropped: list[str]) -> dict[str, Any]:
    return {
        "_producer": PRODUCER,
        "_schemaURL": SlimmedRunFacet._get_schema(),
        "dropped": list(dropped),
        "full_sha256": hashlib.sha256(body).hexdigest(),
        "full_bytes": len(body),
        "full_event": full_event,
    }


def _run_facet(name: str) -> Callable[[_Event], bool]:
    return lambda event: _pop([event["run"].get("facets")], name)


def _job_facet(name: str) -> Callable[[_Event], bool]:
    return lambda event: _pop([event["job"].get("facets")], name)


def _dataset_facet(name: str, *sides: str) -> Callable[[_Event], bool]:
    return lambda event: _pop([each.get("facets") for each in _datasets(event, *sides)], name)


def _in_column_lineage(leave_out: Callable[[_Event], bool]) -> Callable[[_Event], bool]:
    def step(event: _Event) -> bool:
        facets = [(each.get("facets") or {}).get("columnLineage") for each in _datasets(event)]
        left_out = [leave_out(facet) for facet in facets if isinstance(facet, dict)]
        return any(left_out)

    return step


def _descriptions(event: _Event) -> bool:
    """The comments of columns, nested ones too."""
    pending = [(each.get("facets") or {}).get("schema") for each in _datasets(event)]
    found = False
    while pending:
        holder = pending.pop()
        if isinstance(holder, dict):
            inner = [field for field in holder.get("fields") or () if isinstance(field, dict)]
            found |= _pop(inner, "description")
            pending += inner
    return found


def _transformations(facet: _Event) -> bool:
    edges = [edge for column in facet["fields"].values() for edge in column["inputFields"]]
    return _pop([*edges, *(facet.get("dataset") or ())], "transformations")


def _pop(holders: list[Any], name: str) -> bool:
    """Takes the entry out of each holder that has one with something in it; whether any had."""
    holding = [holder for holder in holders if isinstance(holder, dict) and holder.get(name)]
    for holder in holding:
        del holder[name]
    return bool(holding)


def _datasets(event: _Event, *sides: str) -> Iterator[_Event]:
    for side in sides or ("inputs", "outputs"):
        yield from event.get(side) or ()


_STEPS: tuple[tuple[str, Callable[[_Event], bool]], ...] = (
    ("spark.logicalPlan", _run_facet("spark.logicalPlan")),
    ("debug", _run_facet("debug")),
    ("spark_properties", _run_facet("spark_properties")),
    ("sql", _job_facet("sql")),
    ("schema descriptions", _descriptions),
    ("columnLineage dataset", _in_column_lineage(lambda facet: _pop([facet], "dataset"))),
    ("columnLineage transformations", _in_column_lineage(_transformations)),
    ("columnLineage", _dataset_facet("columnLineage")),
    ("inputs' schema", _dataset_facet("schema", "inputs")),
    ("cordata_column_origins", _dataset_facet("cordata_column_origins")),
    ("cordata_columns", _dataset_facet("cordata_columns")),
    ("outputs' schema", _dataset_facet("schema", "outputs")),
)

#: What is left out, in this order, until the event fits; documented in docs/lineage.md.
SLIMMING_ORDER = tuple(name for name, _ in _STEPS)
