"""Insurance claims and what happened to them: the same claims for the same count, on any machine.

This is the source's side: claims as rows, and the log of their changes. What AWS DMS makes of it is
`sandbox.lake.landing`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from random import Random
from typing import NamedTuple

__all__ = ["CLAIMS", "FIRST_DAY", "LOADED_AT", "Change", "Claim", "History", "bad_changes", "history"]

CLAIMS = 40_000
FIRST_DAY = datetime(2026, 8, 1, tzinfo=UTC)
#: When the full load ran; what happened later is in the change log.
LOADED_AT = FIRST_DAY + timedelta(days=7, hours=2)
END = FIRST_DAY + timedelta(days=10)

_POLICIES = 30_000
#: One submission in this many is a loss that was submitted before, under another id.
_SUBMITTED_AGAIN = 32
_DELETED = 0.02

#: What it is, how often of a hundred, median and spread of the amount: log-normal, as losses are.
_TYPES = (
    ("glass", 30, 620.0, 0.45),
    ("collision", 28, 3400.0, 0.9),
    ("water", 16, 2300.0, 0.8),
    ("hail", 12, 1900.0, 0.6),
    ("theft", 8, 1500.0, 0.9),
    ("liability", 6, 2800.0, 1.1),
)
_CHANNELS = ("portal", "telephone", "broker", "app")
_OUTCOMES = ("approved", "approved", "approved", "rejected")


class Claim(NamedTuple):
    """One row of the source table, column by column."""

    claim_id: str
    policy_id: str | None
    claimant_id: str
    claim_type: str
    incident_date: date
    reported_at: datetime
    amount_claimed: Decimal
    amount_approved: Decimal | None
    currency: str
    status: str
    adjuster_id: int | None
    channel: str | None


class Change(NamedTuple):
    """One entry of the source's log: I, U or D, the commit it belongs to, and the row afterwards (D: before)."""

    op: str
    committed_at: datetime
    row: Claim


class History(NamedTuple):
    """The rows that the full load found, and the changes after it in the order of the source's log."""

    loaded: tuple[Claim, ...]
    changes: tuple[Change, ...]


def history(claims: int = CLAIMS) -> History:
    """`claims` submissions over ten days and their changes.

    Among them: the same loss submitted twice under two ids, rows that several statements of one transaction
    change (so with the same commit time), rows that are inserted and deleted in one transaction, deleted, and
    inserted again under the same key.
    """
    random = Random(20260801)
    loaded: list[Claim] = []
    changes: list[Change] = []
    for claim in _submissions(random, claims):
        states = list(_life(random, claim))
        before = [change for change in states if change.committed_at <= LOADED_AT]
        if before and before[-1].op != "D":
            loaded.append(before[-1].row)
        changes += states[len(before) :]
    # Sorting is stable: the statements of one transaction stay in their order.
    return History(tuple(loaded), tuple(sorted(changes, key=lambda change: change.committed_at)))


def bad_changes() -> tuple[Change, ...]:
    """Sixty further claims that an importer got wrong: signs, currencies and policies."""
    random = Random(20260811)
    changes = []
    for number in range(60):
        wrong = _claim(random, 900_000_000 + number, END - timedelta(minutes=90 - number))
        if number < 25:
            wrong = wrong._replace(amount_claimed=-wrong.amount_claimed)
        elif number < 45:
            wrong = wrong._replace(currency="EURO")
        else:
            wrong = wrong._replace(policy_id=None)
        changes.append(Change("I", END + timedelta(hours=4), wrong))
    return tuple(changes)


def _submissions(random: Random, claims: int) -> Iterator[Claim]:
    """New claims, by number; the time of their report follows it."""
    span = (END - FIRST_DAY - timedelta(hours=8)) / timedelta(milliseconds=1)
    recent: deque[Claim] = deque(maxlen=50)
    for number in range(claims):
        reported = FIRST_DAY + timedelta(milliseconds=int(span * (number + random.random()) / claims))
        claim = _claim(random, number, reported)
        if recent and number % _SUBMITTED_AGAIN == _SUBMITTED_AGAIN - 1:
            first = recent[int(random.random() * len(recent))]
            claim = first._replace(
                claim_id=claim.claim_id, reported_at=reported, adjuster_id=None, channel=claim.channel
            )
        else:
            recent.append(claim)
        yield claim


def _claim(random: Random, number: int, reported: datetime) -> Claim:
    policy = int(_POLICIES * random.random())
    claim_type, median, spread = _drawn_type(random)
    amount = min(max(random.lognormvariate(0, spread) * median, 40.0), 240_000.0)
    return Claim(
        claim_id=f"C{number:09}",
        policy_id=f"P{policy * 2711 % 100_000_000:08}",
        # One policy in three covers a household of two.
        claimant_id=f"cust-{policy:06}{'b' if policy % 3 == 0 and random.random() < 0.5 else 'a'}",
        claim_type=claim_type,
        incident_date=(reported - timedelta(hours=random.expovariate(1 / 40))).date(),
        reported_at=reported,
        amount_claimed=Decimal(round(amount * 100)).scaleb(-2),
        amount_approved=None,
        currency="CHF" if policy % 12 == 0 else "EUR",
        status="open",
        adjuster_id=None,
        channel=_CHANNELS[int(len(_CHANNELS) * random.random())],
    )


def _drawn_type(random: Random) -> tuple[str, float, float]:
    drawn = random.random() * 100
    for name, share, median, spread in _TYPES:
        drawn -= share
        if drawn < 0:
            return name, median, spread
    return _TYPES[0][0], *_TYPES[0][2:]


def _life(random: Random, claim: Claim) -> Iterator[Change]:
    """A claim's changes, oldest first, as far as they happened before the sample ends."""
    for change in _transactions(random, claim):
        if change.committed_at < END:
            yield change


def _transactions(random: Random, claim: Claim) -> Iterator[Change]:
    at = claim.reported_at + timedelta(microseconds=int(2_000_000 * random.random()))
    kind = random.random()
    yield Change("I", at, claim)
    if kind < _DELETED / 4:  # sent and withdrawn in one transaction
        yield Change("U", at, claim._replace(status="in_review"))
        yield Change("D", at, claim._replace(status="in_review"))
        return
    assigned = claim._replace(status="in_review", adjuster_id=1000 + int(240 * random.random()))
    # The portal inserts a claim and assigns it in one transaction; others wait for a person.
    at += timedelta(0) if claim.channel in ("portal", "app") else timedelta(hours=random.expovariate(1 / 5))
    yield Change("U", at, assigned)
    if kind < _DELETED:
        yield Change("D", at + timedelta(hours=3), assigned)
        return
    at += timedelta(hours=random.expovariate(1 / 30))
    outcome = _OUTCOMES[int(len(_OUTCOMES) * random.random())]
    approved = (claim.amount_claimed * 9 / 10).quantize(Decimal("0.01")) if outcome == "approved" else None
    decided = assigned._replace(status=outcome, amount_approved=approved)
    if kind < 2 * _DELETED:  # the source's batch job replaces rows instead of updating them
        yield Change("D", at, assigned)
        yield Change("I", at, decided)
    else:
        yield Change("U", at, decided)
    if outcome == "approved":
        yield Change("U", at + timedelta(hours=20), decided._replace(status="settled"))
