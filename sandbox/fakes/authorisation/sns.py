"""What IAM asks about a request to SNS."""

from __future__ import annotations

from collections.abc import Iterator

from sandbox.fakes.authorisation.request import Asked, Call

__all__ = ["asked_of_sns"]


def asked_of_sns(call: Call) -> Iterator[Asked]:
    """Restores: Publish asks for its topic. moto asks for `*`, which a policy that names its topic never allows."""
    yield Asked(f"sns:{call.operation}", call.form.get("TopicArn", "*"))
