"""Glue job runs whose state is chosen; moto's all succeed by being looked at.

StartJobRun with the argument --fake-state=STOPPED            in that state from the start
POST /fake/job-runs {"account", "region", "job", "run", "state", "message"}
                                                              in that state from now on
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from moto.core.utils import utcnow
from moto.glue.models import FakeJobRun, glue_backends

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

__all__ = ["STATE_ARGUMENT", "ChosenJobRun", "move"]

#: Test-only argument of StartJobRun; not part of what GetJobRun answers.
STATE_ARGUMENT = "--fake-state"
_UNDER_WAY = frozenset({"STARTING", "RUNNING", "STOPPING", "WAITING"})


class ChosenJobRun(FakeJobRun):
    """A job run in the state that its argument `--fake-state` names; RUNNING without one."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.arguments = dict(self.arguments or {})
        self._chosen = str(self.arguments.pop(STATE_ARGUMENT, "RUNNING"))
        self._message: str | None = None

    @property  # type: ignore[misc]
    def status(self) -> str:
        """The chosen state: looking at a job run does not move it on, as moto's does."""
        return self._chosen

    def as_dict(self) -> dict[str, Any]:
        """GetJobRun's answer; a run that has not ended has no CompletedOn."""
        answer = super().as_dict()
        if self.status in _UNDER_WAY:
            del answer["CompletedOn"]
        elif self.status not in ("SUCCEEDED", "STOPPED"):
            answer["ErrorMessage"] = self._message or f"the job run ended as {self.status}"
        return answer

    def stop(self) -> bool:
        """Asks for its end, which whoever runs it then tells of; False where it has ended."""
        if self.status not in _UNDER_WAY:
            return False
        self._chosen = "STOPPING"
        return True

    def end(self, state: str, message: str | None) -> None:
        """From now on the job run is in this state."""
        self._chosen, self._message = state, message
        self.modified_on = self.completed_on = utcnow()


def move(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Answers a request to /fake/job-runs: 204, or 404 where there is no such job run."""
    asked = json.loads(environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0)))
    job = glue_backends[asked["account"]][asked["region"]].jobs.get(asked["job"])
    runs = [run for run in (job.job_runs if job else []) if isinstance(run, ChosenJobRun)]
    found = [run for run in runs if run.job_run_id == asked["run"]]
    for run in found:
        run.end(asked["state"], asked.get("message"))
    start_response("204 No Content" if found else "404 Not Found", [("Content-Length", "0")])
    return [b""]
