"""Glue job runs whose state a test chooses; moto's all succeed by being looked at."""

from __future__ import annotations

from typing import Any

from moto.glue.models import FakeJobRun

__all__ = ["STATE_ARGUMENT", "ChosenJobRun"]

#: Test-only argument of StartJobRun; not part of what GetJobRun answers.
STATE_ARGUMENT = "--fake-state"
_UNDER_WAY = frozenset({"STARTING", "RUNNING", "STOPPING", "WAITING"})


class ChosenJobRun(FakeJobRun):
    """A job run in the state that its argument `--fake-state` names; RUNNING without one."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.arguments = dict(self.arguments or {})
        self._chosen = str(self.arguments.pop(STATE_ARGUMENT, "RUNNING"))

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
            answer["ErrorMessage"] = f"the job run ended as {self.status}"
        return answer
