"""Why a late product is late, as the runs of its pipeline say: blocked since when, or nothing to publish, or no run.

Only asked for late products. Run ids say nothing about time, so the names of all runs are listed, a thousand a request,
and of their terminal events those are read that were stored since the product's last publish.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from pipeline_runtime.catalog.table import QUARANTINE_SUFFIX
from pipeline_runtime.evidence.event_files import EventFolder
from pipeline_runtime.evidence.event_reading import RunEvent, events_in, facet

__all__ = ["Attempts", "attempts_since"]

#: How far the clock of a run may be ahead of the store's.
_CLOCKS = timedelta(hours=1)


@dataclass(frozen=True)
class Attempts:
    """The runs that ended since the last publish. `last` is the newest one's id, `at` when it ended.

    Where that one failed, `blocked_since` is when the first of the unbroken row of failures ended, `failures` how
    many they are, and `reason` the newest one's, in a line.
    """

    last: str
    at: datetime
    blocked_since: datetime | None = None
    failures: int = 0
    quarantined: bool = False
    reason: str = ""


def attempts_since(folder: EventFolder, jobs: Mapping[tuple[str, str], datetime]) -> dict[tuple[str, str], Attempts]:
    """Of each job (namespace and name) the runs that ended after its instant; without those that had none.

    Raises EvidenceFailed.
    """
    if not jobs:
        return {}
    since = min(jobs.values()) - _CLOCKS
    files = (file for file in folder.files("runs/") if file.name.endswith("/terminal.json") and file.modified > since)
    ended: dict[tuple[str, str], list[RunEvent]] = {}
    for file, body in folder.read(files):
        for event in events_in(file.name, body):
            if not isinstance(event, RunEvent):
                continue
            job = (event.namespace, event.job)
            if job in jobs and event.time > jobs[job]:
                ended.setdefault(job, []).append(event)
    return {job: _attempts(events) for job, events in ended.items()}


def _attempts(events: Iterable[RunEvent]) -> Attempts:
    newest_first = sorted(events, key=lambda event: event.time, reverse=True)
    last = newest_first[0]
    failing = []
    for event in newest_first:
        if event.type == "COMPLETE":
            break
        failing.append(event)
    if not failing:
        return Attempts(last.run_id, last.time)
    message = facet(last.run_facets, "errorMessage").get("message")
    return Attempts(
        last=last.run_id,
        at=last.time,
        blocked_since=failing[-1].time,
        failures=len(failing),
        quarantined=any(output.name.endswith(QUARANTINE_SUFFIX) for output in last.outputs),
        reason=str(message).strip().partition("\n")[0] if message else "",
    )
