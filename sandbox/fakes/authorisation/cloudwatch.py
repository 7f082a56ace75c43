"""What IAM asks about a request to CloudWatch."""

from __future__ import annotations

from collections.abc import Iterator

from sandbox.fakes.authorisation.request import Asked, Call

__all__ = ["asked_of_cloudwatch"]


def asked_of_cloudwatch(call: Call) -> Iterator[Asked]:
    """Restores: PutMetricData knows no resource; what limits it is the condition key `cloudwatch:namespace`."""
    namespace = call.form.get("Namespace") if call.header("X-Amz-Target") is None else call.json.get("Namespace")
    yield Asked(f"cloudwatch:{call.operation}", context={"cloudwatch:namespace": namespace} if namespace else {})
