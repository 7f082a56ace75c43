"""What IAM asks about a request to Secrets Manager."""

from __future__ import annotations

from collections.abc import Iterator

from sandbox.fakes.authorisation.request import Asked, Call

__all__ = ["asked_of_secrets_manager"]


def asked_of_secrets_manager(call: Call) -> Iterator[Asked]:
    """Restores: an operation on a secret asks for it by the ARN that the request names. moto asks for `*`.

    Not modelled: a secret that is named without its ARN, which AWS looks up before it asks.
    """
    yield Asked(f"secretsmanager:{call.operation}", str(call.json.get("SecretId", "*")))
