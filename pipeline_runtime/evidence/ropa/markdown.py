"""The record as Markdown, for people: every value with its evidence, and what nobody said as exactly that."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime

from pipeline_runtime.evidence.ropa.model import Activity, DatasetUse, Evidence, LastRun, Record, Said, Scope

__all__ = ["NOBODY_SAID", "as_markdown"]

NOBODY_SAID = "nobody said"

#: What Art. 30 (1) asks for and no event of a pipeline can carry.
_NOT_IN_EVENTS = (
    ("(a) controller, and data protection officer", NOBODY_SAID),
    ("(c) categories beyond the LF-tags below", NOBODY_SAID),
    ("(d) recipients outside these pipelines", NOBODY_SAID),
    ("(e) transfers to third countries", f"{NOBODY_SAID}, beyond a residency tag where there is one"),
    ("(f) time limits for erasure", f"{NOBODY_SAID}, beyond a retention tag where there is one"),
    ("(g) security measures", NOBODY_SAID),
)


def as_markdown(record: Record) -> str:
    """The whole record."""
    lines = ["# Record of processing activities (Art. 30 GDPR)", "", *_scope(record.scope, len(record.activities))]
    for activity in record.activities:
        lines += ["", *_activity(activity)]
    return "\n".join(lines) + "\n"


def _scope(scope: Scope, activities: int) -> Iterator[str]:
    yield f"Made from {scope.events:,} events in {_cell(scope.source)}, {_window(scope)}: {activities:,} activities."
    yield "Processing that emits no events is not in here."
    yield ""
    left_out = [
        ("Validations of an output, part of its activity", scope.validations),
        ("Steps of an activity, as the engine's listener reports them", scope.children),
        ("Jobs that only start others", scope.orchestrators),
        ("Could not be read, so the record may lack what they say", scope.unusable),
    ]
    for what, names in left_out:
        if names:
            yield f"- {what}: {', '.join(map(_cell, names))}"
    if scope.other_documents:
        yield f"- JSON documents that are no run events: {scope.other_documents:,}"
    if any(names for _, names in left_out) or scope.other_documents:
        yield ""
    yield from _table(("Art. 30 (1)", "in these events"), _NOT_IN_EVENTS)


def _window(scope: Scope) -> str:
    if scope.first is None or scope.last is None:
        return "none of them a run event"
    return f"{_time(scope.first)} to {_time(scope.last)}"


def _activity(activity: Activity) -> Iterator[str]:
    yield f"## {_cell(activity.namespace)} / {_cell(activity.job)}"
    yield ""
    yield from _table(
        ("", "value", "since", "evidence"),
        [
            _said("purpose", activity.purpose),
            _said("legal basis", activity.legal_basis),
            _said("owner", activity.owner),
            _last_run(activity.last_run, activity.runs),
        ],
    )
    for what, said in (("purpose", activity.purpose), ("legal basis", activity.legal_basis), ("owner", activity.owner)):
        yield from _changes(what, said)
    yield ""
    yield from _table(
        ("", "dataset", "categories (LF-tags)", "evidence"),
        [*_datasets("reads", activity.inputs), *_datasets("writes", activity.outputs)],
    )
    yield ""
    if activity.recipients:
        yield from _table(
            ("recipient", "for", "of", "evidence"),
            [
                (
                    f"{_cell(each.namespace)} / {_cell(each.job)}",
                    NOBODY_SAID if each.purpose is None else _cell(each.purpose),
                    ", ".join(map(_cell, each.datasets)),
                    _evidence(each.evidence),
                )
                for each in activity.recipients
            ],
        )
    else:
        yield "Recipients by lineage: no other activity in view reads what this one writes."


def _said(what: str, said: Said) -> tuple[str, str, str, str]:
    if said.value is None or said.evidence is None or said.since is None:
        return what, NOBODY_SAID, "", ""
    evidence = _evidence(said.evidence)
    if said.silent_runs:
        runs = "1 later run" if said.silent_runs == 1 else f"{said.silent_runs:,} later runs"
        evidence += f"; in {runs} {NOBODY_SAID}"
    return what, _cell(said.value), _time(said.since.time), evidence


def _changes(what: str, said: Said) -> Iterator[str]:
    if said.earlier and said.since is not None and said.value is not None:
        yield ""
        yield f"The {what} has changed. Before {_time(said.since.time)} ({_run(said.since)}) it was:"
        yield ""
        for value, evidence in said.earlier:
            yield f"- {_cell(value)}, from {_time(evidence.time)} on ({_run(evidence)})"


def _last_run(last: LastRun, runs: int) -> tuple[str, str, str, str]:
    ended = "no terminal event" if last.ended is None else last.ended
    return "last run", f"{_cell(ended)}, of {runs:,} runs" if runs > 1 else _cell(ended), "", _evidence(last.evidence)


def _datasets(role: str, used: Sequence[DatasetUse]) -> Iterator[tuple[str, str, str, str]]:
    if not used:
        yield role, NOBODY_SAID, "", ""
    for dataset in used:
        tags = NOBODY_SAID
        if dataset.tags is not None and dataset.tagged_by is not None:
            tags = ", ".join(f"{_cell(key)}={_cell(dataset.tags[key])}" for key in sorted(dataset.tags))
            if dataset.tagged_by.run_id != dataset.evidence.run_id:
                tags += f" (said by {_cell(dataset.tagged_by_job or '')}: {_evidence(dataset.tagged_by)})"
        name = f"{_cell(dataset.namespace)}/{_cell(dataset.name)}"
        yield role if dataset.current else f"{role}, not lately", name, tags, _evidence(dataset.evidence)


def _evidence(evidence: Evidence) -> str:
    return f"{_run(evidence)}, {_time(evidence.time)}"


def _run(evidence: Evidence) -> str:
    commit = f"commit {_cell(evidence.commit)}" if evidence.commit else f"commit: {NOBODY_SAID}"
    return f"run {_cell(evidence.run_id)}, {commit}"


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(header)} |"
    yield f"|{'---|' * len(header)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"


def _time(time: datetime) -> str:
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _cell(text: str) -> str:
    """Another system's text, on one line and without a meaning in Markdown or HTML."""
    plain = "".join(char if char.isprintable() else " " for char in text)
    return re.sub(r"([\\|<\[`*])", r"\\\1", plain)
