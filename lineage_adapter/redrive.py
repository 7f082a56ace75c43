"""Replays dead letters: each is judged and posted anew, from the bytes as they came.

What DataZone accepts leaves the queue. What is refused again stays, as a new message with the new reason, which also
starts its retention again. What cannot be judged now (DataZone throttles, is away, or refuses this role) stays as it
is. A letter that is interrupted is at worst posted twice, under one client token: one event.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from lineage_adapter.callers import Caller
from lineage_adapter.dead_letters import DeadLetters, Letter
from lineage_adapter.errors import AdapterError, DeadLetterFailed, Refused
from lineage_adapter.sink import Sink
from lineage_adapter.submission import judge

__all__ = ["Redrive", "Tally"]

#: Seconds for which a received letter is hidden from others; one letter takes a few at the most.
VISIBILITY_SECONDS = 300
#: Seconds that one letter's post may take, retries included.
LETTER_SECONDS = 30.0
#: Seconds that an empty queue is waited on; a queue that has letters may still answer with none at once.
WAIT_SECONDS = 2
#: So many letters in a row that cannot be judged are DataZone's trouble, not the letters'.
MOST_FAILURES = 3


@dataclass(frozen=True)
class Tally:
    """How many letters were accepted (or were before), and how many stay in the queue."""

    accepted: int = 0
    kept: int = 0


@dataclass
class Redrive:
    """One pass over the queue. `allowed` are domains that a reviewer lets pass whoever the caller was.

    `say` is given one line a letter. Letters that this pass wrote itself are not tried again.
    """

    letters: DeadLetters
    sink: Sink
    say: Callable[[str], None]
    allowed: frozenset[str] = frozenset()
    mark: str = field(default_factory=lambda: os.urandom(8).hex())
    #: Receipt handles of what was received and is still in the queue.
    _held: set[str] = field(default_factory=set)
    #: Whether the last letter could not be judged at all.
    _is_stuck: bool = False

    def run(self, limit: int | None = None) -> Tally:
        """Tries every letter once, at most `limit`; raises botocore's errors where the queue cannot be used."""
        tally, failures = Tally(), 0
        try:
            for message in self._messages(limit):
                outcome = self._try(message)
                tally = replace(tally, accepted=tally.accepted + outcome, kept=tally.kept + (not outcome))
                failures = failures + 1 if self._is_stuck else 0
                if failures == MOST_FAILURES:
                    self.say("stopped: DataZone takes nothing at the moment; run this again later")
                    break
        finally:
            self._release()
        return tally

    def show(self, limit: int | None = None) -> int:
        """Says what the queue holds, and leaves it as it is; returns how many letters that are."""
        shown = 0
        try:
            for message in self._messages(limit):
                shown += 1
                try:
                    letter = self.letters.read(message["Body"])
                    self.say(f"{_named(letter)}: {letter.facts['error']}: {letter.facts['reason']}")
                except AdapterError as error:
                    self.say(f"message {message['MessageId']}: {error}")
        finally:
            self._release()
        return shown

    def _messages(self, limit: int | None) -> Iterator[dict[str, Any]]:
        """Each message of the queue once, as far as this pass did not write it itself."""
        seen: set[str] = set()
        while limit is None or len(seen) < limit:
            received = self.letters.sqs.receive_message(
                QueueUrl=self.letters.queue_url,
                MaxNumberOfMessages=10 if limit is None else min(10, limit - len(seen)),
                VisibilityTimeout=VISIBILITY_SECONDS,
                WaitTimeSeconds=WAIT_SECONDS,
            ).get("Messages", [])
            if not received:
                return
            self._held.update(message["ReceiptHandle"] for message in received)
            for message in received:
                if message["MessageId"] not in seen and self.mark not in message["Body"]:
                    seen.add(message["MessageId"])
                    yield message

    def _try(self, message: dict[str, Any]) -> bool:
        """Whether DataZone has the letter's event now."""
        self._is_stuck = False
        try:
            letter = self.letters.read(message["Body"])
        except DeadLetterFailed as error:
            self.say(f"message {message['MessageId']}: kept: {error}")
            return False
        caller = Caller(letter.caller.name, letter.caller.domains | self.allowed, letter.caller.entry)
        outcome = judge(letter.wire, caller, self.sink, LETTER_SECONDS)
        if outcome.receipt is not None:
            self._delete(message)
            self.letters.forget_payload(letter)
            as_id = f" as {outcome.receipt.id}" if outcome.receipt.id else ""
            self.say(f"{_named(letter)}: {outcome.receipt.status}{as_id}")
            return True
        problem = outcome.error or AdapterError("no reason")
        if isinstance(problem, Refused):
            # First the new message, then the old one away: between the two there are two, never none.
            self.letters.sqs.send_message(
                QueueUrl=self.letters.queue_url, MessageBody=letter.renewed(problem, self.mark)
            )
            self._delete(message)
        else:
            self._is_stuck = True
        self.say(f"{_named(letter)}: kept: {problem}")
        return False

    def _delete(self, message: dict[str, Any]) -> None:
        self.letters.sqs.delete_message(QueueUrl=self.letters.queue_url, ReceiptHandle=message["ReceiptHandle"])
        self._held.discard(message["ReceiptHandle"])

    def _release(self) -> None:
        """What was received and stays is visible again at once, for the next pass or for a person."""
        from botocore.exceptions import BotoCoreError, ClientError

        for handle in self._held:
            with suppress(BotoCoreError, ClientError):  # it comes back by itself, a few minutes later
                self.letters.sqs.change_message_visibility(
                    QueueUrl=self.letters.queue_url, ReceiptHandle=handle, VisibilityTimeout=0
                )
        self._held.clear()


def _named(letter: Letter) -> str:
    facts = letter.facts
    named = " ".join(str(facts[key]) for key in ("job", "runId", "eventType") if facts.get(key))
    return named or f"an event of {facts.get('bytes')} bytes from {facts.get('caller') or 'nobody'}"
