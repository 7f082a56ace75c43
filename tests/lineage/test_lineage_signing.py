"""Signed requests, checked by signing them again."""

from __future__ import annotations

import re
from typing import Any

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from botocore.session import get_session

from pipeline_runtime.lineage.delivery import Delivered, Delivery, Undelivered, open_delivery
from pipeline_runtime.lineage.settings import Destination
from pipeline_runtime.lineage.signing import SigV4Signer

BODY = '{"name":"größe"}'.encode()
KEYS = Credentials("AKIDEXAMPLE", "wJalrXUtnFEMI", "session-token")
ROLE = "arn:aws:iam::111122223333:role/lineage-invoker"


class _SameMoment(SigV4Auth):  # type: ignore[misc]
    """Signs at the moment that a given request was signed at."""

    def __init__(self, moment: str, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._moment = moment

    def _modify_request_before_signing(self, request: Any) -> None:
        request.context["timestamp"] = self._moment
        super()._modify_request_before_signing(request)


def signature_of(url: str, headers: dict[str, str], body: bytes, keys: Credentials) -> str:
    """What AWS computes on its side from the request as received."""
    authorization = headers["Authorization"]
    signed = re.search(r"SignedHeaders=([^,]+)", authorization)
    assert signed is not None
    lower = {name.lower(): value for name, value in headers.items()}
    kept = {name: lower[name] for name in signed[1].split(";") if name not in {"x-amz-date", "x-amz-security-token"}}
    assert kept["host"] == url.split("/")[2]
    request = AWSRequest(method="POST", url=url, data=body, headers=kept)
    _SameMoment(lower["x-amz-date"], keys, "execute-api", "eu-central-1").add_auth(request)
    return str(request.headers["Authorization"])


@pytest.fixture
def own_keys() -> Any:
    session = get_session()
    session.set_credentials(KEYS.access_key, KEYS.secret_key, KEYS.token)
    return session


def test_what_arrives_carries_a_signature_that_fits_its_bytes(sink: Any, own_keys: Any) -> None:
    delivery = Delivery(sink.url, signer=SigV4Signer("eu-central-1", session=own_keys))

    assert isinstance(delivery.send(BODY), Delivered)

    _, headers, body = sink.received[0]
    assert headers["X-Amz-Security-Token"] == "session-token"
    assert "/eu-central-1/execute-api/aws4_request" in headers["Authorization"]
    assert headers["Authorization"] == signature_of(sink.url, headers, body, KEYS)
    assert headers["Authorization"] != signature_of(sink.url, headers, body + b" ", KEYS)


def test_a_role_is_assumed_once_and_signs(sink: Any, aws: Any) -> None:
    signer = SigV4Signer("eu-central-1", ROLE)
    delivery = Delivery(sink.url, signer=signer)

    assert isinstance(delivery.send(BODY), Delivered)
    assert isinstance(delivery.send(BODY), Delivered)

    tokens = {headers["X-Amz-Security-Token"] for _, headers, _ in sink.received}
    keys = {re.search(r"Credential=(\w+)/", headers["Authorization"])[1] for _, headers, _ in sink.received}  # type: ignore[index]
    assert len(tokens) == len(keys) == 1
    assert keys.pop().startswith("ASIA")


def test_without_credentials_the_event_is_undelivered_with_that_reason(
    sink: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))

    outcome = Delivery(sink.url, signer=SigV4Signer("eu-central-1")).send(BODY)

    assert isinstance(outcome, Undelivered)
    assert "cannot be signed: Unable to locate credentials" in outcome.reason
    assert sink.received == []


def test_a_destination_with_iam_is_signed(sink: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    delivery = open_delivery(Destination(sink.url, "iam", region="eu-west-1"))
    assert delivery is not None
    assert isinstance(delivery.send(BODY), Delivered)
    assert "/eu-west-1/execute-api/" in sink.received[0][1]["Authorization"]
