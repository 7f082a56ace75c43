"""A step's body: what its runner is given besides the frame."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

__all__ = ["StepBody"]


@dataclass(frozen=True)
class StepBody:
    """The text of the file that a step names, the path under which messages show it, and where its domain lies."""

    text: str
    shown_as: str
    domain_root: Path
