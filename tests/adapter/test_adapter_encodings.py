"""Bodies as emitters and API Gateway pack them: DataZone gets what was packed."""

from __future__ import annotations

import base64
import gzip

import pytest
from adapter_samples import as_bytes, http_api, run_event

BODY = as_bytes(run_event(job={"namespace": "cordata.fraud", "name": "prüfung"}))


def test_base64_is_undone(invoke, datazone):
    answer = invoke(http_api(base64.b64encode(BODY).decode(), base64=True))

    assert answer.status == "accepted"
    assert datazone.bodies == [BODY.decode()]


@pytest.mark.parametrize("headers", [{"content_encoding": "gzip"}, {"Content_Encoding": "GZIP"}, {}])
def test_gzip_is_undone_whatever_the_headers_case_and_even_without_one(invoke, datazone, headers):
    packed = base64.b64encode(gzip.compress(BODY)).decode()

    assert invoke(http_api(packed, base64=True, **headers)).status == "accepted"
    assert datazone.bodies == [BODY.decode()]


def test_several_gzip_members_are_one_body(invoke, datazone):
    packed = base64.b64encode(gzip.compress(BODY[:40]) + gzip.compress(BODY[40:])).decode()

    assert invoke(http_api(packed, base64=True, content_encoding="gzip")).status == "accepted"
    assert datazone.bodies == [BODY.decode()]


def test_a_body_that_a_proxy_unpacked_already_is_taken_as_it_is(invoke, datazone):
    assert invoke(http_api(BODY.decode(), content_encoding="gzip")).status == "accepted"
    assert datazone.bodies == [BODY.decode()]


def test_packed_and_plain_are_the_same_event(invoke, datazone):
    plain = invoke(http_api(BODY.decode()))
    packed = invoke(http_api(base64.b64encode(gzip.compress(BODY)).decode(), base64=True, content_encoding="gzip"))

    assert plain.body == packed.body
    assert len(datazone.bodies) == 1


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (gzip.compress(BODY)[:-9], "gzip body ends too early"),
        (gzip.compress(BODY)[:-8] + b"12345678", "gzip body is broken"),
        (gzip.compress(BODY) + b"rest", "gzip body is broken"),
    ],
    ids=["cut", "wrong checksum", "something behind it"],
)
def test_a_broken_gzip_body_is_refused(invoke, datazone, data, reason):
    answer = invoke(http_api(base64.b64encode(data).decode(), base64=True, content_encoding="gzip"))

    assert (answer.code, answer.status) == (400, "refused")
    assert reason in answer.reason
    assert datazone.bodies == []


@pytest.mark.parametrize("body", ["not base64!", "eyJ", "\u00fc"])
def test_broken_base64_is_refused(invoke, body):
    answer = invoke(http_api(body, base64=True))

    assert (answer.code, answer.status) == (400, "refused")
    assert "neither valid base64 nor text" in answer.reason


@pytest.mark.parametrize("encoding", ["deflate", "br", "zstd", "gzip, gzip"])
def test_another_content_encoding_is_named_in_the_refusal(invoke, encoding):
    answer = invoke(http_api(base64.b64encode(b"\x00").decode(), base64=True, content_encoding=encoding))

    assert (answer.code, answer.status) == (415, "refused")
    assert repr(encoding) in answer.reason
    assert "send gzip" in answer.reason
