"""Glue in front of the stand-in for AWS: someone who hears of each job run that is started or stopped."""

from __future__ import annotations

import json
import re
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Start:
    """A job run that was started, or is about to be; `caller` is the access key that asked."""

    job: str
    arguments: dict[str, str]
    caller: str
    id: str = ""


@dataclass
class Front:
    """The address, what was asked of it, and what it does about a start.

    `refusals` are error codes, one for each of the next starts; `lost` is how many of the next starts go through while
    their answer does not arrive. `instead` makes the job run itself and returns its id.
    """

    aws: Any
    url: str = ""
    starts: list[Start] = field(default_factory=list)
    stopped: list[str] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)
    lost: int = 0
    instead: Callable[[Start], str] | None = None
    on_start: Callable[[Start], None] = lambda _start: None
    on_stop: Callable[[str], None] = lambda _id: None

    def end(self, account: str, job: str, run: str, state: str, message: str | None = None) -> None:
        """From now on the job run is in that state."""
        said = {"account": account, "region": self.aws.region, "job": job, "run": run}
        body = json.dumps({**said, "state": state, "message": message}).encode()
        urllib.request.urlopen(
            urllib.request.Request(f"{self.aws.endpoint}/fake/job-runs", body, method="POST")
        ).close()

    def answer(self, action: str, body: dict[str, Any], caller: str, forward: Callable[[], bytes]) -> bytes:
        """The answer to one request. Raises Refused."""
        if action == "BatchStopJobRun":
            answer = forward()
            for id_ in body["JobRunIds"]:
                self.stopped.append(id_)
                self.on_stop(id_)
            return answer
        if action != "StartJobRun":
            return forward()
        start = Start(body["JobName"], body.get("Arguments", {}), caller)
        if self.refusals:
            self.starts.append(start)
            raise Refused(self.refusals.pop(0))
        if self.instead is not None:
            id_ = self.instead(start)
            answer = json.dumps({"JobRunId": id_}).encode()
        else:
            answer = forward()
            id_ = json.loads(answer)["JobRunId"]
        start = Start(start.job, start.arguments, caller, id_)
        self.starts.append(start)
        self.on_start(start)
        if self.lost:
            self.lost -= 1
            raise Refused("InternalServiceException")
        return answer


class Refused(Exception):
    """What AWS answers instead; the text is the error code."""


@contextmanager
def glue_front(aws: Any) -> Iterator[Front]:
    front = Front(aws)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            action = self.headers.get("X-Amz-Target", "").partition(".")[2]
            caller = re.search(r"Credential=([^/]+)/", self.headers.get("Authorization", ""))
            try:
                answer = front.answer(
                    action, json.loads(body), caller.group(1) if caller else "", lambda: self._forward(body)
                )
                status = 200
            except Refused as refusal:
                status, answer = 400, json.dumps({"__type": str(refusal), "message": "not now"}).encode()
            except urllib.error.HTTPError as error:
                with error:
                    status, answer = error.code, error.read()
            self.send_response(status)
            self.send_header("Content-Type", "application/x-amz-json-1.1")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def _forward(self, body: bytes) -> bytes:
            kept = {key: value for key, value in self.headers.items() if key.lower() not in ("host", "expect")}
            request = urllib.request.Request(f"{aws.endpoint}{self.path}", body, kept, method="POST")
            with urllib.request.urlopen(request) as response:
                return bytes(response.read())

        def log_message(self, *_args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        front.url = f"http://127.0.0.1:{server.server_port}"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield front
        server.shutdown()
