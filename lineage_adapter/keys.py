"""The keys of emitters that cannot sign, as one secret of Secrets Manager holds them.

    {"keys": {"dbt-fraud": {"domains": ["fraud"], "current": "…", "previous": "…"}, …}}

`previous` is optional: during a rotation both are good. A key is at least 32 printable characters without spaces.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from lineage_adapter.callers import domains_from
from lineage_adapter.errors import ConfigurationError

__all__ = ["Holder", "KeyRing", "holders_from"]

_KEY = re.compile(r"[\x21-\x7E]{32,}")
#: Seconds between two readings of the secret on behalf of keys that are not known.
EARLY_SECONDS = 10.0
#: Seconds for which what was read goes on being used while the secret cannot be read.
STALE_SECONDS = 3600.0


@dataclass(frozen=True)
class Holder:
    """Who holds a key: `name` from the secret, and the domains it posts for. `digest` is the key's SHA-256."""

    name: str
    domains: frozenset[str]
    digest: bytes


class KeyRing:
    """The keys as last read: again after `seconds`, and early for a key that is not known, as after a rotation."""

    def __init__(self, read: Callable[[], str], seconds: float) -> None:
        self._read = read
        self._seconds = seconds
        self._holders: tuple[Holder, ...] = ()
        self._read_at: float | None = None
        self._tried_at = float("-inf")

    def holder(self, key: str) -> Holder | None:
        """Who holds this key, None for nobody; raises what reading the secret raises where nothing was ever read."""
        if self._read_at is None or time.monotonic() - self._read_at > self._seconds:
            self._refresh()
        found = _find(self._holders, key)
        if found is None and time.monotonic() - self._tried_at > EARLY_SECONDS:
            self._refresh()
            found = _find(self._holders, key)
        return found

    def _refresh(self) -> None:
        self._tried_at = time.monotonic()
        try:
            self._holders = holders_from(self._read())
            self._read_at = self._tried_at
        except Exception:
            # Revoked keys must not live on for as long as the secret cannot be read.
            if self._read_at is None or self._tried_at - self._read_at > STALE_SECONDS:
                self._holders, self._read_at = (), None
                raise


def holders_from(text: str) -> tuple[Holder, ...]:
    """The keys in a secret's text; raises ConfigurationError, which quotes nothing of it but names."""
    try:
        named: Any = json.loads(text)["keys"]
        entries = list(named.items())
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ConfigurationError(
            'the secret must be JSON: {"keys": {"<name>": {"domains": […], "current": …}}}'
        ) from None
    holders: list[Holder] = []
    for name, entry in entries:
        if not isinstance(entry, Mapping) or not isinstance(entry.get("current"), str):
            raise ConfigurationError(f"the secret's key {name!r} needs domains and current, and may have previous")
        domains = domains_from(entry.get("domains"), f"the secret's key {name!r}")
        for part in ("current", "previous"):
            key = entry.get(part)
            if key is None and part == "previous":
                continue
            if not isinstance(key, str) or not _KEY.fullmatch(key):
                raise ConfigurationError(f"the secret's key {name!r}: {part} needs at least 32 printable characters")
            holders.append(Holder(name, domains, _digest(key)))
    if len({holder.digest for holder in holders}) != len(holders):
        raise ConfigurationError("the secret holds one key twice; every holder, and every rotation, needs its own")
    return tuple(holders)


def _find(holders: tuple[Holder, ...], key: str) -> Holder | None:
    """Compares with every key and in constant time: neither the answer nor its time tells how near a guess was."""
    digest, found = _digest(key), None
    for holder in holders:
        if hmac.compare_digest(holder.digest, digest):
            found = holder
    return found


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()
