"""Servers that outlive the command: one process, one port, whatever happened before."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.errors import SandboxError
from sandbox.processes import Server

#: A server in a few lines: `python -c SERVER --port N`.
SERVER = """
import http.server, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers()
http.server.HTTPServer(("127.0.0.1", int(sys.argv[-1])), Handler).serve_forever()
"""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    made = Server("probe", tmp_path, "/")
    yield made
    made.stop()


def start(server: Server, code: str = SERVER) -> None:
    server.start([sys.executable, "-c", code], dict(os.environ), server.folder)


def test_a_started_server_answers_and_a_second_start_changes_nothing(server: Server) -> None:
    assert not server.is_up()
    start(server)
    assert server.is_up()
    before = server.pid
    start(server)
    assert server.pid == before


def test_it_comes_back_on_the_same_port(server: Server) -> None:
    start(server)
    url = server.url
    assert server.stop()
    assert not server.is_up()
    start(server)
    assert server.url == url


def test_a_port_that_somebody_else_took_is_left_to_them(server: Server) -> None:
    start(server)
    url = server.url
    server.stop()
    with socket.create_server(("127.0.0.1", int(url.rpartition(":")[2]))):
        start(server)
        assert server.is_up()
        assert server.url != url


def test_a_server_that_was_killed_is_down_and_can_be_started(server: Server) -> None:
    start(server)
    pid = server.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)  # asked by number: the server is known to be down as soon as it is
    assert not server.is_up()
    assert not server.stop()
    start(server)
    assert server.is_up()


def test_a_pid_that_another_process_has_by_now_is_left_alone(server: Server) -> None:
    stale = {"pid": os.getpid(), "port": 1, "started": 1}
    (server.folder / "probe.json").write_text(json.dumps(stale))
    assert server.pid is None
    assert not server.stop()


def test_a_server_that_cannot_start_says_its_last_words(server: Server) -> None:
    with pytest.raises(SandboxError, match=r"probe ended at once \(exit 3\): no room .*probe\.log"):
        start(server, "import sys; print('no room'); sys.exit(3)")


def test_a_server_that_ignores_the_kind_word_is_ended_all_the_same(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sandbox.processes.STOP_SECONDS", 0.5)
    start(server, f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n{SERVER}")
    assert server.stop()
    assert not server.is_up()
