"""What one process of the adapter holds: made once, at the first event, from the environment."""

from __future__ import annotations

import os
from functools import cache
from typing import Any

from lineage_adapter.dead_letters import DeadLetters, dead_letters_of
from lineage_adapter.settings import Settings, settings_from
from lineage_adapter.sink import Sink, datazone_sink

__all__ = ["dead_letters", "forget", "seconds_left", "settings", "sink"]


@cache
def settings() -> Settings:
    """Raises ConfigurationError, at every event, until the environment is right."""
    return settings_from(os.environ)


@cache
def sink() -> Sink:
    """DataZone, connected; a wrong setting is reported at every event."""
    return datazone_sink(settings())


@cache
def dead_letters() -> DeadLetters:
    """The dead letters' queue and bucket, connected at the first letter."""
    return dead_letters_of(settings())


def forget() -> None:
    """Lets the next event read the environment again."""
    for made in (settings, sink, dead_letters):
        made.cache_clear()


def seconds_left(context: Any, most: float, spare: float) -> float:
    """Seconds that one event may take: what Lambda leaves, less `spare` for what follows, and never over `most`."""
    remaining = getattr(context, "get_remaining_time_in_millis", None)
    return most if remaining is None else min(most, float(remaining()) / 1000 - spare)
