"""A moment on the command line."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime

from pipeline_runtime.lineage.values import instant_of

__all__ = ["instant"]


def instant(text: str) -> datetime:
    """The moment, in UTC: `now`, or ISO 8601 with an offset. Raises ArgumentTypeError for anything else."""
    if text == "now":
        return datetime.now(UTC)
    time = instant_of(text)
    if time is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not `now` or ISO 8601 with an offset, as 2026-08-04T09:00:00Z")
    return time.astimezone(UTC)
