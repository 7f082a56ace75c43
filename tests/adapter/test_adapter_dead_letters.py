"""What can never be accepted is kept, with the reason and the bytes as they came; nothing is dropped."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import random

import pytest
from adapter_samples import PRODUCER, RUN_ID, SCHEMA, as_bytes, http_api, keyed, run_event, signed_by

from lineage_adapter.dead_letters import INLINE_BYTES

FOREIGN = as_bytes(run_event(job={"namespace": "cordata.policy", "name": "claims-ingest"}))
DATASET_EVENT = as_bytes({"schemaURL": SCHEMA + "DatasetEvent", "producer": PRODUCER, "dataset": {"name": "d"}})


def binary(data: bytes, **headers: str) -> dict:
    return http_api(base64.b64encode(data).decode(), base64=True, **headers)


@pytest.mark.parametrize(
    ("data", "error", "reason"),
    [
        (b"{", "EventMalformed", "not JSON"),
        (b"\xff\xfe not text \x00", "EventMalformed", "not UTF-8"),
        (DATASET_EVENT, "EventSkipped", "a DatasetEvent is not handed on"),
        (as_bytes(run_event(producer=None)), "EventIncomplete", "without producer"),
        (as_bytes(run_event(schemaURL=None)), "EventRejected", "ValidationException"),
        (FOREIGN, "DomainForeign", "belongs to domain policy"),
        (gzip.compress(as_bytes(run_event()))[:-9], "BodyUnreadable", "ends too early"),
        (gzip.compress(b" " * 400_000), "EventTooLarge", "300,000"),
    ],
    ids=lambda value: value if isinstance(value, str) and value.startswith(("Event", "Domain", "Body")) else "",
)
def test_reported_what_is_refused_is_kept_with_its_reason_and_untouched(invoke, letters, data, error, reason):
    answer = invoke(binary(data))

    letter = letters.one()
    assert answer.status in {"refused", "skipped"}
    assert answer.body["deadLetter"] == letter["messageId"]
    assert letter["data"] == data
    assert (letter["error"], letter["reason"]) == (error, answer.reason)
    assert reason in letter["reason"]
    assert (letter["bytes"], letter["sha256"]) == (len(data), hashlib.sha256(data).hexdigest())
    assert (letter["entry"], letter["domains"]) == ("iam", ["fraud"])


def test_a_letter_names_the_run_where_that_can_be_read(post, letters):
    answer = post(run_event(schemaURL=None))

    letter = letters.one()
    assert (letter["runId"], letter["eventType"]) == (RUN_ID, "COMPLETE")
    assert letter["job"] == "cordata.fraud.transactions-scored-daily"
    assert letter["clientToken"] == answer.body["clientToken"]


def test_the_transports_broken_base64_is_kept_as_it_is(invoke, letters):
    invoke(http_api("not base64!", base64=True))

    letter = letters.one()
    assert (letter["data"], letter["broken"], letter["error"]) == (b"not base64!", True, "BodyUnreadable")


def test_an_unknown_encoding_is_remembered(invoke, letters):
    invoke(binary(b"\x28\xb5\x2f\xfd", content_encoding="zstd"))

    assert (letters.one()["encoding"], letters.one()["data"]) == ("zstd", b"\x28\xb5\x2f\xfd")


def test_a_quota_that_is_used_up_is_a_dead_letter(post, datazone, letters):
    datazone.set("/fake/failures", error="ServiceQuotaExceededException")

    assert post(run_event()).code == 402
    assert letters.one()["error"] == "QuotaExceeded"


@pytest.mark.parametrize("size", [INLINE_BYTES, INLINE_BYTES + 1, 2_000_000])
def test_a_payload_over_the_queues_limit_lies_in_the_bucket(invoke, letters, size):
    data = random.Random(7).randbytes(size)

    invoke(binary(data))

    letter = letters.one()
    assert letter["data"] == data
    assert ("payloadAt" in letter, len(letters.objects())) == ((False, 0) if size == INLINE_BYTES else (True, 1))


def test_a_letter_fits_into_a_queue_of_the_older_limit(invoke, letters):
    invoke(binary(random.Random(7).randbytes(INLINE_BYTES)))

    letter = letters.one()
    message = {key: value for key, value in letter.items() if key not in {"data", "messageId"}}
    assert len(json.dumps(message)) <= 262_144


@pytest.mark.parametrize("failure", ["ThrottlingException", "InternalServerException", "AccessDeniedException"])
def test_what_may_be_accepted_later_stays_with_an_executor_and_is_kept_for_a_key(post, datazone, letters, failure):
    datazone.set("/fake/failures", error=failure, times=5)
    by_role = post(run_event(), authorizer=signed_by())
    assert letters.all() == []

    datazone.set("/fake/failures", times=0)
    datazone.set("/fake/reset")
    datazone.set("/fake/failures", error=failure, times=5)
    by_key = post(run_event(), authorizer=keyed())

    assert by_key.code == by_role.code >= 429
    assert by_role.body["deadLetter"] is None
    assert (letters.one()["messageId"], letters.one()["entry"]) == (by_key.body["deadLetter"], "key")


def test_a_request_without_a_body_leaves_nothing_to_keep(invoke, letters):
    assert invoke(http_api(None)).code == 400
    assert letters.all() == []


@pytest.mark.parametrize("missing", ["queue", "bucket"])
def test_a_refused_event_that_cannot_be_kept_is_to_be_sent_again(adapter_environment, invoke, letters, capsys, missing):
    if missing == "queue":
        adapter_environment.setenv("LINEAGE_DEAD_LETTER_QUEUE", letters.url + "-gone")
    else:
        adapter_environment.setenv("LINEAGE_DEAD_LETTER_PAYLOADS", "s3://no-such-bucket-of-ours")

    answer = invoke(binary(random.Random(7).randbytes(INLINE_BYTES + 1)))

    assert (answer.code, answer.status, answer.headers["retry-after"]) == (503, "unavailable", "2")
    assert "the dead letter could not be kept" in answer.reason
    assert "the event was refused: the body is not UTF-8" in answer.reason
    line = json.loads(capsys.readouterr().out)
    assert (line["error"], line["Unavailable"], line["DeadLettered"]) == ("DeadLetterFailed", 1, 0)


def test_an_accepted_event_leaves_no_letter(post, letters):
    answer = post(run_event())

    assert (answer.status, answer.body["deadLetter"], letters.all()) == ("accepted", None, [])


def test_a_letters_reason_quotes_nothing_of_the_payload(invoke, letters):
    invoke(http_api('{"password": "s3cret-42" oops'))

    letter = letters.one()
    facts = {key: value for key, value in letter.items() if key not in {"payload", "data"}}
    assert "s3cret" not in json.dumps(facts)
