"""What a deployment configures, from environment variables.

DATAZONE_DOMAIN_ID           the DataZone domain that every event is posted to
LINEAGE_CALLERS              {"<role's or stream's ARN>": ["<domain>", …]}; * for every domain
LINEAGE_DEAD_LETTER_QUEUE    the URL of the SQS queue that keeps what cannot be accepted
LINEAGE_DEAD_LETTER_PAYLOADS s3://bucket/prefix for payloads that are too large for a message
LINEAGE_GIVE_UP_SECONDS      a stream's record that cannot be delivered for so long becomes a dead letter; 21600
LINEAGE_KEYS_SECRET          the authorizer's own: the secret that holds the keys
LINEAGE_KEYS_SECONDS         the authorizer's own: how long it keeps the keys it has read; 300
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from lineage_adapter.callers import principals_from
from lineage_adapter.errors import ConfigurationError

__all__ = ["DOMAIN_ID", "KeySettings", "Settings", "key_settings_from", "settings_from"]

#: DataZone's own pattern of a domain id (API reference, DomainId).
DOMAIN_ID = re.compile(r"dzd[-_][a-zA-Z0-9_-]{1,36}")
_BUCKET = re.compile(r"s3://(?P<bucket>[a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:/(?P<prefix>.*))?")


@dataclass(frozen=True)
class Settings:
    """`domain_id` of DataZone; `principals`: the domains of each role and stream; the dead letters' places.

    `prefix` is empty or ends with a slash. `give_up_seconds` is the age at which a stream's record is given up.
    """

    domain_id: str
    principals: Mapping[str, frozenset[str]] = field(default_factory=dict)
    queue_url: str = ""
    bucket: str = ""
    prefix: str = ""
    give_up_seconds: float = 21_600


@dataclass(frozen=True)
class KeySettings:
    """`secret`: the name or ARN in Secrets Manager; `seconds`: how long what was read from it is used."""

    secret: str
    seconds: float


def settings_from(environ: Mapping[str, str]) -> Settings:
    """The settings of this process; raises ConfigurationError where one is missing or wrong."""
    domain_id = environ.get("DATAZONE_DOMAIN_ID", "")
    if not domain_id:
        raise ConfigurationError("DATAZONE_DOMAIN_ID is not set; set it to the domain's id, such as dzd_4x1abc")
    if not DOMAIN_ID.fullmatch(domain_id):
        raise ConfigurationError(
            f"DATAZONE_DOMAIN_ID is {domain_id!r}, which is no DataZone domain id: "
            f"it must match {DOMAIN_ID.pattern}; the domain's page in the console shows its id, not its name"
        )
    queue_url = environ.get("LINEAGE_DEAD_LETTER_QUEUE", "")
    if not re.match(r"https?://.+/.+", queue_url):
        raise ConfigurationError(
            f"LINEAGE_DEAD_LETTER_QUEUE is {queue_url!r}; set it to the URL of an SQS queue, or what is refused is lost"
        )
    payloads = environ.get("LINEAGE_DEAD_LETTER_PAYLOADS", "")
    place = _BUCKET.fullmatch(payloads)
    if place is None:
        raise ConfigurationError(
            f"LINEAGE_DEAD_LETTER_PAYLOADS is {payloads!r}; set it to s3://bucket/prefix, for payloads over SQS's limit"
        )
    prefix = (place["prefix"] or "").strip("/")
    return Settings(
        domain_id=domain_id,
        principals=principals_from(environ.get("LINEAGE_CALLERS", "")),
        queue_url=queue_url,
        bucket=place["bucket"],
        prefix=f"{prefix}/" if prefix else "",
        give_up_seconds=_seconds(environ, "LINEAGE_GIVE_UP_SECONDS", 21_600),
    )


def key_settings_from(environ: Mapping[str, str]) -> KeySettings:
    """The authorizer's settings; raises ConfigurationError."""
    secret = environ.get("LINEAGE_KEYS_SECRET", "")
    if not secret:
        raise ConfigurationError("LINEAGE_KEYS_SECRET is not set; set it to the secret that holds the keys")
    return KeySettings(secret, _seconds(environ, "LINEAGE_KEYS_SECONDS", 300))


def _seconds(environ: Mapping[str, str], name: str, default: float) -> float:
    text = environ.get(name, "")
    if not text:
        return default
    if not re.fullmatch(r"[1-9]\d{0,6}", text):
        raise ConfigurationError(f"{name} is {text!r}; it must be a whole number of seconds, at least 1")
    return float(text)
