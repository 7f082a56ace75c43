"""Posts events to where lineage goes, within one time budget. Never raises: no run fails for its lineage."""

from __future__ import annotations

import json
import queue
import re
import threading
import time
from dataclasses import dataclass
from random import SystemRandom
from typing import Protocol
from urllib.parse import urlsplit

import urllib3
from urllib3.exceptions import SSLError

from pipeline_runtime import __version__
from pipeline_runtime.lineage.redact import redact
from pipeline_runtime.lineage.settings import Destination

__all__ = ["Delivered", "Delivery", "Signer", "Undelivered", "open_delivery"]

_BUDGET_SECONDS = 10.0
_FIRST_WAIT = 0.2
_LONGEST_WAIT = 2.0
#: How much of an answer is read; the adapter's are a line.
_LONGEST_ANSWER = 16_384

#: What urllib3 puts before its messages.
_CONNECTION = re.compile(r"^HTTPS?Connection(Pool)?\(.*?\): ")

_RETRYABLE = frozenset({408, 425, 429})
#: The sink already holds the event under its token.
_ALREADY_THERE = 409


class Signer(Protocol):
    """Adds what proves who sends."""

    def headers(self, url: str, headers: dict[str, str], body: bytes) -> dict[str, str]: ...


@dataclass(frozen=True)
class Delivered:
    """The sink took the event: `status` is accepted or duplicate, `id` the sink's own name for it.

    Accepted is not processed: DataZone works on events later.
    """

    status: str
    id: str | None


@dataclass(frozen=True)
class Undelivered:
    """The sink did not take the event. `final` says that the same bytes will not fare better in a moment.

    `retry_after` are the seconds that the sink asked to wait.
    """

    reason: str
    final: bool = False
    retry_after: float = 0.0


class Delivery:
    """Delivers events to one address. `budget_seconds` is for all events together, waits and retries included."""

    def __init__(self, url: str, *, budget_seconds: float = _BUDGET_SECONDS, signer: Signer | None = None) -> None:
        self.destination = url
        self._budget = budget_seconds
        self._left = budget_seconds
        self._signer = signer
        self._random = SystemRandom()
        # Each event gets a connection of its own: hours may lie between two of them.
        self._pool = urllib3.PoolManager(retries=False)

    def send(self, body: bytes, *, share: float = 1.0) -> Delivered | Undelivered:
        """Posts exactly these bytes; tries again after throttling, server errors and lost connections.

        `share` is the part of the remaining budget that this event may use, so that later ones get their try.
        """
        started = time.monotonic()
        try:
            return self._send(body, started + self._left * share)
        finally:
            self._left = max(0.0, self._left - (time.monotonic() - started))

    def _send(self, body: bytes, deadline: float) -> Delivered | Undelivered:
        outcome: Delivered | Undelivered = Undelivered(
            f"the {self._budget:g} s that a run has for delivering lineage were used up"
        )
        wait = _FIRST_WAIT
        while (seconds := deadline - time.monotonic()) > 0:
            outcome = self._attempt(body, seconds)
            if isinstance(outcome, Delivered) or outcome.final:
                return outcome
            pause = max(wait * self._random.uniform(0.5, 1.0), outcome.retry_after)
            if time.monotonic() + pause >= deadline:
                return outcome
            time.sleep(pause)
            wait = min(wait * 2, _LONGEST_WAIT)
        return outcome

    def _attempt(self, body: bytes, seconds: float) -> Delivered | Undelivered:
        """One request, given up after `seconds`.

        In a thread of its own, because no socket timeout bounds a name lookup, a credential lookup, or a server
        that answers a byte a second.
        """
        outcome: queue.SimpleQueue[Delivered | Undelivered] = queue.SimpleQueue()
        threading.Thread(target=lambda: outcome.put(self._post(body, seconds)), name="lineage", daemon=True).start()
        try:
            return outcome.get(timeout=seconds)
        except queue.Empty:
            return Undelivered(f"{self._host} did not answer within {seconds:.1f} s")

    def _post(self, body: bytes, seconds: float) -> Delivered | Undelivered:
        headers = {
            "Content-Type": "application/json",
            "Accept": "application/json",
            "User-Agent": f"pipeline-runtime/{__version__}",
        }
        if self._signer is not None:
            try:
                headers = self._signer.headers(self.destination, headers, body)
            except Exception as error:
                return Undelivered(redact(f"the request cannot be signed: {error}"), final=True)
        try:
            return self._exchange(body, headers, seconds)
        except SSLError as error:
            return Undelivered(redact(f"no secure connection to {self._host}: {error}"), final=True)
        except Exception as error:
            return Undelivered(redact(f"{self._host}: {_short(error)}"))

    def _exchange(self, body: bytes, headers: dict[str, str], seconds: float) -> Delivered | Undelivered:
        response = self._pool.request(
            "POST",
            self.destination,
            body=body,
            headers=headers,
            timeout=urllib3.Timeout(total=seconds),
            redirect=False,
            preload_content=False,
        )
        try:
            answer = response.read(_LONGEST_ANSWER)
        finally:
            response.close()
        if 200 <= response.status < 300:
            return _delivered(answer, "accepted")
        if response.status == _ALREADY_THERE:
            return _delivered(answer, "duplicate")
        text = redact(answer[:300].decode("utf-8", "replace").strip())
        return Undelivered(
            f"{self._host} answered {response.status}" + (f": {text}" if text else ""),
            final=response.status < 500 and response.status not in _RETRYABLE,
            retry_after=_seconds(response.headers.get("Retry-After")),
        )

    @property
    def _host(self) -> str:
        return urlsplit(self.destination).netloc


def open_delivery(destination: Destination | None) -> Delivery | None:
    """The delivery to a configured destination; None where lineage is turned off."""
    if destination is None:
        return None
    if destination.auth == "none" or destination.region is None:
        return Delivery(destination.url)
    from pipeline_runtime.lineage.signing import SigV4Signer

    return Delivery(destination.url, signer=SigV4Signer(destination.region, destination.role_arn))


def _delivered(answer: bytes, status: str) -> Delivered:
    try:
        said = json.loads(answer)
    except ValueError:
        said = None
    if not isinstance(said, dict):
        return Delivered(status, None)
    known = said.get("status")
    identifier = said.get("id")
    return Delivered(
        known if known in {"accepted", "duplicate"} else status, None if identifier is None else str(identifier)
    )


def _short(error: Exception) -> str:
    return _CONNECTION.sub("", str(error)) or type(error).__name__


def _seconds(retry_after: str | None) -> float:
    try:
        return max(0.0, float(retry_after or 0))
    except ValueError:  # a date, which none of our sinks sends
        return 0.0
