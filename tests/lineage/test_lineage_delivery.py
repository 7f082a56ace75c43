"""Delivery to real sockets, in bounded time."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from pipeline_runtime.lineage.delivery import Delivered, Delivery, Undelivered, open_delivery
from pipeline_runtime.lineage.settings import Destination

BODY = '{"name":"größe"}'.encode()


@contextmanager
def within(seconds: float) -> Iterator[None]:
    started = time.monotonic()
    yield
    assert time.monotonic() - started < seconds


def never_answers(connection: socket.socket) -> None:
    connection.recv(65_536)


def drips(connection: socket.socket) -> None:
    try:
        connection.recv(65_536)
        for byte in b"HTTP/1.1 200 OK\r\nX-Slow: " + b"x" * 1_000:
            connection.send(bytes([byte]))
            time.sleep(0.05)
    except OSError:
        pass  # the test is over


def test_the_exact_bytes_arrive_and_the_sinks_id_comes_back(sink: Any) -> None:
    assert Delivery(sink.url).send(BODY) == Delivered("accepted", "lin-1")
    path, headers, body = sink.received[0]
    assert (path, body) == ("/lineage", BODY)
    assert headers["Content-Type"] == "application/json"
    assert "Authorization" not in headers


@pytest.mark.parametrize(
    ("status", "answer", "outcome"),
    [
        (200, b'{"status":"duplicate","id":"lin-9"}', Delivered("duplicate", "lin-9")),
        (201, b"", Delivered("accepted", None)),
        (202, b"not json", Delivered("accepted", None)),
        (200, b"[1]", Delivered("accepted", None)),
        (409, b'{"message":"ConflictException"}', Delivered("duplicate", None)),
    ],
)
def test_an_answer_that_means_the_sink_has_the_event_is_a_delivery(
    sink: Any, status: int, answer: bytes, outcome: Delivered
) -> None:
    sink.script = [(status, answer)]
    assert Delivery(sink.url).send(BODY) == outcome


@pytest.mark.parametrize("status", [500, 502, 503, 429, 408])
def test_reported_ol_2_a_passing_failure_is_tried_again_with_the_same_bytes(sink: Any, status: int) -> None:
    sink.script = [(status, b"busy"), (status, b"busy"), (200, b'{"status":"accepted","id":"x"}')]
    assert Delivery(sink.url).send(BODY) == Delivered("accepted", "x")
    assert sink.bodies == [BODY] * 3


@pytest.mark.parametrize("status", [301, 400, 401, 403, 404, 413])
def test_a_final_answer_is_not_tried_again_and_is_told_with_its_words(sink: Any, status: int) -> None:
    sink.script = [(status, b'{"message":"not for domain fraud, password=s3cret"}')]
    outcome = Delivery(sink.url).send(BODY)
    assert isinstance(outcome, Undelivered)
    assert outcome.final
    assert f"answered {status}" in outcome.reason
    assert "not for domain fraud" in outcome.reason
    assert "s3cret" not in outcome.reason
    assert len(sink.received) == 1


def test_reported_ol_2_a_closed_port_costs_no_more_than_the_budget(closed_port: int) -> None:
    delivery = Delivery(f"http://127.0.0.1:{closed_port}/lineage", budget_seconds=0.8)
    with within(3):
        outcome = delivery.send(BODY)
    assert isinstance(outcome, Undelivered)
    assert outcome.reason.startswith(f"127.0.0.1:{closed_port}: Failed to establish a new connection")
    assert outcome.reason.endswith("refused")


@pytest.mark.parametrize("treat", [never_answers, drips])
def test_reported_ol_2_a_server_that_never_finishes_its_answer_costs_no_more_than_the_budget(
    raw_server: Callable[..., str], treat: Callable[[socket.socket], None]
) -> None:
    delivery = Delivery(raw_server(treat), budget_seconds=0.6)
    with within(3):
        outcome = delivery.send(BODY)
    assert isinstance(outcome, Undelivered)
    assert not outcome.final


def test_a_lost_connection_is_tried_again(raw_server: Callable[..., str]) -> None:
    connections: list[int] = []

    def hangs_up_once(connection: socket.socket) -> None:
        connections.append(1)
        connection.recv(65_536)
        if len(connections) > 1:
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        connection.close()

    assert Delivery(raw_server(hangs_up_once)).send(BODY) == Delivered("accepted", None)
    assert len(connections) == 2


def test_reported_ol_2_all_events_of_a_run_share_one_budget(raw_server: Callable[..., str]) -> None:
    delivery = Delivery(raw_server(never_answers), budget_seconds=0.9)
    with within(3):
        outcomes = [delivery.send(BODY, share=share) for share in (0.4, 0.6, 1.0, 1.0)]
    assert all(isinstance(outcome, Undelivered) for outcome in outcomes)
    assert "used up" in outcomes[-1].reason  # type: ignore[union-attr]


def test_an_event_leaves_the_later_ones_their_share(closed_port: int) -> None:
    delivery = Delivery(f"http://127.0.0.1:{closed_port}/lineage", budget_seconds=2.0)
    with within(1.5):
        delivery.send(BODY, share=0.25)
    with within(4):
        assert "refused" in delivery.send(BODY).reason  # type: ignore[union-attr]


def test_the_sink_may_ask_for_a_pause_but_not_beyond_the_budget(sink: Any) -> None:
    sink.script = [(429, b"slow down"), (200, b"")]
    sink.headers = {"Retry-After": "0.4"}
    started = time.monotonic()
    assert isinstance(Delivery(sink.url).send(BODY), Delivered)
    assert time.monotonic() - started > 0.4

    sink.script = [(429, b"slow down"), (200, b"")]
    sink.headers = {"Retry-After": "60"}
    with within(3):
        outcome = Delivery(sink.url).send(BODY)
    assert isinstance(outcome, Undelivered)
    assert "slow down" in outcome.reason


def test_a_name_that_does_not_resolve_is_a_reason_not_an_error() -> None:
    with within(4):
        outcome = Delivery("http://no-such-host.invalid/lineage", budget_seconds=1).send(BODY)
    assert isinstance(outcome, Undelivered)
    assert "no-such-host.invalid" in outcome.reason


def test_a_lookup_of_credentials_that_hangs_is_bounded_too(sink: Any) -> None:
    over = threading.Event()

    class Slow:
        def headers(self, url: str, headers: dict[str, str], body: bytes) -> dict[str, str]:
            over.wait(10)
            return headers

    with within(3):
        outcome = Delivery(sink.url, budget_seconds=0.4, signer=Slow()).send(BODY)
    over.set()
    assert isinstance(outcome, Undelivered)


def test_a_request_that_cannot_be_signed_is_not_sent(sink: Any) -> None:
    class Refusing:
        def headers(self, url: str, headers: dict[str, str], body: bytes) -> dict[str, str]:
            raise RuntimeError("no role, aws_secret_access_key=s3cret")

    outcome = Delivery(sink.url, signer=Refusing()).send(BODY)
    assert isinstance(outcome, Undelivered)
    assert outcome.final
    assert "cannot be signed: no role" in outcome.reason
    assert "s3cret" not in outcome.reason
    assert sink.received == []


def test_tls_against_a_server_that_speaks_none_is_a_reason(sink: Any) -> None:
    with within(3):
        outcome = Delivery(sink.url.replace("http:", "https:"), budget_seconds=1).send(BODY)
    assert isinstance(outcome, Undelivered)


def test_lineage_that_is_turned_off_has_no_delivery(sink: Any) -> None:
    assert open_delivery(None) is None
    delivery = open_delivery(Destination(sink.url, "none"))
    assert delivery is not None
    assert isinstance(delivery.send(BODY), Delivered)
