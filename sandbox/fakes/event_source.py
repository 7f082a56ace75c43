"""Lambda's event source mapping of a Kinesis stream: what calls a handler with batches, and what it does then.

Models (developer guide, "Using Lambda with Kinesis", and its page on partial batch responses)
    a shard's records in the order of their sequence numbers, in batches of at most `batch_size`, as Lambda's event;
    with ReportBatchItemFailures: an empty list or nothing is success; else the lowest reported sequence number is the
    checkpoint, and that record and all behind it come again; an unknown or empty one fails the whole batch;
    an exception fails the whole batch; a failed batch comes again until it succeeds, which blocks the shard;
    at-least-once: with `repeats`, a batch comes again although it succeeded.
Left out: batch windows, bisecting, parallelisation, maximum attempts and age, the on-failure destination.
"""

from __future__ import annotations

import base64
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["KinesisShard"]

#: Kinesis numbers with 56 digits; what matters is that they are text and compare as numbers.
_FIRST_NUMBER = 49_590_338_271_490_256_608_559_692_538_361_571_095_921_575_989_136_588_898

Handler = Callable[[Mapping[str, Any], Any], Mapping[str, Any] | None]


@dataclass
class KinesisShard:
    """One shard with one consumer. `arrived` (seconds since 1970) is when records are said to have arrived."""

    stream_arn: str
    arrived: float = field(default_factory=time.time)
    invocations: int = 0
    _next: int = _FIRST_NUMBER
    _records: list[dict[str, Any]] = field(default_factory=list)

    def put(self, data: bytes) -> str:
        """Adds a record, and returns its sequence number."""
        number = str(self._next)
        self._next += 7  # numbers grow, and not by one
        self._records.append(
            {
                "kinesis": {
                    "kinesisSchemaVersion": "1.0",
                    "partitionKey": "lineage",
                    "sequenceNumber": number,
                    "data": base64.b64encode(data).decode("ascii"),
                    "approximateArrivalTimestamp": self.arrived,
                },
                "eventSource": "aws:kinesis",
                "eventVersion": "1.0",
                "eventID": f"shardId-000000000000:{number}",
                "eventName": "aws:kinesis:record",
                "invokeIdentityArn": "arn:aws:iam::444455556666:role/lineage-adapter",
                "awsRegion": self.stream_arn.split(":")[3],
                "eventSourceARN": self.stream_arn,
            }
        )
        return number

    def drain(
        self,
        handler: Handler,
        *,
        batch_size: int = 100,
        context: Callable[[], Any] = lambda: None,
        repeats: random.Random | None = None,
        most: int = 10_000,
    ) -> bool:
        """Calls the handler until every record is done; False where `most` invocations were not enough."""
        waiting = list(self._records)
        self._records.clear()
        for _ in range(most):
            if not waiting:
                return True
            batch = waiting[:batch_size]
            self.invocations += 1
            done = _done(handler, batch, context())
            if done == len(batch) and repeats is not None and repeats.random() < 0.1:
                continue
            del waiting[:done]
        self._records = waiting
        return not waiting


def _done(handler: Handler, batch: list[dict[str, Any]], context: Any) -> int:
    """How many records of the batch lie before the checkpoint."""
    try:
        answer = handler({"Records": batch}, context)
    except Exception:
        return 0
    failures = (answer or {}).get("batchItemFailures") or []
    if not failures:
        return len(batch)
    numbers = [record["kinesis"]["sequenceNumber"] for record in batch]
    reported = [failure.get("itemIdentifier") for failure in failures]
    if any(number not in numbers for number in reported):
        return 0
    return min(numbers.index(number) for number in reported)
