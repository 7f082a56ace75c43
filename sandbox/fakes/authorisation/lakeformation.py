"""What IAM asks about a request to Lake Formation."""

from __future__ import annotations

from collections.abc import Iterator

from sandbox.fakes.authorisation.request import Asked, Call

__all__ = ["asked_of_lakeformation"]


def asked_of_lakeformation(call: Call) -> Iterator[Asked]:
    """Restores: each operation is an action of its own, and none knows a resource: IAM decides about `*`.

    What may be done with which tag is granted in Lake Formation itself: `sandbox.fakes.authorisation.lf_tags`.
    """
    yield Asked(f"lakeformation:{call.operation}")
