"""The run id of a Glue job run: what the executor calls itself, and what anything outside the job can compute."""

from __future__ import annotations

import uuid
from collections.abc import Mapping

__all__ = ["run_id_in", "run_id_of_job_run"]


def run_id_of_job_run(job_run_id: str) -> str:
    """The UUIDv5 of Glue's own id, `jr_…`."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"https://cordata.tech/glue-job-run/{job_run_id}"))


def run_id_in(arguments: Mapping[str, str], job_run_id: str) -> str:
    """The id of the run that a job run with these arguments makes: the scheduler's `--run-id`, else that UUIDv5.

    An argument that is no UUID is refused by the executor, which then emits nothing; it gives the UUIDv5 here.
    """
    given = arguments.get("--run-id")
    if given:
        try:
            return str(uuid.UUID(given))
        except ValueError:
            pass
    return run_id_of_job_run(job_run_id)
