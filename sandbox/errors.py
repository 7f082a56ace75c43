"""The sandbox's one error: a message for the person at the keyboard."""

from __future__ import annotations

__all__ = ["SandboxError"]


class SandboxError(Exception):
    """Something the sandbox needs is missing or did not start. The message names the remedy."""
