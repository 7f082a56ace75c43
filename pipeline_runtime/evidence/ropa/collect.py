"""What is kept of each event while a folder is read: facts of jobs and datasets, no event itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from pipeline_runtime.evidence.event_reading import DatasetRef, NoRunEvent, RunEvent, Unusable, facet

__all__ = ["DatasetKey", "JobKey", "Seen", "SeenJob", "SeenRun", "Tagging", "collected"]

JobKey = tuple[str, str]
DatasetKey = tuple[str, str]

_TERMINAL = {"COMPLETE", "FAIL", "ABORT"}


@dataclass
class SeenRun:
    """One run of one job: its latest event, the commit, and how it ended."""

    last: datetime
    commit: str | None = None
    ended: str | None = None
    ended_at: datetime | None = None


@dataclass
class SeenJob:
    """One job. `said` maps a field to (time, run id, value), one for each event that carries it."""

    runs: dict[str, SeenRun] = field(default_factory=dict)
    said: dict[str, list[tuple[datetime, str, str]]] = field(default_factory=dict)
    inputs: dict[DatasetKey, tuple[datetime, str]] = field(default_factory=dict)
    outputs: dict[DatasetKey, tuple[datetime, str]] = field(default_factory=dict)
    parents: set[JobKey] = field(default_factory=set)

    @property
    def declares(self) -> bool:
        return "purpose" in self.said or "legal_basis" in self.said


@dataclass(frozen=True)
class Tagging:
    """A dataset's tags as one event says."""

    time: datetime
    run_id: str
    job: JobKey
    tags: Mapping[str, str]

    @property
    def order(self) -> tuple[datetime, str, JobKey, list[tuple[str, str]]]:
        """The later one counts; what is of one instant is told apart by the rest."""
        return self.time, self.run_id, self.job, sorted(self.tags.items())


@dataclass
class Seen:
    """Everything in view."""

    jobs: dict[JobKey, SeenJob] = field(default_factory=dict)
    tags: dict[DatasetKey, Tagging] = field(default_factory=dict)
    aliases: dict[DatasetKey, DatasetKey] = field(default_factory=dict)
    events: int = 0
    first: datetime | None = None
    last: datetime | None = None
    unusable: list[Unusable] = field(default_factory=list)
    other_documents: int = 0

    def canonical(self, key: DatasetKey) -> DatasetKey:
        """The identity of a dataset that an event may have called by another of its names."""
        return self.aliases.get(key, key)


def collected(found: Iterator[RunEvent | Unusable | NoRunEvent]) -> Seen:
    """The facts of all events, in whatever order they come."""
    seen = Seen()
    for item in found:
        if isinstance(item, RunEvent):
            _take(seen, item)
        elif isinstance(item, Unusable):
            seen.unusable.append(item)
        else:
            seen.other_documents += 1
    return seen


def _take(seen: Seen, event: RunEvent) -> None:
    seen.events += 1
    seen.first = event.time if seen.first is None else min(seen.first, event.time)
    seen.last = event.time if seen.last is None else max(seen.last, event.time)
    job_key = (event.namespace, event.job)
    job = seen.jobs.setdefault(job_key, SeenJob())
    _run(job, event)
    for name, value in _declared(event):
        job.said.setdefault(name, []).append((event.time, event.run_id, value))
    parent = facet(facet(event.run_facets, "parent"), "job")
    if isinstance(parent.get("namespace"), str) and isinstance(parent.get("name"), str):
        job.parents.add((parent["namespace"], parent["name"]))
    for datasets, used in ((event.inputs, job.inputs), (event.outputs, job.outputs)):
        for dataset in datasets:
            # Pairs are compared whole: of two runs at one instant, the same one wins in whatever order they are read.
            used[dataset.key] = max(used.get(dataset.key, (event.time, event.run_id)), (event.time, event.run_id))
            _about(seen, dataset, event, job_key)


def _run(job: SeenJob, event: RunEvent) -> None:
    run = job.runs.setdefault(event.run_id, SeenRun(event.time))
    run.last = max(run.last, event.time)
    run.commit = min(filter(None, (run.commit, event.commit)), default=None)
    if event.type in _TERMINAL:
        run.ended_at, run.ended = max((run.ended_at or event.time, run.ended or ""), (event.time, event.type))


def _declared(event: RunEvent) -> Iterator[tuple[str, str]]:
    processing = facet(event.job_facets, "processing")
    for name in ("purpose", "legal_basis"):
        value = processing.get(name)
        if isinstance(value, str) and value.strip():
            yield name, value.strip()
    owners = facet(event.job_facets, "ownership").get("owners")
    names = [owner["name"] for owner in owners if _is_named(owner)] if isinstance(owners, list) else []
    if names:
        yield "owner", ", ".join(names)


def _is_named(owner: object) -> bool:
    return isinstance(owner, dict) and isinstance(owner.get("name"), str) and bool(owner["name"].strip())


def _about(seen: Seen, dataset: DatasetRef, event: RunEvent, job: JobKey) -> None:
    found = facet(dataset.facets, "tags").get("tags")
    if isinstance(found, list):
        tags = {
            tag["key"]: tag["value"]
            for tag in found
            if isinstance(tag, dict)
            and isinstance(tag.get("key"), str)
            and isinstance(tag.get("value"), str)
            and not tag.get("field")
        }
        earlier = seen.tags.get(dataset.key)
        tagging = Tagging(event.time, event.run_id, job, tags)
        if tags and (earlier is None or earlier.order < tagging.order):
            seen.tags[dataset.key] = tagging
    links = facet(dataset.facets, "symlinks").get("identifiers")
    for link in links if isinstance(links, list) else ():
        if isinstance(link, dict) and isinstance(link.get("namespace"), str) and isinstance(link.get("name"), str):
            alias = (link["namespace"], link["name"])
            if alias != dataset.key:
                seen.aliases[alias] = min(seen.aliases.get(alias, dataset.key), dataset.key)
