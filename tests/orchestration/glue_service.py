"""Glue's part of a deployment: job runs that are started are run, their states are told, and EventBridge tells of them.

The driver is a process of its own (`glue_driver.py`), so that it can be killed as Glue's can.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from glue_front import Front, Start

__all__ = ["JobRunner"]

ROOT = Path(__file__).resolve().parents[2]


@dataclass
class JobRunner:
    """Runs the job runs that the front hears of, one at a time.

    `before` are called with the start before its script runs; `closer` gets EventBridge's event of each that ended.
    """

    front: Front
    glue: Any
    account: str
    environ: dict[str, str]
    logs: Path
    closer: Callable[[dict[str, Any]], object]
    before: list[Callable[[Start], None]] = field(default_factory=list)
    problems: list[BaseException] = field(default_factory=list)
    _driver: subprocess.Popen[str] | None = None
    _one_at_a_time: threading.Lock = field(default_factory=threading.Lock)

    def started(self, start: Start) -> None:
        """Runs it in the background: StartJobRun answers at once."""
        threading.Thread(target=self._run, args=(start,), daemon=True).start()

    def kill_driver(self) -> None:
        """kill -9 of the driver and its JVM, whatever they are at."""
        assert self._driver is not None
        os.killpg(self._driver.pid, signal.SIGKILL)

    def close(self) -> None:
        if self._driver is not None:
            os.killpg(self._driver.pid, signal.SIGKILL)
            self._driver.communicate()

    def log_of(self, run: str) -> str:
        return (self.logs / f"{run}.log").read_text()

    def _run(self, start: Start) -> None:
        try:
            with self._one_at_a_time:
                for each in self.before:
                    each(start)
                answer = self._ask(start)
            message = None if answer == "0" else f"SystemExit: {answer}" if answer else "the driver was killed"
            state = "SUCCEEDED" if message is None else "FAILED"
            self.front.end(self.account, start.job, start.id, state, message)
            self.closer(_event(self.account, start, state, message))
        except BaseException as error:
            self.problems.append(error)
            # Or whoever follows the job run would do so for ever.
            self.front.end(self.account, start.job, start.id, "ERROR", str(error))

    def _ask(self, start: Start) -> str:
        """The script's exit code as text; nothing where the driver did not live to tell."""
        if self._driver is None:
            with (self.logs / "driver.log").open("a") as log:
                self._driver = subprocess.Popen(
                    [sys.executable, str(Path(__file__).with_name("glue_driver.py"))],
                    cwd=ROOT,
                    env=self.environ,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    text=True,
                    start_new_session=True,
                )
        driver = self._driver
        given = {**self.glue.get_job(JobName=start.job)["Job"]["DefaultArguments"], **start.arguments}
        given |= {"--JOB_NAME": start.job, "--JOB_RUN_ID": start.id}
        request = {
            "arguments": [word for pair in given.items() for word in pair],
            "log": str(self.logs / f"{start.id}.log"),
        }
        assert driver.stdin is not None
        assert driver.stdout is not None
        driver.stdin.write(json.dumps(request) + "\n")
        driver.stdin.flush()
        answer = driver.stdout.readline().strip()
        if not answer:
            driver.communicate()
            self._driver = None
        return answer


def _event(account: str, start: Start, state: str, message: str | None) -> dict[str, Any]:
    """What EventBridge sends of a job run's end."""
    return {
        "version": "0",
        "id": str(uuid.uuid4()),
        "detail-type": "Glue Job State Change",
        "source": "aws.glue",
        "account": account,
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "region": "eu-central-1",
        "resources": [],
        "detail": {
            "jobName": start.job,
            "severity": "INFO" if state == "SUCCEEDED" else "ERROR",
            "state": state,
            "jobRunId": start.id,
            "message": message or "Job run succeeded",
        },
    }
