"""Whether a staged batch belongs to a run that will not come back for it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from pipeline_runtime.evidence.runs import EventKind, RunEvidence
from pipeline_runtime.writers.owner import is_gone

if TYPE_CHECKING:
    from pipeline_runtime.writers.staged import WriterTools

__all__ = ["ABANDONED_AFTER", "is_abandoned"]

#: No run validates for longer; a batch that was staged before and not published belongs to a run that was killed.
ABANDONED_AFTER = timedelta(hours=24)


def is_abandoned(tools: WriterTools, run_id: str, owner: str | None, staged_at: datetime) -> bool:
    """Whether the run has said how it ended, or its process is gone, or it is a day ago. Raises EvidenceFailed."""
    return (
        is_gone(owner, tools.glue)
        or staged_at < datetime.now(UTC) - ABANDONED_AFTER
        or RunEvidence(tools.evidence, run_id).event(EventKind.TERMINAL) is not None
    )
