"""Telling the owner of a run that could not do it itself: killed, refused before it began, or out of the owner's reach.

Whoever is first tells, the run or the closer; `notify.telling` says when it is done and when left.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from pipeline_runtime.catalog.table import QUARANTINE_SUFFIX
from pipeline_runtime.evidence.runs import EventKind, RunEvidence
from pipeline_runtime.lineage.redact import redact
from pipeline_runtime.lineage.values import instant_of, utc_text
from pipeline_runtime.notify.notices import lost_run_notice
from pipeline_runtime.notify.telling import AGAIN, note_published, signature_of, tell_of_failure

if TYPE_CHECKING:
    from pipeline_runtime.closer.job_runs import JobRun
    from pipeline_runtime.notify.owner import Notifier

__all__ = ["note_completed", "tell_of_end", "tell_of_no_beginning"]


def tell_of_end(run: RunEvidence, notifier: Notifier, now: datetime) -> str | None:
    """Tells the owner, where the run's terminal event says that it failed; returns what became of it, None where
    there was nothing to tell. Nobody is told of what is a day old. Raises NotTold, EvidenceFailed.
    """
    body = run.event(EventKind.TERMINAL)
    event: dict[str, Any] = {} if body is None else json.loads(body)
    at = instant_of(event.get("eventTime"))
    if at is None or at < now - AGAIN:
        return None
    reason = event["run"].get("facets", {}).get("errorMessage", {}).get("message")
    if reason is None:
        return None
    domain, pipeline = _job(event)
    is_quarantined = any(output["name"].endswith(QUARANTINE_SUFFIX) for output in event.get("outputs", []))
    notice = lost_run_notice(
        owner=_owner(event["job"].get("facets", {})),
        domain=domain,
        pipeline=pipeline,
        run_id=run.run_id,
        reason=reason,
        at=utc_text(now),
    )
    signature = f"quarantine {run.run_id}" if is_quarantined else signature_of(reason)
    return tell_of_failure(run.store, notifier, notice, signature, now)


def tell_of_no_beginning(run: RunEvidence, job_run: JobRun, notifier: Notifier, now: datetime) -> str | None:
    """The same of an ended job run in which no pipeline began, or was refused. Nobody knows whose it was."""
    if job_run.state == "SUCCEEDED" or job_run.at < now - AGAIN:
        return None
    refused = run.refused()
    reason = refused or f"the job run ended as {job_run.state} before its pipeline began"
    if refused is None and job_run.message:
        reason += f". Glue says: {job_run.message}"
    notice = lost_run_notice(
        owner="",
        domain="",
        pipeline=job_run.job,
        run_id=run.run_id,
        reason=f"{redact(reason)} (job {job_run.job}, job run {job_run.id})",
        at=utc_text(now),
    )
    return tell_of_failure(run.store, notifier, notice, signature_of(reason), now)


def note_completed(run: RunEvidence, now: datetime) -> None:
    """That the pipeline's failures are over, where the run itself could not note it. Raises EvidenceFailed."""
    body = run.event(EventKind.TERMINAL)
    if body is not None:
        note_published(run.store, *_job(json.loads(body)), run.run_id, now)


def _job(event: Mapping[str, Any]) -> tuple[str, str]:
    """The domain and the pipeline; an event that names no job is nobody's."""
    job = event["job"]
    return str(job.get("namespace", "")).removeprefix("cordata."), str(job.get("name", ""))


def _owner(facets: Mapping[str, Any]) -> str:
    owners = facets.get("ownership", {}).get("owners") or [{}]
    return str(owners[0].get("name", ""))
