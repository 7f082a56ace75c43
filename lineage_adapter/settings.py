"""What a deployment configures, from environment variables."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from lineage_adapter.errors import ConfigurationError

__all__ = ["DOMAIN_ID", "Settings", "settings_from"]

#: DataZone's own pattern of a domain id (API reference, DomainId).
DOMAIN_ID = re.compile(r"dzd[-_][a-zA-Z0-9_-]{1,36}")


@dataclass(frozen=True)
class Settings:
    """`domain_id`: the DataZone domain that every event is posted to."""

    domain_id: str


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
    return Settings(domain_id)
