"""The stand-in for AWS with its DataZone, and the handlers in front of it with real boto3 clients."""

from __future__ import annotations

import base64
import json
import urllib.request
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from adapter_samples import ACCOUNT, CALLERS, as_bytes, http_api

from lineage_adapter import deployment
from lineage_adapter.handler import handler
from sandbox.fakes.datazone import DOMAIN_ID


@dataclass(frozen=True)
class DataZone:
    """The running fake, with its test-only paths."""

    url: str

    def get(self, path: str) -> Any:
        with urllib.request.urlopen(self.url + path) as answer:
            return json.load(answer)

    def set(self, path: str, **values: Any) -> Any:
        data = json.dumps(values).encode()
        request = urllib.request.Request(self.url + path, data, {"content-type": "application/json"})
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)

    @property
    def bodies(self) -> list[str]:
        """The accepted events, as text, in order."""
        return [event["body"] for event in self.get("/fake/events")]

    def client(self, account: str = "999999999999", region: str = "eu-central-1") -> Any:
        import boto3

        return boto3.client(
            "datazone",
            endpoint_url=self.url,
            region_name=region,
            aws_access_key_id=account,
            aws_secret_access_key="testing",
        )


@dataclass(frozen=True)
class Answer:
    """The handler's response, its body parsed."""

    code: int
    headers: dict[str, str]
    body: dict[str, Any]

    @property
    def status(self) -> str:
        return str(self.body["status"])

    @property
    def reason(self) -> str:
        return str(self.body["reason"])


Post = Callable[..., Answer]


@dataclass(frozen=True)
class Letters:
    """The dead letters' queue and bucket, as a person with the console sees them."""

    aws: Any
    url: str
    bucket: str

    def all(self) -> list[dict[str, Any]]:
        """Every letter, with its payload's bytes under `data`; they stay in the queue."""
        sqs, found, handles = self.aws.client("sqs", ACCOUNT), {}, []
        while messages := sqs.receive_message(QueueUrl=self.url, MaxNumberOfMessages=10).get("Messages"):
            for message in messages:
                handles.append(message["ReceiptHandle"])
                letter = json.loads(message["Body"])
                found[message["MessageId"]] = {**letter, "data": self._data(letter), "messageId": message["MessageId"]}
        for handle in handles:
            sqs.change_message_visibility(QueueUrl=self.url, ReceiptHandle=handle, VisibilityTimeout=0)
        return list(found.values())

    def one(self) -> dict[str, Any]:
        (letter,) = self.all()
        return letter

    def objects(self) -> list[str]:
        listed = self.aws.client("s3", ACCOUNT).list_objects_v2(Bucket=self.bucket)
        return [each["Key"] for each in listed.get("Contents", [])]

    def _data(self, letter: dict[str, Any]) -> bytes:
        if "payload" in letter:
            return base64.b64decode(letter["payload"])
        bucket, _, key = letter["payloadAt"].removeprefix("s3://").partition("/")
        return self.aws.client("s3", ACCOUNT).get_object(Bucket=bucket, Key=key)["Body"].read()


@pytest.fixture
def datazone(aws: Any) -> DataZone:
    """The fake, having forgotten everything."""
    datazone = DataZone(aws.endpoint)
    datazone.set("/fake/reset")
    return datazone


@pytest.fixture
def letters(aws: Any) -> Letters:
    """A queue and a bucket of this test's own."""
    name = f"letters-{uuid.uuid4().hex[:12]}"
    url = aws.client("sqs", ACCOUNT).create_queue(QueueName=name)["QueueUrl"]
    where = {"LocationConstraint": aws.region}
    aws.client("s3", ACCOUNT).create_bucket(Bucket=name, CreateBucketConfiguration=where)
    return Letters(aws, url, name)


@pytest.fixture
def adapter_environment(
    datazone: DataZone, letters: Letters, monkeypatch: pytest.MonkeyPatch
) -> Iterator[pytest.MonkeyPatch]:
    """The environment of a deployed adapter; its clients are made anew for each test."""
    for name, value in {
        "DATAZONE_DOMAIN_ID": DOMAIN_ID,
        "LINEAGE_CALLERS": json.dumps(CALLERS),
        "LINEAGE_DEAD_LETTER_QUEUE": letters.url,
        "LINEAGE_DEAD_LETTER_PAYLOADS": f"s3://{letters.bucket}/payloads",
        "AWS_ENDPOINT_URL": datazone.url,
        "AWS_REGION": "eu-central-1",
        "AWS_DEFAULT_REGION": "eu-central-1",
        "AWS_ACCESS_KEY_ID": ACCOUNT,
        "AWS_SECRET_ACCESS_KEY": "testing",
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("lineage_adapter.sink.FIRST_PAUSE", 0.001)
    deployment.forget()
    yield monkeypatch
    deployment.forget()


@pytest.fixture
def invoke(adapter_environment: pytest.MonkeyPatch) -> Post:
    """Calls the handler with an HTTP API request."""

    def call(request: dict[str, Any], context: Any = None) -> Answer:
        response = handler(request, context)
        return Answer(response["statusCode"], response["headers"], json.loads(response["body"]))

    return call


@pytest.fixture
def post(invoke: Post) -> Post:
    """Posts an event, as a dictionary or as the bytes of an emitter, the way an executor would."""

    def call(event: dict[str, Any] | bytes, context: Any = None, authorizer: Any = None) -> Answer:
        body = event if isinstance(event, bytes) else as_bytes(event)
        return invoke(http_api(body.decode("utf-8"), authorizer=authorizer), context)

    return call
