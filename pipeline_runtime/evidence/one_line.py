"""Other people's text, on its way to a terminal or a report."""

from __future__ import annotations

__all__ = ["one_line"]


def one_line(text: str) -> str:
    """The text without a line break, an escape sequence or anything else that is not shown: each as \\xNN."""
    return "".join(char if char.isprintable() else f"\\x{ord(char):02x}" for char in text)
