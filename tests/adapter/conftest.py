"""The DataZone fake on a port of its own, and the handler in front of it with a real boto3 client."""

from __future__ import annotations

import json
import logging
import threading
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from adapter_samples import as_bytes, http_api
from werkzeug.serving import make_server

from lineage_adapter.handler import handler, sink
from sandbox.fakes.datazone import DOMAIN_ID, DataZoneFake


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


@pytest.fixture(scope="session")
def datazone_server() -> Iterator[str]:
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = make_server("127.0.0.1", 0, DataZoneFake(), threaded=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def datazone(datazone_server: str) -> DataZone:
    """The fake, having forgotten everything."""
    datazone = DataZone(datazone_server)
    datazone.set("/fake/reset")
    return datazone


@pytest.fixture
def adapter_environment(datazone: DataZone, monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """The environment of a deployed adapter; the client is made anew for each test."""
    for name, value in {
        "DATAZONE_DOMAIN_ID": DOMAIN_ID,
        "AWS_ENDPOINT_URL_DATAZONE": datazone.url,
        "AWS_REGION": "eu-central-1",
        "AWS_DEFAULT_REGION": "eu-central-1",
        "AWS_ACCESS_KEY_ID": "999999999999",
        "AWS_SECRET_ACCESS_KEY": "testing",
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("lineage_adapter.sink.FIRST_PAUSE", 0.001)
    sink.cache_clear()
    yield monkeypatch
    sink.cache_clear()


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

    def call(event: dict[str, Any] | bytes, context: Any = None) -> Answer:
        body = event if isinstance(event, bytes) else as_bytes(event)
        return invoke(http_api(body.decode("utf-8")), context)

    return call
