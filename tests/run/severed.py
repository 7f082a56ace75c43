"""A run in a process of its own that is killed at one of its requests: kill -9 of the driver, JVM and all.

Everything that a run does to the world is a request: to Glue, S3 (data and evidence), Lake Formation, the adapter.
The relay stands between, counts them, and kills the process group right before it hands one on or right before it
hands its answer back. So every state that a killed run can leave behind is one of its moments.
"""

from __future__ import annotations

import http.client
import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

__all__ = ["Moment", "Relay", "relayed", "run_killed"]

_HOP = {"connection", "keep-alive", "transfer-encoding", "content-length"}


@dataclass(frozen=True)
class Moment:
    """When to kill: at the request of that number, or at the first one of that operation from that number on."""

    number: int
    after: bool
    operation: str = ""

    def __str__(self) -> str:
        side = "after" if self.after else "before"
        return f"{side} request {self.number}" if not self.operation else f"{side} {self.operation}"

    def has_come(self, number: int, operation: str) -> bool:
        if self.operation:
            return number >= self.number and self.operation in operation
        return number == self.number


@dataclass
class Relay:
    """`aws` and `lineage` are what the run is told to talk to; `requests` the operations so far."""

    aws: str = ""
    lineage: str = ""
    requests: list[str] = field(default_factory=list)
    moment: Moment | None = None
    killed_at: str | None = None
    _process: subprocess.Popen[str] | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def watch(self, process: subprocess.Popen[str], moment: Moment | None) -> None:
        with self._lock:
            self.requests.clear()
            self._process, self.moment, self.killed_at = process, moment, None

    def count(self, operation: str) -> bool | None:
        """Whether the run is to be killed at this request: False before it, True after it, None not at all."""
        with self._lock:
            self.requests.append(operation)
            moment = self.moment
            if self.killed_at is not None or moment is None or not moment.has_come(len(self.requests), operation):
                return None
            self.killed_at = f"{'after' if moment.after else 'before'} #{len(self.requests)} {operation}"
            return moment.after

    @property
    def is_dead(self) -> bool:
        return self._process is not None and self._process.poll() is not None

    def kill(self) -> None:
        assert self._process is not None
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


@contextmanager
def relayed(aws: str, lineage: str) -> Iterator[Relay]:
    relay = Relay()
    servers = [ThreadingHTTPServer(("127.0.0.1", 0), _handler(relay, upstream)) for upstream in (aws, lineage)]
    relay.aws = f"http://127.0.0.1:{servers[0].server_port}"
    relay.lineage = f"http://127.0.0.1:{servers[1].server_port}{urlsplit(lineage).path}"
    for server in servers:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    try:
        yield relay
    finally:
        for server in servers:
            server.shutdown()
            server.server_close()


def run_killed(
    relay: Relay, command: list[str], environ: dict[str, str], moment: Moment | None, seconds: float = 300
) -> tuple[int, str]:
    """Runs the command until it ends or its moment has come; the exit code (-9 when killed) and what it said."""
    process = subprocess.Popen(
        command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )
    relay.watch(process, moment)
    try:
        said, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        relay.kill()
        raise
    return process.returncode, said


def _handler(relay: Relay, upstream: str) -> type[BaseHTTPRequestHandler]:
    address = urlsplit(upstream).netloc

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def _relay(self) -> None:
            body = self._body()
            verdict = relay.count(_operation(self.command, self.path, self.headers))
            if verdict is False:
                relay.kill()
                self.close_connection = True
                return
            connection = http.client.HTTPConnection(address, timeout=120)
            headers = {name: value for name, value in self.headers.items() if name.lower() not in _HOP}
            headers.pop("Expect", None)
            connection.request(self.command, self.path, body, headers)
            answer = connection.getresponse()
            content = answer.read()
            connection.close()
            if verdict is True:
                relay.kill()
            if relay.is_dead:
                self.close_connection = True
                return
            length = answer.headers.get("Content-Length") if self.command == "HEAD" else str(len(content))
            lines = [f"HTTP/1.1 {answer.status} {answer.reason}"]
            lines += [f"{name}: {value}" for name, value in answer.headers.items() if name.lower() not in _HOP]
            lines += [f"Content-Length: {length or 0}", "", ""]
            self.wfile.write("\r\n".join(lines).encode("latin-1") + content)

        do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = _relay  # noqa: N815 - the names are the base class's

        def _body(self) -> bytes:
            if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
                return self.rfile.read(int(self.headers.get("Content-Length") or 0))
            parts = []
            while size := int(self.rfile.readline().split(b";")[0], 16):
                parts.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            return b"".join(parts)

        def handle(self) -> None:
            try:
                super().handle()
            except (ConnectionError, TimeoutError):
                self.close_connection = True  # the run has been killed

        def log_message(self, *_: Any) -> None:
            """Nothing."""

    return Handler


def _operation(method: str, path: str, headers: Any) -> str:
    """`glue.UpdateTable`, `PUT /bucket/key`, `POST /lineage`."""
    target = headers.get("X-Amz-Target", "")
    if target:
        return f"{target.partition('.')[0].lower().removeprefix('aws')}.{target.rpartition('.')[2]}"
    return f"{method} {path.partition('?')[0]}"
