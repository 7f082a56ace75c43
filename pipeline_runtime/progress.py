"""What a run has found out so far: the one thing about it that changes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pipeline_runtime.lineage.facts import RunFacts

__all__ = ["Progress"]


class Progress:
    """Holds the run's facts and takes new ones."""

    def __init__(self, facts: RunFacts) -> None:
        self.facts = facts

    def learn(self, **known: Any) -> None:
        """Replaces the named fields of the facts."""
        self.facts = replace(self.facts, **known)
