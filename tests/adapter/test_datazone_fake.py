"""The fake keeps DataZone's documented rules, seen through boto3's own client."""

from __future__ import annotations

import time

import pytest
from adapter_samples import PRODUCER, RUN_ID, SCHEMA, as_bytes, run_event
from botocore.exceptions import ClientError

from sandbox.fakes.datazone import DOMAIN_ID, DataZoneFake


@pytest.fixture
def client(datazone):
    return datazone.client("111122223333")


def post(client, body, token=None, domain=DOMAIN_ID):
    extra = {} if token is None else {"clientToken": token}
    return client.post_lineage_event(domainIdentifier=domain, event=body, **extra)["id"]


def refusal(call, *arguments, **options):
    with pytest.raises(ClientError) as caught:
        call(*arguments, **options)
    error = caught.value.response
    return error["Error"]["Code"], error["ResponseMetadata"]["HTTPStatusCode"]


def event_of_bytes(size):
    empty = len(as_bytes(run_event(run={"runId": "r", "facets": {"x": ""}})))
    return as_bytes(run_event(run={"runId": "r", "facets": {"x": "x" * (size - empty)}}))


def test_the_size_limit_is_in_bytes(client):
    assert post(client, event_of_bytes(300_000))
    assert refusal(post, client, event_of_bytes(300_001)) == ("ValidationException", 400)
    assert refusal(post, client, event_of_bytes(299_999).replace(b"xx", "üü".encode())) == ("ValidationException", 400)


@pytest.mark.parametrize("token", ["a b", "x" * 129])
def test_a_token_must_be_printable_and_short(client, token):
    assert refusal(post, client, as_bytes(run_event()), token) == ("ValidationException", 400)


@pytest.mark.parametrize("token", ["!~", "x" * 128])
def test_any_printable_token_of_up_to_128_characters_will_do(client, token):
    assert post(client, as_bytes(run_event()), token)


def test_a_token_stands_for_one_body_within_a_domain(client, datazone):
    datazone.set("/fake/domains", ids=["dzd_other"])
    one, other = as_bytes(run_event()), as_bytes(run_event(eventType="FAIL"))

    first = post(client, one, "token")

    assert post(client, one, "token") == first
    assert refusal(post, client, other, "token") == ("ConflictException", 409)
    assert post(client, other, "token", "dzd_other") != first
    assert post(client, one, "another token".replace(" ", "-")) != first


@pytest.mark.parametrize(
    "body",
    [
        as_bytes({"schemaURL": SCHEMA + "JobEvent", "producer": PRODUCER, "job": {"namespace": "n", "name": "j"}}),
        as_bytes(run_event(schemaURL=SCHEMA + "DatasetEvent")),
        as_bytes(run_event(schemaURL=None)),
        as_bytes(run_event(producer=None)),
        as_bytes(run_event(run={})),
        as_bytes(run_event(job={"namespace": "n", "name": ""})),
        as_bytes(run_event(eventType="DONE")),
        as_bytes(run_event(eventTime="yesterday")),
        as_bytes(run_event(outputs=[{"namespace": "n"}])),
        b"[]",
        b"{",
        b"",
    ],
)
def test_only_run_events_are_taken(client, datazone, body):
    assert refusal(post, client, body) == ("ValidationException", 400)
    assert datazone.bodies == []


@pytest.mark.parametrize(
    ("domain", "expected"),
    [("my-domain", ("ValidationException", 400)), ("dzd_unknown", ("ResourceNotFoundException", 404))],
)
def test_the_domain_must_be_one_and_exist(client, domain, expected):
    assert refusal(post, client, as_bytes(run_event()), domain=domain) == expected
    assert refusal(client.get_lineage_node, domainIdentifier=domain, identifier="x") == expected


def test_an_event_reads_back_byte_for_byte_with_its_times(client):
    body = as_bytes(run_event())
    event = client.get_lineage_event(domainIdentifier=DOMAIN_ID, identifier=post(client, body))

    assert event["event"].read() == body
    assert event["eventTime"].isoformat() == "2026-08-04T09:14:22+00:00"
    assert (event["domainId"], event["createdBy"]) == (DOMAIN_ID, "111122223333")


def test_processing_ends_after_so_many_looks(client, datazone):
    datazone.set("/fake/processing", polls=2)
    identifier = post(client, as_bytes(run_event()))

    seen = [
        client.get_lineage_event(domainIdentifier=DOMAIN_ID, identifier=identifier)["processingStatus"]
        for _ in range(4)
    ]

    assert seen == ["PROCESSING", "PROCESSING", "SUCCESS", "SUCCESS"]


def test_processing_ends_after_so_many_seconds(client, datazone):
    datazone.set("/fake/processing", polls=0, seconds=0.3)
    identifier = post(client, as_bytes(run_event()))

    def status():
        return client.get_lineage_event(domainIdentifier=DOMAIN_ID, identifier=identifier)["processingStatus"]

    assert status() == "PROCESSING"
    time.sleep(0.3)
    assert status() == "SUCCESS"


def test_a_run_has_no_node_before_its_event_is_processed_and_none_when_that_failed(client, datazone):
    datazone.set("/fake/processing", fail_next=1)
    failed = run_event(run={"runId": "failed"})
    post(client, as_bytes(failed))
    post(client, as_bytes(run_event()))

    def node(run_id):
        identifier = f"cordata.fraud.transactions-scored-daily/{run_id}"
        return client.get_lineage_node(domainIdentifier=DOMAIN_ID, identifier=identifier)

    not_found = ("ResourceNotFoundException", 404)
    assert refusal(node, RUN_ID) == not_found
    assert node(RUN_ID)["typeName"] == "amazon.datazone.JobRunLineageNodeType"
    assert refusal(node, "failed") == not_found


def test_events_are_listed_in_pages_newest_first_and_can_be_filtered(client, datazone):
    datazone.set("/fake/processing", polls=0, fail_next=1)
    for minute in range(5):
        post(client, as_bytes(run_event(eventTime=f"2026-08-04T09:0{minute}:00Z", run={"runId": f"r{minute}"})))

    def listed(**filters):
        pages = client.get_paginator("list_lineage_events").paginate(domainIdentifier=DOMAIN_ID, **filters)
        items = [item for page in pages for item in page["items"]]
        return [item["eventSummary"]["openLineageRunEventSummary"]["runId"] for item in items]

    assert listed(PaginationConfig={"PageSize": 2}) == ["r4", "r3", "r2", "r1", "r0"]
    assert listed(sortOrder="ASCENDING") == ["r0", "r1", "r2", "r3", "r4"]
    assert listed(processingStatus="FAILED") == ["r0"]
    assert listed(timestampAfter="2026-08-04T09:01:00Z", timestampBefore="2026-08-04T09:04:00Z") == ["r3", "r2"]


def test_failures_come_as_often_as_asked_and_only_known_ones(client, datazone):
    datazone.set("/fake/failures", error="ThrottlingException", times=1)
    calm = datazone.client()
    calm.meta.events.register("needs-retry.datazone.PostLineageEvent", lambda **_: None)

    assert post(client, as_bytes(run_event()))  # boto3's own retry meets the second, good answer
    with pytest.raises(OSError, match="400"):
        datazone.set("/fake/failures", error="OutOfCoffee")


def test_reset_forgets_events_tokens_and_domains(client, datazone):
    datazone.set("/fake/domains", ids=["dzd_other"])
    first = post(client, as_bytes(run_event()), "token")

    datazone.set("/fake/reset")

    assert datazone.bodies == []
    assert refusal(post, client, as_bytes(run_event()), domain="dzd_other") == ("ResourceNotFoundException", 404)
    assert post(client, as_bytes(run_event()), "token") != first


def test_processing_can_be_configured_where_the_fake_is_made():
    from werkzeug.test import Client

    client = Client(DataZoneFake(polls=0))
    identifier = client.post(f"/v2/domains/{DOMAIN_ID}/lineage/events", data=as_bytes(run_event())).get_json()["id"]

    assert client.get(f"/v2/domains/{DOMAIN_ID}/lineage/events/{identifier}").headers["Processing-Status"] == "SUCCESS"
