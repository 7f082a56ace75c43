"""API Gateway's HTTP API, payload format 2.0: the body out of a request, the answer into a response."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping
from typing import Any

from lineage_adapter.errors import BodyUnreadable, EncodingUnknown, EventTooLarge
from lineage_adapter.limits import MAX_EVENT_BYTES

__all__ = ["read_body", "response"]

_GZIP_MAGIC = b"\x1f\x8b"


def read_body(request: Mapping[str, Any]) -> bytes:
    """The bytes that the emitter wrote, without the transport's base64 and gzip; raises a Refused."""
    text = request.get("body")
    if not text:
        raise BodyUnreadable("the request has no body; post one OpenLineage run event as JSON")
    try:
        data = base64.b64decode(text, validate=True) if request.get("isBase64Encoded") else text.encode("utf-8")
    except ValueError:
        raise BodyUnreadable("the request's body is neither valid base64 nor text") from None
    return _unpack(data, _content_encoding(request))


def response(code: int, answer: Mapping[str, Any], retry_after: int | None = None) -> dict[str, Any]:
    """The answer as HTTP API takes it; `retry_after` in seconds."""
    headers = {"content-type": "application/json"}
    if retry_after is not None:
        headers["retry-after"] = str(retry_after)
    return {"statusCode": code, "headers": headers, "body": json.dumps(answer), "isBase64Encoded": False}


def _content_encoding(request: Mapping[str, Any]) -> str:
    # HTTP API lower-cases header names; other callers of the handler may not.
    headers = {str(name).lower(): value for name, value in (request.get("headers") or {}).items()}
    return str(headers.get("content-encoding", "")).strip().lower()


def _unpack(data: bytes, encoding: str) -> bytes:
    if encoding not in {"", "identity", "gzip", "x-gzip"}:
        raise EncodingUnknown(f"Content-Encoding {encoding[:40]!r} is not unpacked here; send gzip, or none")
    # The bytes decide: JSON cannot begin with gzip's two, and a proxy may have unpacked and kept the header.
    return _gunzip(data) if data.startswith(_GZIP_MAGIC) else data


def _gunzip(data: bytes) -> bytes:
    """Unpacks every member of a gzip body, and stops as soon as the result is longer than an event may be."""
    unpacked = b""
    while data:
        stream = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
        try:
            unpacked += stream.decompress(data, MAX_EVENT_BYTES + 1 - len(unpacked))
        except zlib.error:
            raise BodyUnreadable("the request's gzip body is broken") from None
        if len(unpacked) > MAX_EVENT_BYTES:
            raise EventTooLarge(f"the event unpacks to more than the {MAX_EVENT_BYTES:,} bytes that DataZone takes")
        if not stream.eof:
            raise BodyUnreadable("the request's gzip body ends too early")
        data = stream.unused_data
    return unpacked
