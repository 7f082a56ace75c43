"""Lists that come in pages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

__all__ = ["page"]

T = TypeVar("T")


def page(items: Sequence[T], token: str | None, size: int) -> tuple[Sequence[T], str | None]:
    """One page of `items` and the token of the next one, None after the last."""
    start = int(token or 0)
    end = start + size
    return items[start:end], str(end) if end < len(items) else None
