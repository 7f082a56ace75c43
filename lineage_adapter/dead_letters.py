"""Dead letters: events that cannot be accepted, each with its reason and the bytes as they came, in an SQS queue.

A letter is a message of JSON text: `version`, `error`, `reason`, `receivedAt` (ISO 8601, Z), `entry`, `caller`,
`domains`, `encoding`, `broken`, what is known of `runId`, `eventType`, `job` and `clientToken`, then `bytes`, `sha256`
and either `payload` (base64, for SQS takes no arbitrary bytes) or `payloadAt`, an S3 object of exactly these bytes.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from lineage_adapter.callers import Caller
from lineage_adapter.clients import make_client
from lineage_adapter.errors import DeadLetterFailed
from lineage_adapter.settings import Settings
from lineage_adapter.submission import Outcome, Wire

__all__ = ["INLINE_BYTES", "DeadLetters", "Letter", "dead_letters_of"]

#: Payload bytes that fit into a message. SQS takes 1 MiB (1,048,576 bytes, SendMessage) where the queue's
#: MaximumMessageSize says so, and 262,144 where the queue is older: base64 makes 240,000 of these.
INLINE_BYTES = 180_000

CONNECT_SECONDS = 2
READ_SECONDS = 3
ATTEMPTS = 2


@dataclass(frozen=True)
class Letter:
    """One dead letter as the queue holds it; `facts` are the message's members."""

    wire: Wire
    caller: Caller
    facts: Mapping[str, Any]

    def renewed(self, error: Exception, mark: str) -> str:
        """The message of a letter that failed again: the new reason, the first one, and who tried (`mark`)."""
        first = self.facts.get("firstReason", self.facts.get("reason"))
        changed = {"error": type(error).__name__, "reason": str(error), "firstReason": first, "redrivenBy": mark}
        return json.dumps({**self.facts, **changed})


@dataclass(frozen=True)
class DeadLetters:
    """The queue, and the bucket for what is too large for a message."""

    sqs: Any
    s3: Any
    queue_url: str
    bucket: str
    prefix: str

    def keep(self, outcome: Outcome, wire: Wire) -> str:
        """Sends one letter, and returns its message id; raises DeadLetterFailed."""
        from botocore.exceptions import BotoCoreError, ClientError

        message = _message(outcome, wire)
        try:
            if len(wire.data) > INLINE_BYTES:
                key = f"{self.prefix}{datetime.now(UTC):%Y/%m/%d}/{os.urandom(16).hex()}"
                self.s3.put_object(Bucket=self.bucket, Key=key, Body=wire.data, ContentType="application/octet-stream")
                message["payloadAt"] = f"s3://{self.bucket}/{key}"
            else:
                message["payload"] = base64.b64encode(wire.data).decode("ascii")
            sent = self.sqs.send_message(QueueUrl=self.queue_url, MessageBody=json.dumps(message))
        except (BotoCoreError, ClientError) as error:
            raise DeadLetterFailed(f"the dead letter could not be kept ({_named(error)})") from None
        return str(sent["MessageId"])

    def read(self, body: str) -> Letter:
        """The letter in a message's body; raises DeadLetterFailed where its payload is gone or another one."""
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            message = json.loads(body)
            if "payload" in message:
                data = base64.b64decode(message["payload"], validate=True)
            else:
                bucket, _, key = message["payloadAt"].removeprefix("s3://").partition("/")
                data = self.s3.get_object(Bucket=bucket, Key=key)["Body"].read()
            wire = Wire(data, message["encoding"], broken=message["broken"])
            caller = Caller(message["caller"], frozenset(message["domains"]), "redrive")
            expected = message["sha256"]
        except (BotoCoreError, ClientError) as error:
            raise DeadLetterFailed(f"the letter's payload cannot be read ({_named(error)})") from None
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise DeadLetterFailed(f"this message is no dead letter of the adapter's: {type(error).__name__}") from None
        if hashlib.sha256(data).hexdigest() != expected:
            raise DeadLetterFailed("the letter's payload is not the one that was kept: its SHA-256 differs")
        return Letter(wire, caller, message)

    def forget_payload(self, letter: Letter) -> None:
        """Removes the object that a letter refers to, if any and if this role may: its event is with DataZone."""
        from botocore.exceptions import BotoCoreError, ClientError

        if "payloadAt" in letter.facts:
            bucket, _, key = letter.facts["payloadAt"].removeprefix("s3://").partition("/")
            with suppress(BotoCoreError, ClientError):
                self.s3.delete_object(Bucket=bucket, Key=key)


def dead_letters_of(settings: Settings) -> DeadLetters:
    """This deployment's dead letters; raises ConfigurationError where no client can be made."""
    limits = {"connect_seconds": CONNECT_SECONDS, "read_seconds": READ_SECONDS, "attempts": ATTEMPTS}
    return DeadLetters(
        make_client("sqs", **limits), make_client("s3", **limits), settings.queue_url, settings.bucket, settings.prefix
    )


def _message(outcome: Outcome, wire: Wire) -> dict[str, Any]:
    event, caller = outcome.event, outcome.caller
    return {
        "version": 1,
        "error": type(outcome.error).__name__,
        "reason": str(outcome.error),
        "receivedAt": datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "entry": caller.entry if caller else "",
        "caller": caller.name if caller else "",
        "domains": sorted(caller.domains) if caller else [],
        "encoding": wire.encoding,
        "broken": wire.broken,
        "runId": event.run_id[:500] if event else None,
        "eventType": event.event_type[:500] if event else None,
        "job": f"{event.job_namespace}.{event.job_name}"[:500] if event else None,
        "clientToken": event.client_token if event else None,
        "bytes": len(wire.data),
        "sha256": hashlib.sha256(wire.data).hexdigest(),
    }


def _named(error: Exception) -> str:
    """An AWS error by its code, another by its class; never its text, which may quote the request."""
    response = getattr(error, "response", None)
    code = response.get("Error", {}).get("Code") if isinstance(response, dict) else None
    return str(code or type(error).__name__)
