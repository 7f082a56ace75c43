"""A run's nominal time as Airflow's partition key, and back.

A partition is a nominal period: the key is the period's start, in UTC. So a product that is made late, again or in a
backfill asks its readers to be made for that period, and for no other.
"""

from __future__ import annotations

from datetime import UTC, datetime

from pipeline_runtime.errors import ConfigurationError
from pipeline_runtime.lineage.values import instant_of, utc_text

__all__ = ["KEY_FORMAT", "key_of", "nominal_time"]

#: Airflow's own default, which its partition mappers read; UTC.
KEY_FORMAT = "%Y-%m-%dT%H:%M:%S"


def key_of(nominal_time: str) -> str:
    """The partition key of a nominal time, which is ISO 8601 with an offset."""
    moment = instant_of(nominal_time)
    if moment is None:
        raise ConfigurationError(f"nominal time {nominal_time!r} is not ISO 8601 with an offset")
    return moment.astimezone(UTC).strftime(KEY_FORMAT)


def nominal_time(partition_key: str | None, asked: str | None, logical_date: datetime | None) -> str:
    """The nominal time of a run, ISO 8601 with Z: of its partition, else as its parameter asks, else its logical date.

    Raises ConfigurationError where nothing tells.
    """
    if partition_key:
        try:
            moment = datetime.strptime(partition_key, KEY_FORMAT).replace(tzinfo=UTC)
        except ValueError:
            raise ConfigurationError(
                f"partition key {partition_key!r} is no start of a period; write it as 2026-08-01T00:00:00"
            ) from None
    elif asked:
        found = instant_of(asked)
        if found is None:
            raise ConfigurationError(f"nominal_time {asked!r} is not ISO 8601 with an offset; 2026-08-01T00:00:00Z is")
        moment = found
    elif logical_date is not None:
        moment = logical_date
    else:
        raise ConfigurationError("for which period? Give the run the parameter nominal_time, as 2026-08-01T00:00:00Z")
    return utc_text(moment, milliseconds=False)
