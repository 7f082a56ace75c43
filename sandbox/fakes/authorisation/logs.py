"""What IAM asks about a request to CloudWatch Logs."""

from __future__ import annotations

from collections.abc import Iterator

from sandbox.fakes.authorisation.request import Asked, Call

__all__ = ["asked_of_logs"]


def asked_of_logs(call: Call) -> Iterator[Asked]:
    """Restores: PutLogEvents asks for the log stream, every other operation for the log group. moto asks for `*`."""
    given = call.json
    group = f"arn:aws:logs:{call.region}:{call.account}:log-group:{given.get('logGroupName', '*')}"
    stream = f":log-stream:{given.get('logStreamName')}" if call.operation == "PutLogEvents" else ""
    yield Asked(f"logs:{call.operation}", group + stream)
