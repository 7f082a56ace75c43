"""The Lambda authorizer of the keyed route: whose Bearer key is this, and which domains may it post for?

Answers an HTTP API (payload format 2.0, simple responses) with `isAuthorized` and a context, and a REST API (REQUEST
authorizer) with a policy and the same context: `caller`, the holder's name, and `domains`, separated by spaces. API
Gateway itself answers 401 where the Authorization header is missing, and 403 where we say no.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from lineage_adapter.clients import make_client
from lineage_adapter.errors import AdapterError
from lineage_adapter.keys import Holder, KeyRing
from lineage_adapter.log import log_line
from lineage_adapter.settings import key_settings_from
from lineage_adapter.submission import fault

__all__ = ["forget", "handler"]

CONNECT_SECONDS = 1
READ_SECONDS = 2

_BEARER = re.compile(r"bearer +(?P<key>\S+) *", re.IGNORECASE)


class KeysUnreadable(Exception):
    """The keys could not be read: API Gateway answers 500, and the emitter may try again."""


@cache
def _key_ring() -> KeyRing:
    settings = key_settings_from(os.environ)
    client = make_client("secretsmanager", connect_seconds=CONNECT_SECONDS, read_seconds=READ_SECONDS, attempts=2)
    return KeyRing(lambda: str(client.get_secret_value(SecretId=settings.secret)["SecretString"]), settings.seconds)


def forget() -> None:
    """Lets the next request read the environment and the secret again."""
    _key_ring.cache_clear()


def handler(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
    """Says whether a request may pass; raises KeysUnreadable where that cannot be known."""
    match = _BEARER.fullmatch(_authorization(event))
    try:
        holder = _key_ring().holder(match["key"]) if match else None
    except Exception as error:  # the boundary: no traceback of ours may quote the secret
        reason = str(error if isinstance(error, AdapterError) else _reading(error))
        log_line(level="ERROR", message="lineage key", status="failed", reason=reason, requestId=_request_id(context))
        raise KeysUnreadable(reason) from None
    log_line(
        level="INFO" if holder else "WARNING",
        message="lineage key",
        status="known" if holder else "unknown" if match else "no bearer key",
        caller=holder.name if holder else None,
        requestId=_request_id(context),
    )
    return _policy(event, holder) if "methodArn" in event else _simple(holder)


def _authorization(event: Mapping[str, Any]) -> str:
    headers = {str(name).lower(): value for name, value in (event.get("headers") or {}).items()}
    return str(headers.get("authorization") or "").strip()


def _simple(holder: Holder | None) -> dict[str, Any]:
    return {"isAuthorized": holder is not None, "context": _context(holder)}


def _policy(event: Mapping[str, Any], holder: Holder | None) -> dict[str, Any]:
    statement = {
        "Action": "execute-api:Invoke",
        "Effect": "Allow" if holder else "Deny",
        "Resource": event["methodArn"],
    }
    return {
        "principalId": holder.name if holder else "unknown",
        "policyDocument": {"Version": "2012-10-17", "Statement": [statement]},
        "context": _context(holder),
    }


def _context(holder: Holder | None) -> dict[str, str]:
    return {"caller": holder.name, "domains": " ".join(sorted(holder.domains))} if holder else {}


def _reading(error: Exception) -> AdapterError:
    """AWS's error by its code, anything else by its place."""
    response = getattr(error, "response", None)
    code = response.get("Error", {}).get("Code") if isinstance(response, dict) else None
    return AdapterError(f"the keys cannot be read ({code})") if code else fault(error)


def _request_id(context: Any) -> str | None:
    return getattr(context, "aws_request_id", None)
