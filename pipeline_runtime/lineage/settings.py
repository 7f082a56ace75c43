"""Where a deployment's lineage goes, from its environment variables.

CORDATA_EVIDENCE          s3://bucket/prefix, or a local folder: where every event is stored first
CORDATA_LINEAGE_URL       the full address that events are posted to
CORDATA_LINEAGE_AUTH      iam (requests are signed; what https:// or a role means by default) or none
CORDATA_LINEAGE_ROLE_ARN  a role to assume for signing; without it, the process's own credentials sign
CORDATA_LINEAGE           off: store events, send none
CORDATA_LINEAGE_CHILDREN  on: after the terminal event, also send what the Spark listener saw, as child runs
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, cast
from urllib.parse import SplitResult, urlsplit

from pipeline_runtime.errors import ConfigurationError

__all__ = ["Auth", "Destination", "LineageSettings"]

Auth = Literal["iam", "none"]

_EXECUTE_API = re.compile(r"[a-z0-9-]+\.execute-api\.(?P<region>[a-z0-9-]+)\.amazonaws\.com(\.cn)?")
_ROLE_ARN = re.compile(r"arn:aws[a-z-]*:iam::\d{12}:role/[\w+=,.@/-]+")


@dataclass(frozen=True)
class Destination:
    """Where events are posted. With `auth` iam, requests are signed for API Gateway in `region`."""

    url: str
    auth: Auth
    region: str | None = None
    role_arn: str | None = None


@dataclass(frozen=True)
class LineageSettings:
    """A deployment's choice. `destination` is None where lineage is turned off in so many words.

    `children` asks for the listener's events to be forwarded as child runs.
    """

    evidence: str
    destination: Destination | None
    children: bool = False

    @classmethod
    def evidence_only(cls, environ: Mapping[str, str], evidence: str | None) -> str:
        """Where evidence is kept, for a command that sends nothing: as it was told, else as the environment says.

        Raises ConfigurationError where neither does.
        """
        told = {} if evidence is None else {"CORDATA_EVIDENCE": evidence}
        return cls.from_environ({**environ, **told, "CORDATA_LINEAGE": "off"}).evidence

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> LineageSettings:
        """Reads the variables. Raises ConfigurationError for a missing or contradictory one: nothing is guessed."""
        evidence = environ.get("CORDATA_EVIDENCE", "").strip()
        if not evidence:
            raise ConfigurationError(
                "CORDATA_EVIDENCE is not set; set it to s3://bucket/prefix or a local folder, where events are kept"
            )
        is_off = not _switch(environ, "CORDATA_LINEAGE", default=True)
        children = _switch(environ, "CORDATA_LINEAGE_CHILDREN", default=False)
        return cls(evidence, None if is_off else _destination(environ), children)


def _switch(environ: Mapping[str, str], name: str, *, default: bool) -> bool:
    said = environ.get(name, "").strip().lower()
    if said not in {"", "on", "off"}:
        raise ConfigurationError(f"{name} is {said!r}; allowed are on and off")
    return default if not said else said == "on"


def _destination(environ: Mapping[str, str]) -> Destination:
    url = environ.get("CORDATA_LINEAGE_URL", "").strip()
    if not url:
        raise ConfigurationError(
            "no destination for lineage: set CORDATA_LINEAGE_URL to the adapter's address, "
            "or CORDATA_LINEAGE=off to send none"
        )
    parts = _checked_url(url)
    auth = _auth(environ, parts)
    role_arn = environ.get("CORDATA_LINEAGE_ROLE_ARN", "").strip() or None
    if auth == "none":
        return Destination(url, auth)
    if role_arn is not None and _ROLE_ARN.fullmatch(role_arn) is None:
        raise ConfigurationError(f"CORDATA_LINEAGE_ROLE_ARN is {role_arn!r}, which is no role's ARN")
    return Destination(url, auth, _region(environ, parts), role_arn)


def _checked_url(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise ConfigurationError("CORDATA_LINEAGE_URL is no http:// or https:// address")
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise ConfigurationError(
            "CORDATA_LINEAGE_URL holds credentials, a query or a fragment; give the plain address, "
            "requests are signed with the process's own role"
        )
    return parts


def _auth(environ: Mapping[str, str], parts: SplitResult) -> Auth:
    chosen = environ.get("CORDATA_LINEAGE_AUTH", "").strip().lower()
    if chosen not in {"", "iam", "none"}:
        raise ConfigurationError(f"CORDATA_LINEAGE_AUTH is {chosen!r}; allowed are iam and none")
    if parts.scheme == "https":
        return cast(Auth, chosen or "iam")
    if not _is_loopback(parts.hostname or "") and chosen != "none":
        raise ConfigurationError(
            "CORDATA_LINEAGE_URL is plain http to another machine; use https, "
            "or set CORDATA_LINEAGE_AUTH=none to post unsigned"
        )
    # A role to sign with says that requests are to be signed, wherever they go.
    return cast(Auth, chosen or ("iam" if environ.get("CORDATA_LINEAGE_ROLE_ARN", "").strip() else "none"))


def _region(environ: Mapping[str, str], parts: SplitResult) -> str:
    if match := _EXECUTE_API.fullmatch(parts.hostname or ""):
        return match["region"]
    region = environ.get("AWS_REGION") or environ.get("AWS_DEFAULT_REGION")
    if not region:
        raise ConfigurationError(
            "requests to CORDATA_LINEAGE_URL are to be signed, for a region that its name does not tell; set AWS_REGION"
        )
    return region


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
