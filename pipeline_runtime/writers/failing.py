"""What the writers make of an engine error: a failed write, or only a warning once the outcome is settled.

Both catch what Spark and the JVM raise, never a PipelineError: a RunInterrupted that a signal handler raises
passes through, and nothing calls the JVM after it (design decision D2).
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from pipeline_runtime.engine.spark_error import failures, short_message
from pipeline_runtime.errors import CatalogError, EvidenceFailed, WriteFailed

__all__ = ["failing_as_write_failed", "only_warning"]

_log = logging.getLogger(__name__)


@contextmanager
def failing_as_write_failed(subject: str) -> Iterator[None]:
    """Turns an engine error in the block into WriteFailed: `<subject>: <cause>`."""
    try:
        yield
    except failures() as error:
        raise WriteFailed(f"{subject}: {short_message(error)}") from error


@contextmanager
def only_warning(subject: str) -> Iterator[None]:
    """Logs what the engine or AWS refuses in the block, for cleaning up behind an outcome that it must not change."""
    from botocore.exceptions import BotoCoreError

    try:
        yield
    except failures() as error:
        _log.warning("%s: %s", subject, short_message(error))
    except (CatalogError, EvidenceFailed, WriteFailed, BotoCoreError) as error:
        _log.warning("%s: %s", subject, error)
