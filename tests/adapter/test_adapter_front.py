"""The local HTTP front: a process that behaves as the deployed adapter does."""

from __future__ import annotations

import gzip
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from adapter_samples import as_bytes, run_event

from pipeline_runtime.lineage.signing import SigV4Signer
from sandbox.gateway import http_api_request
from sandbox.lineage_access import DBT_KEY, FINANCE_ROLE, INVOKER_ROLE, REPORTING_KEY

ROOT = Path(__file__).resolve().parents[2]


@dataclass
class Front:
    """The running front."""

    process: subprocess.Popen[str]
    port: int
    events: Path

    def send(self, method: str, path: str, body: bytes | None = None, role: str | None = None, **headers: str) -> Any:
        """The status and the parsed answer; signed by `role` where one is given."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            named = {"Content-Type": "application/json", **{k.replace("_", "-"): v for k, v in headers.items()}}
            if role is not None:
                url = f"http://127.0.0.1:{self.port}{path}"
                named = SigV4Signer("eu-central-1", role).headers(url, named, body or b"")
            connection.request(method, path, body, named)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())
        finally:
            connection.close()


def environment(endpoint: str, account: str = "999999999999") -> dict[str, str]:
    return {
        **os.environ,
        "DATAZONE_DOMAIN_ID": "dzd_sandbox",
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_REGION": "eu-central-1",
        "AWS_DEFAULT_REGION": "eu-central-1",
        "AWS_ACCESS_KEY_ID": account,
        "AWS_SECRET_ACCESS_KEY": "testing",
    }


def start(arguments: list[str], env: dict[str, str]) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "sandbox.adapter_front", *arguments]
    return subprocess.Popen(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def started(endpoint: str, events: Path, account: str = "999999999999") -> Iterator[Front]:
    process = start(["--port", "0", "--events", str(events)], environment(endpoint, account))
    line = process.stdout.readline()
    port = int(re.search(r":(\d+)/lineage$", line)[1])
    yield Front(process, port, events)
    process.terminate()
    process.communicate(timeout=20)


@pytest.fixture(scope="module")
def shared_front(aws, tmp_path_factory) -> Iterator[Front]:
    yield from started(aws.endpoint, tmp_path_factory.mktemp("front") / "events")


@pytest.fixture
def front(shared_front, datazone) -> Front:
    """The running front, without events."""
    for file in shared_front.events.iterdir():
        file.unlink()
    return shared_front


@pytest.fixture
def own_front(datazone, tmp_path) -> Iterator[Front]:
    """A front that the test may end."""
    yield from started(datazone.url, tmp_path / "events")


def test_it_hands_events_to_datazone_and_keeps_a_copy_of_each(front, datazone):
    body = json.dumps(run_event(job={"namespace": "cordata.fraud", "name": "prüf/ung"}), ensure_ascii=False).encode()

    assert front.send("GET", "/health") == (200, {"status": "ok"})
    code, answer = front.send("POST", "/lineage", body, INVOKER_ROLE)
    again, _ = front.send("POST", "/lineage", gzip.compress(body), INVOKER_ROLE, Content_Encoding="gzip")

    assert (code, answer["status"], again) == (200, "accepted", 200)
    assert [each.encode() for each in datazone.bodies] == [body]
    files = sorted(front.events.iterdir())
    assert [file.read_bytes() for file in files] == [body, body]
    assert all(re.fullmatch(r"\d{8}T\d{6}\.\d{6}Z-COMPLETE-pr_f_ung\.json", file.name) for file in files)


def test_what_it_refuses_it_keeps_too_and_says_why(front, datazone):
    code, answer = front.send("POST", "/lineage", b"{", INVOKER_ROLE)
    skipped, _ = front.send("POST", "/lineage", b'{"job": {"namespace": "n", "name": "j"}}', INVOKER_ROLE)

    assert (code, answer["status"], skipped) == (400, "refused", 422)
    assert datazone.bodies == []
    names = [file.name.partition("Z-")[2] for file in sorted(front.events.iterdir())]
    assert names == ["unreadable.body", "NONE-j.json"]


def test_openlineages_default_path_is_answered_and_no_other(front):
    body = as_bytes(run_event())

    assert front.send("POST", "/api/v1/lineage", body, Authorization=f"Bearer {DBT_KEY}")[0] == 200
    assert front.send("POST", "/elsewhere", b"")[0] == 404
    assert front.send("GET", "/lineage")[0] == 404


def test_each_account_of_the_stand_in_has_an_adapter_with_keys_of_its_own(front, datazone, tmp_path):
    # The first one is in another account, and made its queue, bucket and secret there.
    for other in started(datazone.url, tmp_path / "events", "888888888888"):
        headers = {"Authorization": f"Bearer {DBT_KEY}"}
        assert other.send("POST", "/api/v1/lineage", as_bytes(run_event()), **headers)[0] == 200
        assert other.send("POST", "/api/v1/lineage", b"{", **headers)[0] == 400


def test_retries_reach_the_emitter_as_the_lambda_answers_them(front, datazone):
    datazone.set("/fake/failures", error="AccessDeniedException")

    assert front.send("POST", "/lineage", as_bytes(run_event()), INVOKER_ROLE)[0] == 500
    assert front.send("POST", "/lineage", as_bytes(run_event()), INVOKER_ROLE)[0] == 200


@pytest.mark.parametrize("path", ["/lineage", "/api/v1/lineage"])
@pytest.mark.parametrize(
    "authorization",
    [None, "", "Bearer wrong-key-wrong-key-wrong-key-wrong-key", "Basic ZGJ0OmRidA==", "Bearer", "AWS4-HMAC-SHA256 x"],
)
def test_without_a_good_key_or_a_signature_nothing_passes(front, datazone, path, authorization):
    headers = {} if authorization is None else {"Authorization": authorization}

    code, _ = front.send("POST", path, as_bytes(run_event()), **headers)

    assert code == (401 if path.startswith("/api") and not authorization else 403)
    assert datazone.bodies == []
    assert list(front.events.iterdir()) == []


def test_a_domains_key_or_role_posts_for_no_other_domain(front, datazone):
    body = as_bytes(run_event())

    by_role = front.send("POST", "/lineage", body, FINANCE_ROLE)
    by_key = front.send("POST", "/api/v1/lineage", body, Authorization=f"Bearer {REPORTING_KEY}")
    unlisted = front.send("POST", "/lineage", body, "arn:aws:iam::444455556666:role/somebody-else")

    assert [code for code, _ in (by_role, by_key, unlisted)] == [403] * 3
    assert "belongs to domain fraud, the caller belongs to finance" in by_role[1]["reason"]
    assert "role/somebody-else belongs to no domain" in unlisted[1]["reason"]
    assert datazone.bodies == []
    assert front.send("POST", "/lineage", body, INVOKER_ROLE)[0] == 200


def test_it_ends_on_sigterm_without_a_word(datazone):
    process = start(["--port", "0"], environment(datazone.url))
    process.stdout.readline()
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=20)
    assert (process.returncode, errors) == (0, "")


def test_a_request_under_way_is_answered_before_it_ends(own_front, datazone):
    datazone.set("/fake/failures", seconds=1)
    connection = http.client.HTTPConnection("127.0.0.1", own_front.port, timeout=20)
    bearer = {"Authorization": f"Bearer {DBT_KEY}"}
    connection.request("POST", "/api/v1/lineage", as_bytes(run_event()), bearer)
    time.sleep(0.3)

    own_front.process.send_signal(signal.SIGTERM)
    answer = json.loads(connection.getresponse().read())
    connection.close()

    assert answer["status"] == "accepted"
    assert own_front.process.wait(5) == 0


@pytest.mark.parametrize(
    ("domain_id", "said"), [("my-domain", "DATAZONE_DOMAIN_ID is 'my-domain'"), ("", "DATAZONE_DOMAIN_ID is not set")]
)
def test_it_does_not_start_with_a_wrong_domain_id(datazone, domain_id, said):
    process = start(["--port", "0"], {**environment(datazone.url), "DATAZONE_DOMAIN_ID": domain_id})
    out, errors = process.communicate(timeout=20)

    assert (process.returncode, out) == (2, "")
    assert said in errors
    assert "Traceback" not in errors


def test_a_taken_port_is_said_in_one_line(front, datazone):
    process = start(["--port", str(front.port)], environment(datazone.url))
    _, errors = process.communicate(timeout=20)

    assert process.returncode == 2
    assert errors == f"adapter: cannot listen on port {front.port}: Address already in use\n"


def test_requests_take_the_form_that_http_api_gives_them():
    text = http_api_request("POST", "/lineage", {"Content-Type": "application/json; charset=utf-8"}, b"{}")
    packed = http_api_request("POST", "/lineage", {"Content-Encoding": "gzip"}, b"\x1f\x8b")
    binary = http_api_request("POST", "/lineage", {"Content-Type": "application/json"}, b"\xff")

    assert (text["version"], text["body"], text["isBase64Encoded"]) == ("2.0", "{}", False)
    assert text["headers"] == {"content-type": "application/json; charset=utf-8"}
    assert (packed["body"], packed["isBase64Encoded"]) == ("H4s=", True)
    assert (binary["body"], binary["isBase64Encoded"]) == ("/w==", True)
