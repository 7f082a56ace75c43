"""A sink for events: a real HTTP server with a script."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

__all__ = ["Sink", "running_sink"]


@dataclass
class Sink:
    """A real HTTP server that answers by a script, one entry a request, the last one for ever."""

    server: ThreadingHTTPServer
    script: list[tuple[int, bytes]] = field(default_factory=lambda: [(202, b'{"status":"accepted","id":"lin-1"}')])
    headers: dict[str, str] = field(default_factory=dict)
    received: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}/lineage"

    @property
    def bodies(self) -> list[bytes]:
        return [body for _, _, body in self.received]

    def answer(self) -> tuple[int, bytes]:
        return self.script.pop(0) if len(self.script) > 1 else self.script[0]


@contextmanager
def running_sink() -> Iterator[Sink]:
    """A sink that is there within."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            it.received.append((self.path, dict(self.headers.items()), body))
            status, answer = it.answer()
            self.send_response(status)
            for name, value in it.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_arguments: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    it = Sink(server)
    thread = threading.Thread(target=lambda: server.serve_forever(poll_interval=0.02), daemon=True)
    thread.start()
    try:
        yield it
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
