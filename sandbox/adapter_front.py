"""The lineage adapter on this machine: an HTTP server that does what API Gateway does, and calls the Lambdas' own
handlers, in process.

    python -m sandbox.adapter_front --port 5700 --events events/

`POST /lineage` must be signed; `POST /api/v1/lineage`, OpenLineage's default path, needs a Bearer key; `GET /health`
says that it runs (`sandbox.gateway` does the asking). `--port 0` takes a free port, and the line it prints names it.
Each body that reaches the handler is kept in the events folder as `<time>-<eventType>-<job>.json`, one file an event,
byte for byte and in order of arrival; what is no JSON object is kept as `<time>-unreadable.body`. SIGTERM ends it once
the requests under way are answered. The queue, the bucket and the secret that a deployment has are made at the start.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import sys
import threading
import time
import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from lineage_adapter.deployment import sink
from lineage_adapter.errors import AdapterError, ConfigurationError
from lineage_adapter.gateway import read_wire
from lineage_adapter.handler import handler
from lineage_adapter.settings import settings_from
from sandbox.gateway import IAM_PATH, PATHS, Gateway, Stopped, http_api_request
from sandbox.lineage_access import adapter_environment, provide

__all__ = ["AdapterServer", "main"]

#: Bytes; API Gateway answers a longer body itself.
MAX_REQUEST_BYTES = 10 * 1024 * 1024
#: Seconds; the Lambda's timeout.
LAMBDA_SECONDS = 15.0


class LambdaContext:
    """What the handler reads of Lambda's context."""

    def __init__(self) -> None:
        self.aws_request_id = str(uuid.uuid4())
        self._deadline = time.monotonic() + LAMBDA_SECONDS

    def get_remaining_time_in_millis(self) -> int:
        return max(0, int((self._deadline - time.monotonic()) * 1000))


class EventFolder:
    """Keeps each received body as a file."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._lock = threading.Lock()
        self._last = datetime.min.replace(tzinfo=UTC)

    def keep(self, request: Mapping[str, Any], raw: bytes) -> Path:
        """Writes the body, unpacked where it can be; the file appears whole or not at all."""
        body, name = _body_and_name(request, raw)
        file = self._folder / f"{self._time():%Y%m%dT%H%M%S.%fZ}-{name}"
        part = file.with_name(f".{file.name}.part")
        part.write_bytes(body)
        return part.rename(file)

    def _time(self) -> datetime:
        """Now, and later than any time given before: names are unique and sort by arrival."""
        with self._lock:
            self._last = max(datetime.now(UTC), self._last + datetime.resolution)
            return self._last


def _body_and_name(request: Mapping[str, Any], raw: bytes) -> tuple[bytes, str]:
    try:
        body = read_wire(request).unpacked()
        event = json.loads(body)
        job = event.get("job")
        words = (event.get("eventType", "NONE"), job.get("name", "none") if isinstance(job, dict) else "none")
    except (AdapterError, ValueError, AttributeError, RecursionError):
        return raw, "unreadable.body"
    return body, "-".join(re.sub(r"[^A-Za-z0-9._-]+", "_", str(word))[:100] for word in words) + ".json"


class AdapterServer(ThreadingHTTPServer):
    """Listens from construction on; `keep` is where received bodies go, if anywhere."""

    daemon_threads = False
    request_queue_size = 128

    def __init__(self, port: int, events: Path | None) -> None:
        self.events = EventFolder(events) if events else None
        self.gateway = Gateway()
        self.is_ready = threading.Event()
        super().__init__(("127.0.0.1", port), _Request)

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002 - the name is the base class's
        """One line for a request that broke off; the client is gone, or silent for too long."""
        print(f"adapter: request from {client_address[0]} broke off: {sys.exception()!r}", file=sys.stderr)


class _Request(BaseHTTPRequestHandler):
    server: AdapterServer
    timeout = 10  # seconds for a silent client, so that the server can end

    def do_GET(self) -> None:
        if self.path == "/health":
            self._answer(200, {}, json.dumps({"status": "ok"}))
        else:
            self._answer(404, {}, json.dumps({"message": "Not Found"}))

    def do_POST(self) -> None:
        path = self.path.split("?")[0]
        length = self.headers.get("Content-Length", "")
        if path not in PATHS:
            self._answer(404, {}, json.dumps({"message": "Not Found"}))
        elif not length.isdigit():
            self._answer(411, {}, json.dumps({"message": "Length Required"}))
        elif int(length) > MAX_REQUEST_BYTES:
            self._answer(413, {}, json.dumps({"message": "Request Entity Too Large"}))
        else:
            self._hand_on(path, self.rfile.read(int(length)))

    def _hand_on(self, path: str, body: bytes) -> None:
        request = http_api_request("POST", path, dict(self.headers.items()), body)
        self.server.is_ready.wait()
        try:
            request = self.server.gateway.authorised(request, LambdaContext())
        except Stopped as stopped:
            self._answer(stopped.code, {}, json.dumps({"message": str(stopped)}))
            return
        if self.server.events is not None:
            self.server.events.keep(request, body)
        answer = handler(request, LambdaContext())
        self._answer(answer["statusCode"], answer["headers"], answer["body"])

    def _answer(self, code: int, headers: Mapping[str, str], body: str) -> None:
        content = body.encode("utf-8")
        self.send_response(code)
        for name, value in {"content-type": "application/json", **headers, "content-length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        """Nothing: the handler writes the one line of a request."""


def _connect(server: AdapterServer) -> None:
    """Makes what a deployment has, and the client, a second's work, before the first event waits for it.

    Where the stand-in for AWS is away, the first event reports it.
    """
    try:
        provide()
        sink()
    except Exception as error:
        print(f"adapter: AWS does not answer: {error}", file=sys.stderr)
    server.is_ready.set()


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m sandbox.adapter_front", description="The lineage adapter, local.")
    parser.add_argument("--port", type=int, required=True, help="0 takes a free one")
    parser.add_argument("--events", type=Path, help="folder that keeps each received body")
    arguments = parser.parse_args(argv)
    os.environ.update(adapter_environment(os.environ))
    try:
        settings_from(os.environ)
    except ConfigurationError as error:
        print(f"adapter: {error}", file=sys.stderr)
        return 2

    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    try:
        server = AdapterServer(arguments.port, arguments.events)
    except OSError as error:
        print(f"adapter: cannot listen on port {arguments.port}: {error.strerror}", file=sys.stderr)
        return 2
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}).start()
    threading.Thread(target=_connect, args=(server,), daemon=True).start()
    print(f"adapter: listening on http://127.0.0.1:{server.server_port}{IAM_PATH}", flush=True)
    stop.wait()
    server.shutdown()
    server.server_close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
