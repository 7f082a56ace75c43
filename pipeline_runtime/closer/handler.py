"""The Lambda's entry point: Glue's job-state events, and the schedule's sweep.

    {"detail-type": "Glue Job State Change", "detail": {"jobName", "jobRunId", "state", …}}   one job run
    {"detail-type": "Scheduled Event"}, or {"sweep": true}                                   all job runs of late

Answers with what became of each run, `{"runs": [{"runId", "job", "jobRunId", "action", "reason", "undelivered"}]}`,
with "told" where its owner was told of its end, and logs a line a run. The sweep also closes batches of ingestion
whose run was killed; they have a "task" instead of a job and a job run. A run that cannot be judged, because the
evidence or the catalog does not answer, does not stop the sweep, nor does an owner who cannot be told; the call fails
at its end, so that the Lambda's alarm hears of it. An event that comes so early that the run's last words may be on
their way fails as well: Lambda tries an asynchronous call again after a minute.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import cache
from typing import Any

from botocore.credentials import AssumeRoleCredentialFetcher, DeferredRefreshableCredentials
from botocore.exceptions import BotoCoreError, ClientError
from botocore.session import Session, get_session

from pipeline_runtime.closer.closing import Closer
from pipeline_runtime.closer.job_runs import STATE_CHANGE, JobRun, job_run_of_event, job_runs_since
from pipeline_runtime.closer.lost_batches import close_lost_batches
from pipeline_runtime.closer.settings import CloserSettings
from pipeline_runtime.closer.verdict import Action
from pipeline_runtime.errors import CatalogError, ConfigurationError, EvidenceFailed
from pipeline_runtime.evidence.store import open_store
from pipeline_runtime.lineage.delivery import open_delivery
from pipeline_runtime.lineage.redact import redact
from pipeline_runtime.notify.owner import open_notifier

__all__ = ["CloserFailed", "TooEarly", "closer_of", "handler"]

_PROBLEMS = (CatalogError, EvidenceFailed, BotoCoreError, ClientError)


class CloserFailed(Exception):
    """Some runs could not be judged; the next event or sweep tries again."""


class TooEarly(CloserFailed):
    """The job run has only just ended; Lambda tries the event again in a minute."""


def handler(event: Mapping[str, Any], context: Any) -> dict[str, Any]:  # noqa: ARG001 - Lambda's signature
    """Closes the run that the event is about, or sweeps. Raises CloserFailed, TooEarly, ConfigurationError."""
    settings, closer = _connected()
    if event.get("detail-type") == STATE_CHANGE:
        job_run = job_run_of_event(event, closer.glue)
        answer = _close_all(closer, [job_run], [])
        if job_run.has_ended and answer["runs"][0]["action"] == Action.WAIT.value:
            raise TooEarly(f"run {job_run.run_id}: {answer['runs'][0]['reason']}")
        return answer
    if event.get("detail-type") == "Scheduled Event" or event.get("sweep"):
        return _sweep(settings, closer)
    raise CloserFailed(f"neither a {STATE_CHANGE} nor a schedule's event: {event.get('detail-type')!r}")


def closer_of(settings: CloserSettings) -> Closer:
    """The closer with its clients."""
    import boto3
    from botocore.config import Config

    session = boto3.Session() if settings.role_arn is None else boto3.Session(botocore_session=_as(settings.role_arn))
    retrying = Config(retries={"mode": "adaptive", "total_max_attempts": 8})
    s3 = session.client("s3", config=retrying)
    evidence = open_store(settings.lineage.evidence, lambda: s3)
    return Closer(
        glue=session.client("glue", config=retrying),
        s3=s3,
        evidence=evidence,
        notifier=open_notifier(settings.owner, evidence, session),
        open_delivery=lambda: open_delivery(settings.lineage.destination),
        grace=settings.grace,
    )


def _as(role_arn: str) -> Session:
    """A session with the role's credentials, which are refreshed for as long as the process lives."""
    own, assumed = get_session(), get_session()
    fetcher = AssumeRoleCredentialFetcher(
        client_creator=own.create_client,
        source_credentials=own.get_credentials(),
        role_arn=role_arn,
        extra_args={"RoleSessionName": "pipeline-runtime-closer"},
    )
    refreshed = DeferredRefreshableCredentials(refresh_using=fetcher.fetch_credentials, method="assume-role")
    # botocore has no public way to give a session credentials that refresh themselves.
    assumed._credentials = refreshed  # type: ignore[attr-defined]
    return assumed


@cache
def _connected() -> tuple[CloserSettings, Closer]:
    """Made once a process, at its first event; a wrong setting is reported at every event."""
    settings = CloserSettings.from_environ(os.environ)
    return settings, closer_of(settings)


def _sweep(settings: CloserSettings, closer: Closer) -> dict[str, Any]:
    if not settings.jobs:
        raise ConfigurationError("CORDATA_CLOSER_JOBS is not set; name the Glue jobs that the sweep is to ask for")
    since = datetime.now(UTC) - settings.lookback
    problems: list[str] = []
    found: list[JobRun] = []
    for job in settings.jobs:
        try:
            found += [job_run for job_run in job_runs_since(closer.glue, job, since) if job_run.has_ended]
        except _PROBLEMS as error:
            problems.append(redact(f"job {job}: {error}"))
    batches = _lost_batches(closer, problems)
    answer = _close_all(closer, found, problems)
    return {"runs": batches + answer["runs"]}


def _lost_batches(closer: Closer, problems: list[str]) -> list[dict[str, Any]]:
    try:
        lost = close_lost_batches(closer.evidence, closer.open_delivery, closer.now())
    except EvidenceFailed as error:
        problems.append(redact(f"batches of ingestion: {error}"))
        return []
    answer: list[dict[str, Any]] = []
    for each in lost:
        said = {"runId": each.run_id, "task": each.task, "action": Action.FAIL.value, "reason": each.reason}
        answer.append({**said, "undelivered": list(each.undelivered)})
        _log(answer[-1])
    return answer


def _close_all(closer: Closer, job_runs: Iterable[JobRun], problems: list[str]) -> dict[str, Any]:
    answer: list[dict[str, Any]] = []
    for job_run in job_runs:
        said: dict[str, Any] = {"runId": job_run.run_id, "job": job_run.job, "jobRunId": job_run.id}
        try:
            closed = closer.close(job_run)
        except _PROBLEMS as error:
            problems.append(redact(f"run {job_run.run_id}: {error}"))
            said |= {"action": "failed", "reason": problems[-1]}
        else:
            said |= {"action": closed.verdict.action.value, "reason": closed.verdict.reason}
            said |= {"undelivered": list(closed.undelivered)}
            said |= {"told": closed.told} if closed.told is not None else {}
            if closed.untold is not None:
                problems.append(redact(f"run {job_run.run_id}: its owner was not told: {closed.untold}"))
        answer.append(said)
        _log(said)
    if problems:
        raise CloserFailed("; ".join(problems))
    return {"runs": answer}


def _log(said: Mapping[str, Any]) -> None:
    """A line a run."""
    sys.stdout.write(json.dumps({"level": "INFO", "message": "closer", **said}) + "\n")
