"""Servers that tests start as processes of their own."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["Adapter", "free_port", "running_adapter", "wait_until_up"]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_until_up(url: str, process: subprocess.Popen[bytes], seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError(f"{process.args!r} ended with {process.returncode} before it answered")
        try:
            urllib.request.urlopen(url, timeout=1).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise RuntimeError(f"{url} did not answer within {seconds} s")


@dataclass(frozen=True)
class Adapter:
    """The Lambda's handler behind a local port, in front of the DataZone fake."""

    url: str
    folder: Path

    def events(self, run_id: str) -> list[dict[str, Any]]:
        """The run's events as received, in order of arrival."""
        bodies = [json.loads(file.read_bytes()) for file in sorted(self.folder.glob("*.json"))]
        return [body for body in bodies if body["run"]["runId"] == run_id]


@contextmanager
def running_adapter(folder: Path, log: Path | None = None) -> Iterator[Adapter]:
    """The adapter in a process of its own; what it receives lies in the folder, and its log in that file."""
    port = free_port()
    with (log or Path(os.devnull)).open("wb") as said:
        process = subprocess.Popen(
            [sys.executable, "-m", "sandbox.adapter_front", "--port", str(port), "--events", str(folder)],
            env={**os.environ, "DATAZONE_DOMAIN_ID": "dzd_sandbox"},
            stdout=said,
        )
    try:
        wait_until_up(f"http://127.0.0.1:{port}/health", process)
        yield Adapter(f"http://127.0.0.1:{port}/lineage", folder)
    finally:
        process.terminate()
        process.wait(10)
