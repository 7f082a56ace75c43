"""Servers that outlive the command that started them: one pid file, one log and one port each."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import time
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sandbox.errors import SandboxError

__all__ = ["Server"]

READY_SECONDS = 60
STOP_SECONDS = 10


@dataclass(frozen=True)
class Server:
    """A server that listens on 127.0.0.1. `folder` keeps `<name>.json` (pid, port, start) and `<name>.log`.

    `health` is the path that answers 200 once it is up. The port is chosen at the first start and kept from then
    on, unless somebody else has taken it meanwhile.
    """

    name: str
    folder: Path
    health: str

    @property
    def log(self) -> Path:
        return self.folder / f"{self.name}.log"

    @property
    def pid(self) -> int | None:
        """The running process, None where there is none: a pid that another process has by now does not count."""
        state = self._state()
        pid = state.get("pid")
        if pid is None or _started(pid) != state.get("started"):
            return None
        return int(pid)

    @property
    def url(self) -> str:
        """Where it listens; known once it was started."""
        return f"http://127.0.0.1:{self._state()['port']}"

    def is_up(self) -> bool:
        """Whether our own process runs and answers."""
        return self.pid is not None and self._answers()

    def start(self, command: Sequence[str], environment: Mapping[str, str], cwd: Path) -> None:
        """Starts `command` with its port appended, in a session of its own, and waits until it answers.

        Does nothing where it is up. Raises SandboxError with the log's last lines where it does not come up.
        """
        if self.is_up():
            return
        self.stop()
        port = self._state().get("port") or 0
        port = port if port and _is_free(port) else _free_port()
        with self.log.open("wb") as log:
            process = subprocess.Popen(
                [*command, "--port", str(port)],
                cwd=cwd,
                env=dict(environment),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._remember({"pid": process.pid, "port": port, "started": _started(process.pid)})
        try:
            self._wait_until_up(process)
        finally:
            process.returncode = process.returncode or 0  # it outlives this command; nobody waits for it

    def _wait_until_up(self, process: subprocess.Popen[bytes]) -> None:
        deadline = time.monotonic() + READY_SECONDS
        while not self._answers():
            if process.poll() is not None:
                raise SandboxError(f"{self.name} ended at once (exit {process.returncode}): {self._last_words()}")
            if time.monotonic() > deadline:
                self.stop()
                raise SandboxError(f"{self.name} did not answer within {READY_SECONDS} s: {self._last_words()}")
            time.sleep(0.1)

    def stop(self) -> bool:
        """Ends the process, kindly at first; False where none was running."""
        pid = self.pid
        if pid is None:
            return False
        for number in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, number)
            if self._has_ended(pid):
                break
        self._remember({"port": self._state()["port"]})
        return True

    def _has_ended(self, pid: int) -> bool:
        started = _started(pid)
        deadline = time.monotonic() + STOP_SECONDS
        while time.monotonic() < deadline:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)  # it may be a child of this very command
            if started is None or _started(pid) != started:
                return True
            time.sleep(0.05)
        return False

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}{self.health}", timeout=2) as answer:
                return bool(answer.status == 200)
        except (OSError, KeyError):
            return False

    def _state(self) -> dict[str, int]:
        try:
            state: dict[str, int] = json.loads(self._file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return state

    def _remember(self, state: Mapping[str, int | None]) -> None:
        self._file.write_text(json.dumps(state) + "\n", encoding="utf-8")

    @property
    def _file(self) -> Path:
        return self.folder / f"{self.name}.json"

    def _last_words(self) -> str:
        lines = self.log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        return f"{lines[-1] if lines else 'it said nothing'} (all of it: {self.log})"


def _started(pid: int) -> int | None:
    """When the process started, in a unit of the system's; None where there is none, or only its remains."""
    if not Path("/proc/self/stat").exists():
        return _started_by_ps(pid)
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in {"Z", "X"} else int(fields[19])


def _started_by_ps(pid: int) -> int | None:
    answer = subprocess.run(["ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, text=True, check=False)
    text = answer.stdout.strip()
    return int(time.mktime(time.strptime(text))) if text else None


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
