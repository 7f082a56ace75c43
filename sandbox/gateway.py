"""What API Gateway's HTTP API does in front of the adapter: asks who sends, and hands on a request that says so.

Models
    the route with IAM authorisation: a request without a SigV4 signature for execute-api is answered 403, another one
    carries the caller under requestContext.authorizer.iam. Who that is, STS says of the access key. The signature
    itself is not verified: the stand-in for AWS knows no secrets.
    the route with a Lambda authorizer (payload format 2.0, simple responses): without an Authorization header 401,
    where it says no 403, where it fails 500, else its context under requestContext.authorizer.lambda.
    the form of a request: text as text; anything packed, binary or not UTF-8 as base64.
Left out: the authorizer's cache, throttling.
"""

from __future__ import annotations

import base64
import re
import threading
from collections.abc import Mapping
from typing import Any

from lineage_adapter import authorizer

__all__ = ["IAM_PATH", "KEY_PATH", "PATHS", "Gateway", "Stopped", "http_api_request"]

IAM_PATH = "/lineage"
KEY_PATH = "/api/v1/lineage"
PATHS = (IAM_PATH, KEY_PATH)

_SIGNATURE = re.compile(
    r"AWS4-HMAC-SHA256 Credential=(?P<key>[^/,\s]+)/\d{8}/[^/]+/execute-api/aws4_request, ?"
    r"SignedHeaders=[^,]+, ?Signature=[0-9a-f]{64}"
)


class Stopped(Exception):
    """API Gateway answers this itself: `code` and, as the text, the message."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class Gateway:
    """Authorises requests; remembers whose an access key is, as STS told."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._identities: dict[str, dict[str, Any]] = {}

    def authorised(self, request: dict[str, Any], context: Any) -> dict[str, Any]:
        """The request with its caller; raises Stopped where API Gateway would not let it pass."""
        headers = request["headers"]
        if request["rawPath"] == KEY_PATH:
            return _with_authorizer(request, "lambda", _ask_authorizer(request, context))
        match = _SIGNATURE.fullmatch(headers.get("authorization", ""))
        if match is None:
            raise Stopped(403, "Forbidden")
        return _with_authorizer(request, "iam", self._identity(match["key"], headers.get("x-amz-security-token")))

    def _identity(self, access_key: str, token: str | None) -> dict[str, Any]:
        with self._lock:
            if access_key not in self._identities:
                self._identities[access_key] = _ask_sts(access_key, token)
            return self._identities[access_key]


def _ask_authorizer(request: dict[str, Any], context: Any) -> dict[str, Any]:
    authorization = request["headers"].get("authorization")
    if not authorization:
        raise Stopped(401, "Unauthorized")
    asked = {
        "version": "2.0",
        "type": "REQUEST",
        "routeArn": "arn:aws:execute-api:eu-central-1:444455556666:a1b2c3d4e5/$default/POST/api/v1/lineage",
        "identitySource": [authorization],
        **{key: request[key] for key in ("routeKey", "rawPath", "rawQueryString", "headers", "requestContext")},
    }
    try:
        answer = authorizer.handler(asked, context)
    except Exception:
        raise Stopped(500, "Internal Server Error") from None
    if not answer["isAuthorized"]:
        raise Stopped(403, "Forbidden")
    said: dict[str, Any] = answer["context"]
    return said


def _ask_sts(access_key: str, token: str | None) -> dict[str, Any]:
    import boto3
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        client: Any = boto3.Session(access_key, "unknown", token).client("sts")
        caller = client.get_caller_identity()
    except (BotoCoreError, ClientError):
        raise Stopped(500, "Internal Server Error") from None
    return {
        "accessKey": access_key,
        "accountId": caller["Account"],
        "callerId": caller["UserId"],
        "cognitoIdentity": None,
        "principalOrgId": "o-sandbox",
        "userArn": caller["Arn"],
        "userId": caller["UserId"],
    }


def _with_authorizer(request: dict[str, Any], kind: str, said: dict[str, Any]) -> dict[str, Any]:
    context = {**request["requestContext"], "authorizer": {kind: said}}
    return {**request, "requestContext": context}


def http_api_request(method: str, path: str, headers: Mapping[str, str], body: bytes) -> dict[str, Any]:
    """The event that an HTTP API makes of a request, payload format 2.0, without a caller."""
    names = {name.lower(): value for name, value in headers.items()}
    kind = names.get("content-type", "application/json").split(";")[0].strip().lower()
    text = None
    if "content-encoding" not in names and (kind.startswith("text/") or kind.endswith(("json", "xml"))):
        text = _text(body)
    return {
        "version": "2.0",
        "routeKey": f"{method} {path}",
        "rawPath": path,
        "rawQueryString": "",
        "headers": names,
        "requestContext": {"http": {"method": method, "path": path}, "stage": "$default"},
        "body": base64.b64encode(body).decode("ascii") if text is None else text,
        "isBase64Encoded": text is None,
    }


def _text(body: bytes) -> str | None:
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError:
        return None
