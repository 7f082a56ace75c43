"""What IAM asks about a request to DMS."""

from __future__ import annotations

from collections.abc import Iterator

from sandbox.fakes.authorisation.request import Asked, Call

__all__ = ["asked_of_dms"]


def asked_of_dms(call: Call) -> Iterator[Asked]:
    """Restores: what starts, stops and counts asks for its task; what lists asks for `*`, as it has no resources."""
    yield Asked(f"dms:{call.operation}", str(call.json.get("ReplicationTaskArn", "*")))
