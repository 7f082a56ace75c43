"""From what was seen to the record: which jobs are activities, and what each one's events evidence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from pipeline_runtime.evidence.ropa.collect import DatasetKey, JobKey, Seen, SeenJob
from pipeline_runtime.evidence.ropa.model import (
    Activity,
    DatasetUse,
    Evidence,
    LastRun,
    Recipient,
    Record,
    Said,
    Scope,
)

__all__ = ["record_of"]

_VALIDATION = ".validate"


@dataclass(frozen=True)
class _Kinds:
    """The jobs in view, by what they are."""

    activities: list[JobKey] = field(default_factory=list)
    validations: list[JobKey] = field(default_factory=list)
    children: list[JobKey] = field(default_factory=list)
    orchestrators: list[JobKey] = field(default_factory=list)


def record_of(seen: Seen, source: str) -> Record:
    """The record; `source` is where the events were read from."""
    kinds = _kinds(seen.jobs)
    readers = _readers(seen, kinds.activities)
    return Record(
        activities=tuple(_activity(seen, key, readers) for key in kinds.activities),
        scope=Scope(
            source=source,
            events=seen.events,
            first=seen.first,
            last=seen.last,
            validations=_names(kinds.validations),
            children=_names(kinds.children),
            orchestrators=_names(kinds.orchestrators),
            unusable=tuple(f"{each.where}: {each.reason}" for each in seen.unusable),
            other_documents=seen.other_documents,
        ),
    )


def _kinds(jobs: Mapping[JobKey, SeenJob]) -> _Kinds:
    """Which jobs process data for a purpose of their own.

    Not the judging of an output (`<job>.validate`); not the steps that a listener reports below a job that declares
    its purpose, unless they declare one of their own; not what only starts others.
    """
    kinds = _Kinds()
    children = _children(jobs)
    starters = {parent for job in jobs.values() for parent in job.parents}
    for key, job in sorted(jobs.items()):
        if key[1].endswith(_VALIDATION) and not job.outputs:
            kinds.validations.append(key)
        elif key in children:
            kinds.children.append(key)
        elif key in starters and not (job.inputs or job.outputs or job.declares):
            kinds.orchestrators.append(key)
        else:
            kinds.activities.append(key)
    return kinds


def _children(jobs: Mapping[JobKey, SeenJob]) -> set[JobKey]:
    found: set[JobKey] = set()
    while True:
        more = {
            key
            for key, job in jobs.items()
            if key not in found
            and not job.declares
            and any(parent in found or (parent in jobs and jobs[parent].declares) for parent in job.parents - {key})
        }
        if not more:
            return found
        found |= more


def _activity(seen: Seen, key: JobKey, readers: Mapping[DatasetKey, list[JobKey]]) -> Activity:
    job = seen.jobs[key]
    return Activity(
        namespace=key[0],
        job=key[1],
        purpose=_said(job, "purpose"),
        legal_basis=_said(job, "legal_basis"),
        owner=_said(job, "owner"),
        inputs=_uses(seen, job, job.inputs),
        outputs=_uses(seen, job, job.outputs),
        recipients=_recipients(seen, key, readers),
        runs=len(job.runs),
        last_run=_last_run(job),
    )


def _said(job: SeenJob, what: str) -> Said:
    observed = sorted(job.said.get(what, ()))
    if not observed:
        return Said()
    # Each stretch of events that say the same: its value, its first and its last event.
    stretches: list[tuple[str, Evidence, Evidence]] = []
    for time, run_id, value in observed:
        evidence = _evidence(job, run_id, time)
        if stretches and stretches[-1][0] == value:
            stretches[-1] = (value, stretches[-1][1], evidence)
        else:
            stretches.append((value, evidence, evidence))
    value, since, latest = stretches[-1]
    speaking = {run_id for _, run_id, _ in observed}
    silent = sum(1 for run_id, run in job.runs.items() if run.last > latest.time and run_id not in speaking)
    earlier = tuple((said, first) for said, first, _ in stretches[:-1])
    return Said(value, latest, since, earlier, silent)


def _uses(seen: Seen, job: SeenJob, used: Mapping[DatasetKey, tuple[datetime, str]]) -> tuple[DatasetUse, ...]:
    latest = max((job.runs[run_id].last for _, run_id in used.values()), default=None)
    found = []
    for key, (time, run_id) in sorted(used.items()):
        tagging = seen.tags.get(key) or seen.tags.get(seen.canonical(key))
        found.append(
            DatasetUse(
                namespace=key[0],
                name=key[1],
                evidence=_evidence(job, run_id, time),
                current=job.runs[run_id].last == latest,
                tags=tagging.tags if tagging else None,
                tagged_by=_evidence(seen.jobs[tagging.job], tagging.run_id, tagging.time) if tagging else None,
                tagged_by_job="/".join(tagging.job) if tagging else None,
            )
        )
    return tuple(found)


def _readers(seen: Seen, activities: Iterable[JobKey]) -> dict[DatasetKey, list[JobKey]]:
    """Which activities read each dataset, under whichever of its names."""
    readers: dict[DatasetKey, list[JobKey]] = {}
    for key in activities:
        for dataset in {seen.canonical(dataset) for dataset in seen.jobs[key].inputs}:
            readers.setdefault(dataset, []).append(key)
    return readers


def _recipients(seen: Seen, key: JobKey, readers: Mapping[DatasetKey, list[JobKey]]) -> tuple[Recipient, ...]:
    outputs = {seen.canonical(output) for output in seen.jobs[key].outputs}
    shared: dict[JobKey, list[DatasetKey]] = {}
    for output in sorted(outputs):
        for reader in readers.get(output, ()):
            if reader != key:
                shared.setdefault(reader, []).append(output)
    found = []
    for reader, datasets in sorted(shared.items()):
        job = seen.jobs[reader]
        time, run_id = max(used for name, used in job.inputs.items() if seen.canonical(name) in datasets)
        found.append(
            Recipient(
                namespace=reader[0],
                job=reader[1],
                purpose=_said(job, "purpose").value,
                datasets=tuple("/".join(dataset) for dataset in datasets),
                evidence=_evidence(job, run_id, time),
            )
        )
    return tuple(found)


def _last_run(job: SeenJob) -> LastRun:
    run_id, run = max(job.runs.items(), key=lambda item: (item[1].last, item[0]))
    return LastRun(run.ended, Evidence(run_id, run.ended_at or run.last, run.commit))


def _evidence(job: SeenJob, run_id: str, time: datetime) -> Evidence:
    return Evidence(run_id, time, job.runs[run_id].commit)


def _names(keys: Iterable[JobKey]) -> tuple[str, ...]:
    return tuple("/".join(key) for key in keys)
