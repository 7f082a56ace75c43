"""What IAM asks about a request to STS."""

from __future__ import annotations

from collections.abc import Iterator

from sandbox.fakes.authorisation.request import Asked, Call

__all__ = ["asked_of_sts"]


def asked_of_sts(call: Call) -> Iterator[Asked]:
    """Restores: AssumeRole asks for the role, also for one of another account; who asks who it is, is told.

    moto looks for the role in the caller's own account only.
    """
    if call.operation != "GetCallerIdentity":
        yield Asked(f"sts:{call.operation}", call.form.get("RoleArn", "*"))
