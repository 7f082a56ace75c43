"""DataZone as the sink: one event posted, with the retries that fit into the time there is."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass
from typing import Any, Protocol

from lineage_adapter.clients import make_client
from lineage_adapter.errors import (
    AccessRefused,
    AdapterError,
    EventRejected,
    EventTooLarge,
    QuotaExceeded,
    Throttled,
    Unavailable,
)
from lineage_adapter.event import RunEvent
from lineage_adapter.settings import Settings

__all__ = ["ATTEMPT_SECONDS", "LineageClient", "Receipt", "Sink", "datazone_sink"]

CONNECT_SECONDS = 2
READ_SECONDS = 4
#: The longest that one attempt takes.
ATTEMPT_SECONDS = CONNECT_SECONDS + READ_SECONDS
ATTEMPTS = 5
#: Seconds before the second attempt at the most; doubled for each further one.
FIRST_PAUSE = 0.2

#: Codes that AWS also sends with other statuses than 429.
_THROTTLED = {"ThrottlingException", "Throttling", "TooManyRequestsException", "RequestLimitExceeded", "SlowDown"}


class LineageClient(Protocol):
    """The one call of boto3's `datazone` client that the adapter needs."""

    def post_lineage_event(self, *, domainIdentifier: str, clientToken: str, event: bytes) -> dict[str, Any]: ...  # noqa: N803


@dataclass(frozen=True)
class Receipt:
    """DataZone has the event; that says nothing about its processing, which comes later and may fail.

    `status` is `accepted`, or `duplicate` where DataZone had this event already and gives no `id`.
    """

    status: str
    id: str | None
    attempts: int


@dataclass(frozen=True)
class Sink:
    """One domain, reached through one client."""

    client: LineageClient
    domain_id: str

    def post(self, event: RunEvent, seconds: float) -> Receipt:
        """Posts the event's bytes as they are, at most five times within `seconds`; raises an AdapterError.

        Every attempt sends the same bytes under the same token, so an attempt that DataZone had accepted before
        its answer was lost makes no second event. The first attempt is made whatever the time.
        """
        deadline = time.monotonic() + seconds
        attempt = 1
        while True:
            try:
                return self._post_once(event, attempt)
            except Unavailable:
                # Full jitter: callers that were throttled together come back apart.
                pause = random.uniform(0, FIRST_PAUSE * 2 ** (attempt - 1))  # noqa: S311
                if attempt == ATTEMPTS or time.monotonic() + pause + ATTEMPT_SECONDS > deadline:
                    raise
            time.sleep(pause)
            attempt += 1

    def _post_once(self, event: RunEvent, attempt: int) -> Receipt:
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            answer = self.client.post_lineage_event(
                domainIdentifier=self.domain_id, clientToken=event.client_token, event=event.body
            )
        except ClientError as error:
            if _code(error) == "ConflictException":
                return Receipt("duplicate", None, attempt)
            raise _judge_answer(error, attempt) from None
        except BotoCoreError as error:
            raise _judge_failure(error, attempt) from None
        return Receipt("accepted", answer.get("id"), attempt)


def datazone_sink(settings: Settings) -> Sink:
    """The sink of this deployment; raises ConfigurationError where no client can be made.

    The client does not retry by itself: `Sink.post` knows how much time is left.
    """
    client = make_client("datazone", connect_seconds=CONNECT_SECONDS, read_seconds=READ_SECONDS, attempts=1)
    return Sink(client, settings.domain_id)


def _code(error: Any) -> str:
    return str(error.response.get("Error", {}).get("Code", ""))


def _judge_answer(error: Any, attempt: int) -> AdapterError:
    """What an error that DataZone answered means for the event."""
    code = _code(error)
    http = int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
    # DataZone's sentence, not the event; still cut, as it may quote what it objects to.
    said = f"{code}: {str(error.response.get('Error', {}).get('Message', ''))[:200]}"
    if code in _THROTTLED or http == 429:
        return Throttled(f"DataZone throttles ({code}, attempt {attempt}); send the same bytes again later")
    if http >= 500 or http == 408:
        return Unavailable(f"DataZone failed ({code}, HTTP {http}, attempt {attempt}); send the same bytes again later")
    if http in {401, 403, 404}:
        return AccessRefused(f"DataZone refuses this adapter ({said}); check the domain id and the adapter's role")
    if http == 402:
        return QuotaExceeded(f"DataZone's quota is used up ({said}); raise the quota, then send the event again")
    if http == 413:
        return EventTooLarge(f"DataZone finds the event too large ({said})")
    return EventRejected(f"DataZone rejects the event ({said})")


def _judge_failure(error: Exception, attempt: int) -> AdapterError:
    """What a call that brought no answer means for the event."""
    from botocore.exceptions import ConnectionError as NoConnection
    from botocore.exceptions import HTTPClientError, IncompleteReadError

    name = type(error).__name__
    if isinstance(error, (NoConnection, HTTPClientError, IncompleteReadError)):
        return Unavailable(f"DataZone did not answer ({name}, attempt {attempt}); send the same bytes again later")
    return AccessRefused(f"DataZone could not be called ({name}); check the adapter's region and credentials")
