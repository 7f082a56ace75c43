"""A request to AWS as IAM sees it, before any service has: who signed it, for what."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, unquote

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIEnvironment

__all__ = ["Asked", "Call", "call_of"]

_CREDENTIAL = re.compile(
    r"Credential=(?P<key>[^/,\s]+)/\d{8}/(?P<region>[^/]+)/(?P<service>[^/]+)/aws4_request", re.IGNORECASE
)


@dataclass(frozen=True)
class Asked:
    """One question to IAM: may the caller do `action` with `resource`? `context` holds values of condition keys."""

    action: str
    resource: str = "*"
    context: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Call:
    """A signed request. `account` is the caller's."""

    key: str
    region: str
    service: str
    account: str
    environ: WSGIEnvironment

    @property
    def method(self) -> str:
        return str(self.environ["REQUEST_METHOD"])

    @cached_property
    def path(self) -> str:
        """The path, decoded, without the slash in front."""
        return unquote(str(self.environ.get("RAW_URI") or self.environ["PATH_INFO"]).split("?")[0]).lstrip("/")

    @cached_property
    def query(self) -> Mapping[str, str]:
        return dict(parse_qsl(self.environ.get("QUERY_STRING", ""), keep_blank_values=True))

    def header(self, name: str) -> str | None:
        return self.environ.get(f"HTTP_{name.upper().replace('-', '_')}")

    @cached_property
    def body(self) -> bytes:
        """The whole body, which stays readable for whoever answers."""
        data = self.environ["wsgi.input"].read(int(self.environ.get("CONTENT_LENGTH") or 0))
        self.environ["wsgi.input"] = io.BytesIO(data)
        return bytes(data)

    @cached_property
    def form(self) -> Mapping[str, str]:
        """The parameters of a service that speaks AWS's query protocol."""
        return dict(parse_qsl(self.body.decode()))

    @cached_property
    def json(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = json.loads(self.body or b"{}")
        return found

    @property
    def operation(self) -> str:
        """The operation's name, of a service that speaks one of AWS's JSON protocols or its query protocol."""
        target = self.header("X-Amz-Target")
        if target is not None:
            return target.rpartition(".")[2]
        return self.form.get("Action") or self.path.rpartition("/")[2]


def call_of(environ: WSGIEnvironment, account: str) -> Call | None:
    """The call, None for a request that nobody signed. `account` is what the caller turns out to be of."""
    credential = _CREDENTIAL.search(environ.get("HTTP_AUTHORIZATION", ""))
    if credential is None:
        return None
    return Call(credential["key"], credential["region"], credential["service"], account, environ)
