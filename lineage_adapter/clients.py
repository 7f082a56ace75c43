"""boto3's clients, made with the time limits of a request; boto3 itself is imported at the first one."""

from __future__ import annotations

from typing import Any

from lineage_adapter.errors import ConfigurationError

__all__ = ["make_client"]


def make_client(service: str, *, connect_seconds: float, read_seconds: float, attempts: int) -> Any:
    """A client that tries `attempts` times in all; raises ConfigurationError where none can be made."""
    import boto3
    from botocore.config import Config
    from botocore.exceptions import BotoCoreError

    config = Config(
        connect_timeout=connect_seconds,
        read_timeout=read_seconds,
        retries={"mode": "standard", "total_max_attempts": attempts},
    )
    try:
        make: Any = boto3.client
        return make(service, config=config)
    except (BotoCoreError, ValueError) as error:  # no region, or an endpoint that is no URL
        raise ConfigurationError(f"no client for {service} can be made: {error}") from None
