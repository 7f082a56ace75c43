"""API Gateway's requests: the body and the caller out of one, the answer into a response.

Both forms are read: an HTTP API's payload format 2.0, and the proxy event of a REST API, which is what stands in
front where the network must be private.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from lineage_adapter.callers import Caller, principal
from lineage_adapter.errors import BodyUnreadable, CallerUnknown, DomainForeign
from lineage_adapter.submission import Wire

__all__ = ["read_caller", "read_wire", "response"]


def read_wire(request: Mapping[str, Any]) -> Wire:
    """The request's body as the emitter sent it; raises BodyUnreadable where there is none."""
    text = request.get("body")
    if not text:
        raise BodyUnreadable("the request has no body; post one OpenLineage run event as JSON")
    encoding = _header(request, "content-encoding")
    if request.get("isBase64Encoded"):
        return Wire.from_base64(text, encoding)
    return Wire(text.encode("utf-8"), encoding)


def read_caller(request: Mapping[str, Any], principals: Mapping[str, frozenset[str]]) -> Caller:
    """Who sends, as API Gateway found out: a key's holder from our authorizer, else the identity that signed.

    Raises CallerUnknown where it found nobody, which is a route without authorisation; DomainForeign for an identity
    that the configuration does not list.
    """
    context = request.get("requestContext") or {}
    authorizer = context.get("authorizer") or {}
    keyed = authorizer.get("lambda") or authorizer
    if keyed.get("caller"):
        return Caller(str(keyed["caller"]), frozenset(str(keyed.get("domains", "")).split()), "key")
    signed = (authorizer.get("iam") or context.get("identity") or {}).get("userArn")
    if not signed:
        raise CallerUnknown("nothing proves who sends this event; sign the request, or send a Bearer key")
    name = principal(signed)
    if name not in principals:
        raise DomainForeign(f"{name} belongs to no domain; list it in the adapter's LINEAGE_CALLERS")
    return Caller(name, principals[name], "iam")


def response(code: int, answer: Mapping[str, Any], retry_after: int | None = None) -> dict[str, Any]:
    """The answer as API Gateway takes it; `retry_after` in seconds."""
    headers = {"content-type": "application/json"}
    if retry_after is not None:
        headers["retry-after"] = str(retry_after)
    return {"statusCode": code, "headers": headers, "body": json.dumps(answer), "isBase64Encoded": False}


def _header(request: Mapping[str, Any], name: str) -> str:
    # HTTP API lower-cases header names; REST API does not.
    headers = {str(key).lower(): value for key, value in (request.get("headers") or {}).items()}
    return str(headers.get(name) or "").strip().lower()
