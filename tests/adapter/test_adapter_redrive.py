"""Replaying dead letters: what is accepted leaves the queue, what fails again stays, and nothing becomes two events."""

from __future__ import annotations

import base64
import gzip
import json
import random

import pytest
from adapter_samples import as_bytes, http_api, keyed, run_event

from lineage_adapter import deployment
from lineage_adapter.__main__ import main
from lineage_adapter.dead_letters import INLINE_BYTES
from lineage_adapter.redrive import Redrive

GOOD = as_bytes(run_event())
POLICY = as_bytes(run_event(job={"namespace": "cordata.policy", "name": "claims-ingest"}))


@pytest.fixture
def quota(datazone, invoke):
    """Makes dead letters of good events: DataZone's quota is used up while they come."""

    def lose(*bodies: bytes) -> None:
        datazone.set("/fake/failures", error="ServiceQuotaExceededException", times=len(bodies))
        for body in bodies:
            text = base64.b64encode(body).decode()
            assert invoke(http_api(text, base64=True)).code == 402

    return lose


@pytest.fixture
def redrive(adapter_environment, monkeypatch, capsys):
    """Runs the command; its exit code and what it said."""
    monkeypatch.setattr("lineage_adapter.redrive.WAIT_SECONDS", 0)

    def run(*options: str) -> tuple[int, str]:
        capsys.readouterr()
        code = main(["redrive", *options])
        said = capsys.readouterr()
        return code, said.out + said.err

    return run


def test_what_is_accepted_now_leaves_the_queue(quota, redrive, datazone, letters):
    quota(GOOD)

    code, said = redrive()

    assert (code, datazone.bodies, letters.all()) == (0, [GOOD.decode()], [])
    (event,) = datazone.get("/fake/events")
    assert f"transactions-scored-daily {run_event()['run']['runId']} COMPLETE: accepted as {event['id']}" in said
    assert "dead letters: 1 accepted, 0 kept" in said


def test_what_fails_again_stays_with_the_new_reason_and_the_old_one(redrive, invoke, datazone, letters):
    invoke(http_api(as_bytes(run_event(schemaURL=None)).decode()))
    before = letters.one()

    for _ in range(2):
        code, said = redrive()
        assert code == 1
        assert "kept: DataZone rejects the event (ValidationException" in said

    after = letters.one()
    assert after["data"] == before["data"]
    assert after["firstReason"] == before["reason"]
    assert (after["error"], after["receivedAt"]) == ("EventRejected", before["receivedAt"])
    assert datazone.bodies == []


def test_a_mix_is_sorted_and_each_letter_is_tried_once(quota, redrive, invoke, datazone, letters):
    bad = [as_bytes(run_event(run={"runId": f"bad-{n}"}, schemaURL=None)) for n in range(13)]
    for body in bad:
        invoke(http_api(body.decode()))
    good = [as_bytes(run_event(run={"runId": f"good-{n}"})) for n in range(12)]
    quota(*good)

    code, said = redrive()

    assert code == 1
    assert "dead letters: 12 accepted, 13 kept" in said
    assert sorted(datazone.bodies) == sorted(body.decode() for body in good)
    assert sorted(letter["data"] for letter in letters.all()) == sorted(bad)


def test_what_datazone_has_already_is_no_second_event(quota, redrive, post, datazone, letters):
    quota(GOOD, GOOD)
    assert post(json.loads(GOOD)).status == "accepted"

    code, said = redrive()

    assert (code, len(datazone.bodies), letters.all()) == (0, 1, [])
    assert "2 accepted" in said


def test_an_interrupted_redrive_posts_nothing_twice(quota, redrive, datazone, letters, monkeypatch):
    """It stops between DataZone's answer and the queue's: the worst moment."""
    quota(GOOD)

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as broken:
        broken.setattr(Redrive, "_delete", die)
        with pytest.raises(KeyboardInterrupt):
            redrive()
    assert (len(datazone.bodies), len(letters.all())) == (1, 1)

    assert redrive()[0] == 0
    assert (len(datazone.bodies), letters.all()) == (1, [])


def test_a_large_and_a_gzipped_payload_are_posted_and_the_object_is_removed(quota, redrive, datazone, letters):
    noise = random.Random(7).randbytes(100_000).hex()
    large = as_bytes(run_event(run={"runId": "large", "facets": {"x": {"text": noise}}}))
    assert INLINE_BYTES < len(large) < 300_000
    quota(large, gzip.compress(GOOD))
    assert len(letters.objects()) == 1

    assert redrive()[0] == 0
    assert sorted(datazone.bodies) == sorted([large.decode(), GOOD.decode()])
    assert letters.objects() == []


def test_a_letter_whose_payload_is_gone_or_changed_stays(redrive, invoke, letters):
    data = random.Random(7).randbytes(INLINE_BYTES + 1)
    invoke(http_api(base64.b64encode(data).decode(), base64=True))
    (key,) = letters.objects()
    s3 = letters.aws.client("s3", "999999999999")

    s3.put_object(Bucket=letters.bucket, Key=key, Body=b"something else")
    code, said = redrive()
    assert (code, "its SHA-256 differs" in said) == (1, True)

    s3.delete_object(Bucket=letters.bucket, Key=key)
    code, said = redrive()
    assert (code, "NoSuchKey" in said) == (1, True)


def test_a_message_that_is_no_letter_stays_and_is_said(redrive, letters):
    letters.aws.client("sqs", "999999999999").send_message(QueueUrl=letters.url, MessageBody='{"hello": 1}')

    code, said = redrive()

    assert (code, "is no dead letter of the adapter's" in said) == (1, True)


def test_another_domains_event_is_no_more_let_in_here_than_at_the_door(redrive, post, datazone, letters):
    assert post(json.loads(POLICY)).code == 403

    code, said = redrive()
    assert (code, datazone.bodies) == (1, [])
    assert "belongs to domain policy, the caller belongs to fraud" in said

    code, _ = redrive("--allow", "policy")
    assert (code, datazone.bodies, letters.all()) == (0, [POLICY.decode()], [])


def test_while_datazone_is_away_letters_stay_as_they_are(quota, redrive, datazone, letters):
    bodies = [as_bytes(run_event(run={"runId": f"r{n}"})) for n in range(5)]
    quota(*bodies)
    datazone.set("/fake/failures", error="AccessDeniedException", times=100)

    code, said = redrive()
    assert (code, "stopped: DataZone takes nothing at the moment" in said) == (1, True)
    assert "0 accepted, 3 kept" in said
    assert all("firstReason" not in letter for letter in letters.all())

    datazone.set("/fake/reset")
    assert redrive()[0] == 0
    assert len(datazone.bodies) == 5


def test_listing_changes_nothing(quota, redrive, datazone, letters):
    quota(GOOD)

    code, said = redrive("--list")

    assert code == 1
    assert "QuotaExceeded: DataZone's quota is used up" in said
    assert datazone.bodies == []
    assert len(letters.all()) == 1


def test_a_limit_is_kept(quota, redrive, datazone):
    quota(*(as_bytes(run_event(run={"runId": f"r{n}"})) for n in range(4)))

    assert "3 accepted" in redrive("--limit", "3")[1]
    assert len(datazone.bodies) == 3


def test_an_empty_queue_is_fine(redrive):
    assert redrive() == (0, "dead letters: 0 accepted, 0 kept\n")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--queue", ""], "give --queue"),
        (["--domain-id", "my-domain"], "no DataZone domain id"),
        (["--limit", "0"], "--limit"),
        (["--allow", "Fraud!"], "--allow: a list of domains"),
        (["--queue", "http://127.0.0.1:1/x/y"], "cannot be used"),
    ],
)
def test_a_command_that_cannot_be_used_says_why_in_a_line(redrive, options, said):
    code, text = redrive(*options)

    assert code == 2
    assert said in text
    assert "Traceback" not in text


def test_a_parked_event_of_a_key_is_posted_by_the_redrive(redrive, post, datazone, letters):
    datazone.set("/fake/failures", error="ThrottlingException", times=5)
    assert post(run_event(), authorizer=keyed()).code == 429
    deployment.forget()

    assert redrive()[0] == 0
    assert datazone.bodies == [GOOD.decode()]
