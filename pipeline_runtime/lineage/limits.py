"""How large an event may be."""

from __future__ import annotations

__all__ = ["MAX_EVENT_BYTES", "size_problem"]

#: DataZone's PostLineageEvent refuses bodies above 300 KB; counted in bytes of UTF-8, as botocore does not.
MAX_EVENT_BYTES = 300_000


def size_problem(body: bytes) -> str | None:
    """Why an event of these bytes must not be sent; None where it may."""
    if len(body) <= MAX_EVENT_BYTES:
        return None
    return f"the event has {len(body):,} bytes, DataZone accepts {MAX_EVENT_BYTES:,}"
