"""Glue job runs, as an event of EventBridge names them and as Glue itself tells of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from pipeline_runtime.job_run_ids import run_id_in

if TYPE_CHECKING:
    from mypy_boto3_glue import GlueClient

__all__ = ["ENDED", "STATE_CHANGE", "JobRun", "job_run_of_event", "job_runs_since"]

#: EventBridge's name for Glue's job-state events.
STATE_CHANGE = "Glue Job State Change"
#: Of Glue's JobRunState, those after which no process of the job run is left.
ENDED = frozenset({"SUCCEEDED", "FAILED", "TIMEOUT", "STOPPED", "ERROR", "EXPIRED"})


@dataclass(frozen=True)
class JobRun:
    """One run of a Glue job. `id` is Glue's (`jr_…`), `at` when it got into its state, `message` Glue's reason."""

    job: str
    id: str
    state: str
    at: datetime
    message: str | None = None
    arguments: Mapping[str, str] = field(default_factory=dict)

    @property
    def has_ended(self) -> bool:
        return self.state in ENDED

    @property
    def run_id(self) -> str:
        """The id of the pipeline run in it."""
        return run_id_in(self.arguments, self.id)


def job_run_of_event(event: Mapping[str, Any], glue: GlueClient) -> JobRun:
    """The job run that a state-change event is about, in the state that Glue gives it now.

    An event may come twice, late, or before another that was sent earlier: it only says whom to ask for. Where Glue
    does not know the job run any more, the event's own word counts. Raises KeyError for what is no such event, and
    botocore's errors.
    """
    detail = event["detail"]
    job, id_ = str(detail["jobName"]), str(detail["jobRunId"])
    try:
        return _told(job, glue.get_job_run(JobName=job, RunId=id_)["JobRun"])
    except glue.exceptions.EntityNotFoundException:
        at = datetime.fromisoformat(event["time"])
        return JobRun(job, id_, str(detail["state"]), at, detail.get("message") or None)


def job_runs_since(glue: GlueClient, job: str, since: datetime) -> Iterator[JobRun]:
    """The job's runs that started after `since`, the newest first. Raises botocore's errors."""
    for page in glue.get_paginator("get_job_runs").paginate(JobName=job):
        for found in page["JobRuns"]:
            if found["StartedOn"] < since:
                return
            yield _told(job, found)


def _told(job: str, found: Any) -> JobRun:
    at = found.get("CompletedOn") or found.get("LastModifiedOn") or datetime.now(UTC)
    return JobRun(
        job, found["Id"], found["JobRunState"], at, found.get("ErrorMessage") or None, found.get("Arguments") or {}
    )
