"""What `verify` finds, and in which words."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from pipeline_runtime.evidence.one_line import one_line

__all__ = ["Finding", "FindingKind"]


class FindingKind(str, Enum):
    """What is wrong. The text is what a line of output begins with."""

    NO_COMMIT = "no commit"
    MISSING_COMMIT = "missing commit"
    UNMERGED = "unmerged commit"
    LATE_COMMIT = "commit after the run"
    DIRTY_TREE = "dirty tree"
    HASH_MISMATCH = "hash mismatch"
    MISSING_FILE = "missing file"
    UNLISTED_FILE = "unlisted file"
    DISAGREEMENT = "event and commit disagree"
    EVENTS_DISAGREE = "events disagree"
    DELIVERY_MISMATCH = "delivered event differs"
    WHOLE_EVENT = "whole event differs"
    BAD_OBJECT = "corrupt repository"
    UNSIGNED = "unsigned commit"
    BAD_SIGNATURE = "bad signature"
    UNKNOWN_KEY = "unknown key"
    EXPIRED_KEY = "expired key"
    REVOKED_KEY = "revoked key"
    UNCHECKED_SIGNATURE = "unchecked signature"


@dataclass(frozen=True)
class Finding:
    """One thing that does not hold. The text is one line."""

    kind: FindingKind
    text: str

    def __str__(self) -> str:
        # Names in events and repositories are other people's text; none of it may start a line of its own.
        return one_line(f"{self.kind.value}: {self.text}")
