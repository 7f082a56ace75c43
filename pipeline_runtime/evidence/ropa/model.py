"""The record of processing activities, as events evidence it: each value with who said it, when and from what code.

None as a value means that nobody said it. It is never filled in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

__all__ = ["Activity", "DatasetUse", "Evidence", "LastRun", "Recipient", "Record", "Said", "Scope"]


@dataclass(frozen=True)
class Evidence:
    """The event that shows a value: its run, its time, and the commit of the code that ran (None: not said)."""

    run_id: str
    time: datetime
    commit: str | None


@dataclass(frozen=True)
class Said:
    """A value that the job's events declare.

    `evidence` is the latest event that says it, `since` the first from which on nothing else was said. `earlier`
    are the values before, the oldest first, each with the event that said it first. `silent_runs` counts the
    job's runs after `evidence` that did not say anything.
    """

    value: str | None = None
    evidence: Evidence | None = None
    since: Evidence | None = None
    earlier: tuple[tuple[str, Evidence], ...] = ()
    silent_runs: int = 0


@dataclass(frozen=True)
class DatasetUse:
    """A dataset that the activity reads or writes.

    `evidence` is the latest event that names it; `current` whether the job's latest run that named datasets did.
    `tags` are the dataset's LF-tags as the latest event says that carries any, `tagged_by` that event and
    `tagged_by_job` its job; None where nobody tagged it.
    """

    namespace: str
    name: str
    evidence: Evidence
    current: bool
    tags: Mapping[str, str] | None = None
    tagged_by: Evidence | None = None
    tagged_by_job: str | None = None


@dataclass(frozen=True)
class Recipient:
    """Another activity that reads what this one writes: which datasets, and the latest event that shows it."""

    namespace: str
    job: str
    purpose: str | None
    datasets: tuple[str, ...]
    evidence: Evidence


@dataclass(frozen=True)
class LastRun:
    """The job's latest run. `ended` is COMPLETE, FAIL or ABORT; None where no such event is in view."""

    ended: str | None
    evidence: Evidence


@dataclass(frozen=True)
class Activity:
    """One processing activity: one job, over all its events in view."""

    namespace: str
    job: str
    purpose: Said
    legal_basis: Said
    owner: Said
    inputs: tuple[DatasetUse, ...]
    outputs: tuple[DatasetUse, ...]
    recipients: tuple[Recipient, ...]
    runs: int
    last_run: LastRun


@dataclass(frozen=True)
class Scope:
    """What the record was made from, and what was left out and why.

    `validations`, `children` and `orchestrators` are jobs that are no activities; `unusable` says what could not be
    read, one line each; `other_documents` counts JSON that is no run event.
    """

    source: str
    events: int
    first: datetime | None
    last: datetime | None
    validations: tuple[str, ...]
    children: tuple[str, ...]
    orchestrators: tuple[str, ...]
    unusable: tuple[str, ...]
    other_documents: int


@dataclass(frozen=True)
class Record:
    """The activities by namespace and name, and the scope."""

    activities: tuple[Activity, ...]
    scope: Scope
