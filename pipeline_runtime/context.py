"""What one run knows about itself before it starts."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pipeline_runtime.sync.copy import SyncedCopy

__all__ = ["ParentRun", "RunContext"]


@dataclass(frozen=True)
class ParentRun:
    """The scheduler's own run: its OpenLineage job and run id."""

    namespace: str
    name: str
    run_id: str


@dataclass(frozen=True)
class RunContext:
    """One run. Times are aware and UTC; `run_id` is a UUID; `domain_root` is where the descriptor's paths start.

    `synced` is the copy of the repository that the descriptor lies in, None where it lies in a checkout.
    """

    run_id: str
    descriptor_path: Path
    domain_root: Path
    started_at: datetime
    nominal_time: datetime | None = None
    parent: ParentRun | None = None
    synced: SyncedCopy | None = None
