"""The one error of building and publishing: a message for the person at the keyboard."""

from __future__ import annotations

__all__ = ["ArtefactError"]


class ArtefactError(Exception):
    """The release cannot be built or published. The message says what is wrong, where, and what to do."""
