"""Closes one run: looks, judges, claims the terminal event, delivers what is stored."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, cast

from pipeline_runtime.catalog.history import snapshot_of_run
from pipeline_runtime.catalog.table import TableIdentity
from pipeline_runtime.closer.delivering import deliver_stored
from pipeline_runtime.closer.events import completed_event, ending_event
from pipeline_runtime.closer.job_runs import JobRun
from pipeline_runtime.closer.telling import note_completed, tell_of_end, tell_of_no_beginning
from pipeline_runtime.closer.verdict import Action, Seen, Verdict, judge
from pipeline_runtime.errors import EvidenceFailed
from pipeline_runtime.evidence.runs import EventKind, RunEvidence, Staged
from pipeline_runtime.evidence.store import EvidenceStore
from pipeline_runtime.lineage.delivery import Delivery
from pipeline_runtime.lineage.identity import identity_problem
from pipeline_runtime.lineage.limits import size_problem
from pipeline_runtime.lineage.redact import redact
from pipeline_runtime.notify.owner import Notifier, NotTold
from pipeline_runtime.writers.parquet_settle import finish_switch
from pipeline_runtime.writers.staged import WriterTools

if TYPE_CHECKING:
    from mypy_boto3_glue import GlueClient
    from mypy_boto3_s3 import S3Client
    from pyspark.sql import SparkSession

__all__ = ["Closed", "Closer"]

#: Characters of an error message; Glue's may hold a stack trace.
_LONGEST = 2_000


@dataclass(frozen=True)
class Closed:
    """What became of one run: the verdict, and the events that were not delivered, with why.

    `told` says what became of telling its owner, None where there was nothing to tell; `untold` why it failed.
    """

    run_id: str
    verdict: Verdict
    undelivered: tuple[str, ...] = ()
    told: str | None = None
    untold: str | None = None


@dataclass(frozen=True)
class _Published:
    """That the catalog shows the batch; Iceberg: at which snapshot."""

    snapshot_id: int | None


@dataclass(frozen=True)
class Closer:
    """What closing needs. `open_delivery` makes a delivery with a time budget of its own, None where lineage is off.

    `grace` is how long after its end a job run's last words may be on their way. `now` is aware and UTC.
    """

    glue: GlueClient
    s3: S3Client
    evidence: EvidenceStore
    open_delivery: Callable[[], Delivery | None]
    grace: timedelta
    notifier: Notifier
    now: Callable[[], datetime] = lambda: datetime.now(UTC)

    def close(self, job_run: JobRun) -> Closed:
        """Sees to it that the run of an ended job run has exactly one terminal event; harmless when called again.

        Raises EvidenceFailed and CatalogError where evidence or catalog do not answer: without them there is no
        verdict, and the caller tries again later.
        """
        run = RunEvidence(self.evidence, job_run.run_id)
        is_fresh = self.now() < job_run.at + self.grace
        seen, published = self._look(run, is_dead=job_run.has_ended and not is_fresh)
        verdict = judge(seen, job_run.state, has_ended=job_run.has_ended, is_fresh=is_fresh)
        if verdict.action is Action.WAIT:
            return Closed(run.run_id, verdict)
        undelivered: list[str] = []
        if verdict.action is not Action.SILENT:
            if verdict.action is not Action.DELIVER:
                self._claim(run, self._event(run, verdict, published, job_run), verdict)
            undelivered = deliver_stored(run, self.open_delivery())
        if is_fresh or not job_run.has_ended:
            return Closed(run.run_id, verdict, tuple(undelivered))  # The run may be about to tell by itself.
        try:
            told = self._tell(run, verdict, job_run)
        except NotTold as failure:
            return Closed(run.run_id, verdict, tuple(undelivered), untold=str(failure))
        return Closed(run.run_id, verdict, tuple(undelivered), told)

    def _look(self, run: RunEvidence, *, is_dead: bool) -> tuple[Seen, _Published | None]:
        """What is known of the run; of one that may be alive the catalog is not asked."""
        if run.event(EventKind.TERMINAL) is not None:
            return Seen(started=True, ended=True), None
        started = run.event(EventKind.START) is not None
        staged = run.staged() if started else None
        published = self._published(run, staged) if staged is not None and is_dead else None
        seen = Seen(
            started=started,
            refused=run.refused() is not None,
            announced=staged is not None,
            foreseen=run.foreseen(EventKind.TERMINAL) is not None,
            published=published is not None,
        )
        return seen, published

    def _published(self, run: RunEvidence, staged: Staged) -> _Published | None:
        identity = _identity(staged.target)
        if staged.format == "parquet":
            # No engine is needed for it. A batch of which a part is shown cannot be called unpublished.
            tools = WriterTools(cast("SparkSession", None), self.glue, self.s3, self.evidence)
            record = finish_switch(tools, identity, run.run_id)
            return None if record is None else _Published(None)
        snapshot = snapshot_of_run(self.glue, self.s3, identity, run.run_id, staged.snapshot_id)
        return None if snapshot is None else _Published(snapshot.id)

    def _event(self, run: RunEvidence, verdict: Verdict, published: _Published | None, job_run: JobRun) -> bytes:
        if verdict.action is Action.COMPLETE:
            foreseen = run.foreseen(EventKind.TERMINAL)
            if foreseen is None:
                raise EvidenceFailed(
                    f"evidence: run {run.run_id} has published, and the event it had foreseen is not at "
                    f"{run.where(EventKind.TERMINAL).rpartition('/')[0]}/foreseen/terminal.json; restore it"
                )
            return completed_event(foreseen, self.now(), published.snapshot_id if published is not None else None)
        start = run.event(EventKind.START) or b"{}"
        text = f"{verdict.reason}. The run itself did not say how it ended (job {job_run.job}, job run {job_run.id})."
        if job_run.message:
            text += f" Glue says: {job_run.message}"
        return ending_event(start, verdict.action.value, redact(text)[:_LONGEST], self.now())

    def _claim(self, run: RunEvidence, body: bytes, verdict: Verdict) -> None:
        claim = run.claim(EventKind.TERMINAL, body)
        if not claim.won:
            return  # The run itself, another closer or a run after it was faster; its word stands.
        if verdict.action is Action.COMPLETE and (other := run.foreseen(EventKind.OTHER)) is not None:
            run.claim(EventKind.OTHER, other)
        reason = _parking_reason(body)
        if reason is not None:
            run.park(EventKind.TERMINAL, reason)

    def _tell(self, run: RunEvidence, verdict: Verdict, job_run: JobRun) -> str | None:
        if verdict.action is Action.SILENT:
            return tell_of_no_beginning(run, job_run, self.notifier, self.now())
        if verdict.action is Action.COMPLETE:
            note_completed(run, self.now())
        return tell_of_end(run, self.notifier, self.now())


def _parking_reason(body: bytes) -> str | None:
    event = json.loads(body)
    datasets = [*event["inputs"], *event["outputs"]]
    return identity_problem((each["namespace"], each["name"]) for each in datasets) or size_problem(body)


def _identity(arn: str) -> TableIdentity:
    """The table that a staged record's ARN names: `arn:aws:glue:<region>:<account>:table/<database>/<table>`."""
    *_, region, account, path = arn.split(":")
    _, database, table = path.split("/")
    return TableIdentity(region, account, database, table)
