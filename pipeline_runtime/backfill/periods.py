"""Nominal periods: what a backfill makes one run each for."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from pipeline_runtime.descriptor.duration import parse_duration
from pipeline_runtime.errors import ConfigurationError
from pipeline_runtime.lineage.values import instant_of, utc_text

__all__ = ["MOST_PERIODS", "Period", "moment", "periods_between"]

#: More than a year of hours; beyond it a slip of the pen is likelier than a plan.
MOST_PERIODS = 10_000

_DAY = timedelta(days=1)


@dataclass(frozen=True, order=True)
class Period:
    """From `start` up to, not including, `end`; both aware and UTC. `start` is the run's nominal time."""

    start: datetime
    end: datetime

    @property
    def nominal_time(self) -> str:
        """ISO 8601 with Z, as --nominal-time takes it."""
        return utc_text(self.start, milliseconds=False)

    def __str__(self) -> str:
        """As a person would say it: the day, where it is one."""
        is_day = self.start.time() == time.min and self.end - self.start == _DAY
        return self.start.date().isoformat() if is_day else self.nominal_time


def moment(text: str) -> datetime:
    """A date (its midnight in UTC) or ISO 8601 with an offset, in UTC. Raises ConfigurationError."""
    try:
        return datetime.combine(date.fromisoformat(text), time.min, UTC)
    except ValueError:
        pass
    found = instant_of(text)
    if found is None:
        raise ConfigurationError(
            f"{text!r} is neither a date nor an instant; write 2026-08-01, or 2026-08-01T06:00:00Z"
        )
    return found.astimezone(UTC)


def periods_between(start: datetime, end: datetime, every: str) -> tuple[Period, ...]:
    """The periods from `start` up to `end`, each `every` long (an ISO 8601 duration), in order.

    Raises ConfigurationError for a duration that is none, for no period at all or too many, and where the last period
    would reach beyond `end`: a part of a period is no period.
    """
    try:
        length = parse_duration(every)
    except ValueError as error:
        raise ConfigurationError(f"--every {error}") from None
    if length <= timedelta(0):
        raise ConfigurationError(f"--every {every!r} is no time at all; write for example PT1H or P1D")
    if end <= start:
        raise ConfigurationError(
            f"--from {_said(start)} --to {_said(end)} holds no period; --to is the first moment that is left out"
        )
    count, rest = divmod(end - start, length)
    if count > MOST_PERIODS:
        raise ConfigurationError(
            f"--from {_said(start)} --to {_said(end)} --every {every} makes {count:,} periods, and at most "
            f"{MOST_PERIODS:,} are run at once"
        )
    if rest:
        whole = start + count * length
        near = f"{_said(whole)} or {_said(whole + length)}" if count else _said(whole + length)
        raise ConfigurationError(f"--to {_said(end)} cuts a period of {every} off; end at {near}")
    return tuple(Period(start + at * length, start + (at + 1) * length) for at in range(count))


def _said(moment: datetime) -> str:
    return moment.date().isoformat() if moment.time() == time.min else utc_text(moment, milliseconds=False)
