"""Who sends, and for which domains: a caller belongs to domains, and speaks for no other.

The run's job namespace decides: `cordata.<domain>`, or a namespace below it. Neither the parent facet, nor a dataset,
nor the job's name is asked. Namespaces are compared as they are written; what is spelled otherwise belongs to nobody.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lineage_adapter.errors import ConfigurationError, DomainForeign

__all__ = ["ANY_DOMAIN", "Caller", "check_domain", "domain_of", "domains_from", "principal", "principals_from"]

#: In a list of domains: all of them. For a stream or a tool that serves the whole platform.
ANY_DOMAIN = "*"

_NAMESPACE = re.compile(r"cordata\.(?P<domain>[a-z0-9][a-z0-9_-]*)(?:\..+)?", re.DOTALL)
_DOMAIN = re.compile(r"[a-z0-9][a-z0-9_-]*")
_ASSUMED = re.compile(r"arn:(?P<partition>[a-z-]+):sts::(?P<account>\d{12}):assumed-role/(?P<role>[^/]+)/.*", re.DOTALL)
_ROLE = re.compile(r"arn:(?P<partition>[a-z-]+):iam::(?P<account>\d{12}):role/(?:.*/)?(?P<role>[^/]+)")


@dataclass(frozen=True)
class Caller:
    """Who sent an event. `name` is a role's or stream's ARN or a key's name, `entry` iam, key, kinesis or redrive."""

    name: str
    domains: frozenset[str]
    entry: str


def check_domain(namespace: str, caller: Caller) -> None:
    """Raises DomainForeign where `caller` may not post an event of a job in this namespace."""
    domain = domain_of(namespace)
    if domain is None:
        raise DomainForeign(
            f"job namespace {namespace[:100]!r} belongs to no domain; it must be cordata.<domain>: "
            "set the emitter's OpenLineage namespace"
        )
    if domain not in caller.domains and ANY_DOMAIN not in caller.domains:
        own = ", ".join(sorted(caller.domains)) or "no domain"
        raise DomainForeign(
            f"job namespace {namespace[:100]!r} belongs to domain {domain}, the caller belongs to {own}; "
            "post with the role or key of the event's own domain"
        )


def domain_of(namespace: str) -> str | None:
    """The domain that a job namespace belongs to; None for one that is not `cordata.<domain>` or below it."""
    match = _NAMESPACE.fullmatch(namespace)
    return match["domain"] if match else None


def principal(arn: str) -> str:
    """A caller's ARN as the configuration names it: an assumed role's session as the role, a role without its path.

    API Gateway gives sessions, and STS leaves the role's path out of them; role names are unique in an account.
    """
    match = _ASSUMED.fullmatch(arn) or _ROLE.fullmatch(arn)
    return f"arn:{match['partition']}:iam::{match['account']}:role/{match['role']}" if match else arn


def principals_from(text: str) -> dict[str, frozenset[str]]:
    """The domains of each role and stream, from `{"<ARN>": ["<domain>", …]}`; raises ConfigurationError."""
    try:
        listed = json.loads(text or "{}")
    except ValueError as error:
        raise ConfigurationError(f"LINEAGE_CALLERS is not JSON: {error}") from None
    if not isinstance(listed, Mapping):
        raise ConfigurationError('LINEAGE_CALLERS must be one JSON object, {"<ARN>": ["<domain>"]}')
    found: dict[str, frozenset[str]] = {}
    for arn, domains in listed.items():
        name = principal(arn)
        if not arn.startswith("arn:") or name in found:
            why = "named twice" if name in found else "no ARN"
            raise ConfigurationError(f"LINEAGE_CALLERS: {arn!r} is {why}; name each role or stream once, by its ARN")
        found[name] = domains_from(domains, f"LINEAGE_CALLERS: {arn}")
    return found


def domains_from(domains: Any, where: str) -> frozenset[str]:
    """A list of domain names, checked; raises ConfigurationError that begins with `where`."""
    named = domains if isinstance(domains, list) else []
    wrong = [name for name in named if not (isinstance(name, str) and (name == ANY_DOMAIN or _DOMAIN.fullmatch(name)))]
    if not named or wrong:
        raise ConfigurationError(f"{where}: a list of domains such as fraud is needed, or * for all of them")
    return frozenset(named)
