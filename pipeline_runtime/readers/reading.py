"""What a reader hands back where a frame alone would not say everything."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["Reading", "as_reading"]


def _nothing() -> tuple[str, ...]:
    return ()


@dataclass(frozen=True)
class Reading:
    """A frame of exactly the pinned columns, and what to say of the source once the frame has been computed.

    `warnings` is asked after the first action on the frame; it runs no Spark job.
    """

    frame: DataFrame
    warnings: Callable[[], tuple[str, ...]] = _nothing


def as_reading(read: DataFrame | Reading) -> Reading:
    """A reader's answer; most readers, a domain's own among them, have nothing to say beside their frame."""
    return read if isinstance(read, Reading) else Reading(read)
