"""One event on its way: judged, posted, and where it is refused put among the dead letters. All entries meet here."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from lineage_adapter.callers import Caller, check_domain
from lineage_adapter.encoding import from_base64, unpack
from lineage_adapter.errors import AdapterError, BodyUnreadable, DeadLetterFailed, Refused
from lineage_adapter.event import RunEvent, parse
from lineage_adapter.limits import check_size

if TYPE_CHECKING:
    from lineage_adapter.dead_letters import DeadLetters
    from lineage_adapter.sink import Receipt, Sink

__all__ = ["Outcome", "Wire", "fault", "judge", "keep"]


@dataclass(frozen=True)
class Wire:
    """An event as it came: the bytes and their Content-Encoding, in lower case.

    `broken` says that these are the transport's own characters, because its base64 could not be undone.
    """

    data: bytes = field(repr=False)
    encoding: str = ""
    broken: bool = False

    @classmethod
    def from_base64(cls, text: str, encoding: str = "") -> Wire:
        """The bytes behind a transport's base64; broken text is kept as it is, to be refused later."""
        try:
            return cls(from_base64(text), encoding)
        except BodyUnreadable:
            return cls(text.encode("utf-8", "surrogatepass"), encoding, broken=True)

    def unpacked(self) -> bytes:
        """What the emitter wrote; raises a Refused."""
        if self.broken:
            raise BodyUnreadable("the body is neither valid base64 nor text")
        return unpack(self.data, self.encoding)


@dataclass(frozen=True)
class Outcome:
    """What became of one event. `receipt` or `error` is set; `letter` names the dead letter where there is one."""

    caller: Caller | None = None
    event: RunEvent | None = None
    size: int | None = None
    receipt: Receipt | None = None
    error: AdapterError | None = None
    letter: str | None = None
    seconds: float = 0.0

    @property
    def status(self) -> str:
        """accepted, duplicate, skipped, refused, unavailable, misconfigured or failed."""
        return self.receipt.status if self.receipt else self.error.status if self.error else "failed"

    @property
    def is_done(self) -> bool:
        """Whether nobody needs to send this event again: DataZone has it, or it is kept as a dead letter."""
        return self.receipt is not None or self.letter is not None


def judge(wire: Wire, caller: Caller, sink: Sink, seconds: float) -> Outcome:
    """Reads, checks and posts one event within `seconds`; never raises."""
    started = time.monotonic()
    outcome = Outcome(caller)
    try:
        body = wire.unpacked()
        outcome = replace(outcome, size=len(body))
        event = parse(body)
        outcome = replace(outcome, event=event)  # first of all, so that the log names the run of what is refused
        check_domain(event.job_namespace, caller)
        check_size(body)
        outcome = replace(outcome, receipt=sink.post(event, seconds))
    except AdapterError as error:
        outcome = replace(outcome, error=error)
    except Exception as error:  # the boundary: no emitter sees a traceback, and no log the payload in one
        outcome = replace(outcome, error=fault(error))
    return replace(outcome, seconds=time.monotonic() - started)


def keep(outcome: Outcome, wire: Wire, dead_letters: Callable[[], DeadLetters], *, always: bool = False) -> Outcome:
    """The outcome with its dead letter, where it needs one: what is refused, or with `always` whatever failed.

    A refused event that cannot be kept is not done: its error becomes DeadLetterFailed, which is retryable.
    """
    error = outcome.error
    if error is None or not (always or isinstance(error, Refused)):
        return outcome
    started = time.monotonic()
    try:
        outcome = replace(outcome, letter=dead_letters().keep(outcome, wire))
    except Exception as problem:
        failure = problem if isinstance(problem, AdapterError) else fault(problem)
        if isinstance(error, Refused):
            outcome = replace(outcome, error=DeadLetterFailed(f"{failure}; the event was refused: {error}"))
    return replace(outcome, seconds=outcome.seconds + time.monotonic() - started)


def fault(error: Exception) -> AdapterError:
    """A fault of the adapter's own, by the line of code that failed; the error's own text may quote the payload."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return AdapterError(f"the adapter failed: {type(error).__name__} at {Path(last.filename).name}:{last.lineno}")
