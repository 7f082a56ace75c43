"""How old a product is, against what it promises. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum

from pipeline_runtime.freshness.products import Product
from pipeline_runtime.freshness.publishes import Publish
from pipeline_runtime.freshness.runs import Attempts
from pipeline_runtime.lineage.values import utc_text

__all__ = ["Judgement", "Standing", "shown_time"]


class Standing(str, Enum):
    """How a product stands."""

    FRESH = "fresh"
    LATE = "late"
    #: Never published, and its SLA has passed since it is known.
    NEVER = "never"
    #: Never published, and not due yet.
    NEW = "new"

    @property
    def is_breach(self) -> bool:
        return self in (Standing.LATE, Standing.NEVER)


@dataclass(frozen=True)
class Judgement:
    """A product at an instant. `known_since` is what counts until it is published for the first time."""

    product: Product
    publish: Publish | None
    known_since: datetime
    now: datetime
    attempts: Attempts | None = None
    allowed: timedelta = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "allowed", self.product.allowed_age)

    @property
    def counts_from(self) -> datetime:
        return self.known_since if self.publish is None else self.publish.at

    @property
    def age(self) -> timedelta:
        return max(self.now - self.counts_from, timedelta())

    @property
    def due(self) -> datetime:
        """From when on it is late."""
        return self.counts_from + self.allowed

    @property
    def standing(self) -> Standing:
        is_late = self.age > self.allowed
        if self.publish is None:
            return Standing.NEVER if is_late else Standing.NEW
        return Standing.LATE if is_late else Standing.FRESH

    @property
    def fact(self) -> str:
        """What is, in a clause."""
        promised = f"its contract promises {self.product.sla}"
        if self.publish is None:
            return f"never published, known for {shown_time(self.age)}; {promised}"
        by = "" if self.publish.run_id is None else f" (run {self.publish.run_id})"
        return f"published {shown_time(self.age)} ago, at {utc_text(self.publish.at)}{by}; {promised}"

    @property
    def cause(self) -> str:
        """What its pipeline's runs say of why, in a sentence."""
        attempts = self.attempts
        if attempts is None:
            return "No run of its pipeline has ended since."
        ended = f"run {attempts.last} at {utc_text(attempts.at)}"
        if attempts.blocked_since is None:
            return f"Its runs pass and had nothing to publish, last {ended}."
        how = "was quarantined" if attempts.quarantined else "failed"
        runs = "1 run" if attempts.failures == 1 else f"{attempts.failures} runs"
        reason = f": {attempts.reason}" if attempts.reason else ""
        return f"Blocked since {utc_text(attempts.blocked_since)}, {runs}; {ended} {how}{reason}"


def shown_time(span: timedelta) -> str:
    """A length of time for people, in its two largest units: `6 h 12 min`."""
    seconds = int(span.total_seconds())
    units = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))
    parts: list[str] = []
    for unit, size in units:
        count, seconds = divmod(seconds, size)
        if count or parts or unit == "s":
            parts.append(f"{count} {unit}")
        if len(parts) == 2:
            break
    return " ".join(part for part in parts if not part.startswith("0 ")) or "0 s"
