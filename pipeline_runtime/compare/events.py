"""What differs between two lineage events, apart from which run emitted them, when, and with what. Pure.

Three things are removed before comparing, and nothing else: the run id (wherever a text holds it, a branch's name
for example), the event time, and the producer. An event names its producer in `producer`, in every facet's
`_producer`, and, with version and commit, in the `executor_…` of the provenance facet.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pipeline_runtime.compare.findings import Finding, shown

__all__ = ["compare_events"]

_PRODUCER = ("producer", "_producer", "executor_version", "executor_commit", "executor_dirty")
_SNAPSHOT = ("snapshot_id", "datasetVersion")
#: Texts that tell the entries of a list apart, the first that all entries have; their order then means nothing.
#: Schema fields state their position themselves.
_NAMED_BY = (("namespace", "name", "field"), ("namespace", "name", "type"), ("namespace", "name"), ("name",), ("key",))


def compare_events(
    first: Mapping[str, Any],
    second: Mapping[str, Any],
    snapshots: tuple[int | None, int | None] = (None, None),
) -> list[Finding]:
    """The differences, each at its place in the event; none where the events say the same.

    `snapshots` are the ids of the Iceberg snapshots whose rows were compared. An id is drawn at random for each
    commit, so two of them never agree; an event that names the snapshot which was compared says the same as one
    that names the other. Any other id stays as it is, and differs.
    """
    before, after = (_without_run(event, snapshot) for event, snapshot in zip((first, second), snapshots, strict=True))
    return [Finding("event", text) for text in _differences("", before, after)]


def _without_run(event: Mapping[str, Any], snapshot: int | None) -> Any:
    run = event.get("run")
    run_id = run.get("runId") if isinstance(run, Mapping) else None
    kept = {key: value for key, value in event.items() if key != "eventTime"}
    return _cleaned(kept, run_id if isinstance(run_id, str) and run_id else None, snapshot)


def _cleaned(value: Any, run_id: str | None, snapshot: int | None) -> Any:
    if isinstance(value, Mapping):
        return {
            key: "<the compared snapshot>"
            if key in _SNAPSHOT and snapshot is not None and str(held) == str(snapshot)
            else _cleaned(held, run_id, snapshot)
            for key, held in value.items()
            if key not in _PRODUCER
        }
    if isinstance(value, list):
        return [_cleaned(each, run_id, snapshot) for each in value]
    if isinstance(value, str) and run_id is not None:
        for spelling in (run_id, run_id.replace("-", "_")):
            value = value.replace(spelling, "<run id>")
    return value


def _differences(place: str, first: Any, second: Any) -> Iterator[str]:
    if isinstance(first, dict) and isinstance(second, dict):
        yield from _in_both(place, first, second, "{}.{}")
    elif isinstance(first, list) and isinstance(second, list):
        names = _names(first, second)
        if names is None:
            yield from _in_both(place, dict(enumerate(first)), dict(enumerate(second)), "{}[{}]")
        else:
            before, after = ({_name(each, names): each for each in side} for side in (first, second))
            yield from _in_both(place, before, after, "{}[{}]")
    elif type(first) is not type(second) or first != second:
        yield f"{place}: {_json(first)} → {_json(second)}"


def _in_both(place: str, first: Mapping[Any, Any], second: Mapping[Any, Any], form: str) -> Iterator[str]:
    for key in [*first, *(key for key in second if key not in first)]:
        inner = form.format(place, key).removeprefix(".")
        if key not in second:
            yield f"{inner}: only in the first: {_json(first[key])}"
        elif key not in first:
            yield f"{inner}: only in the second: {_json(second[key])}"
        else:
            yield from _differences(inner, first[key], second[key])


def _names(first: Sequence[Any], second: Sequence[Any]) -> tuple[str, ...] | None:
    """What tells the entries of both lists apart; None where nothing does, and places count."""
    for names in _NAMED_BY:
        if all(isinstance(each, Mapping) and set(names) <= each.keys() for each in (*first, *second)) and all(
            len({_name(each, names) for each in side}) == len(side) for side in (first, second)
        ):
            return names
    return None


def _name(entry: Mapping[str, Any], names: tuple[str, ...]) -> str:
    return " ".join(str(entry[name]) for name in names)


def _json(value: Any) -> str:
    return shown(json.dumps(value, ensure_ascii=False, sort_keys=True))
