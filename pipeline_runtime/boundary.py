"""The one boundary of whatever publishes: START, the work, and exactly one terminal event, whatever happens inside."""

from __future__ import annotations

import logging
from collections.abc import Callable

from pipeline_runtime.deployment import Deployment
from pipeline_runtime.engine.run_session import RunSession
from pipeline_runtime.errors import PipelineError, RunInterrupted
from pipeline_runtime.evidence.runs import RunEvidence
from pipeline_runtime.interrupts import interruptible, uninterrupted
from pipeline_runtime.progress import Progress
from pipeline_runtime.reporter import Reporter, as_pipeline_error
from pipeline_runtime.trace import Trace

__all__ = ["conduct"]


def conduct(
    deployment: Deployment, progress: Progress, trace: Trace, work: Callable[[RunSession, RunEvidence], None]
) -> int:
    """Does the work between the run's START and its terminal event; returns the exit code.

    `work` returns where the batch is published and raises where it is not. Raises ConfigurationError, with nothing
    emitted, where the evidence cannot be kept.
    """
    facts = progress.facts
    metadata = facts.descriptor.metadata
    reporter = Reporter(deployment, progress, trace)
    session = RunSession(
        deployment.start_spark,
        namespace=f"cordata.{metadata.domain}",
        job=metadata.name,
        run_id=facts.context.run_id,
    )
    error: PipelineError | None = None
    with uninterrupted():
        reporter.started()
        try:
            with interruptible(session.cancel_jobs):
                work(session, reporter.evidence)
        except BaseException as failure:
            error = as_pipeline_error(failure)
            logging.getLogger(__name__).debug("the run failed", exc_info=failure)
        progress.learn(witness=session.listened(engine_answers=not isinstance(error, RunInterrupted)))
        code = reporter.ended(error)
        problem = session.end(reporter.evidence)
        if problem is not None:
            trace.stage("lineage", problem)
        return code
