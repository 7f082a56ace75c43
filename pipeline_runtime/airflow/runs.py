"""The runs that a task makes: their ids, which anyone can compute again, and what their job runs are told."""

from __future__ import annotations

import uuid
from dataclasses import dataclass

__all__ = ["TaskTry", "arguments_of"]


@dataclass(frozen=True)
class TaskTry:
    """One try of a task, as Airflow names it. `number` counts from 1 and goes on counting when a task is cleared."""

    dag_id: str
    run_id: str
    task_id: str
    number: int

    def pipeline_run_id(self, number: int | None = None) -> str:
        """The id of the pipeline run that this try makes, or that try `number` of the task made."""
        name = f"{self.dag_id}/{self.run_id}/{self.task_id}/{number or self.number}"
        return str(uuid.uuid5(uuid.NAMESPACE_URL, f"https://cordata.tech/airflow/{name}"))

    def pipeline_run_ids(self) -> list[str]:
        """Those of this try and of all before it."""
        return [self.pipeline_run_id(number) for number in range(1, self.number + 1)]


def arguments_of(run_id: str, nominal_time: str, parent: str) -> dict[str, str]:
    """What a job run is told on top of the job's own arguments. `parent` is `<namespace>/<job>/<run id>`."""
    return {"--run-id": run_id, "--nominal-time": nominal_time, "--parent-run": parent}
