"""Whether the process that staged a batch is gone: only what can be seen from here counts."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from pipeline_runtime.writers import owner


def test_only_a_process_that_could_be_seen_counts_as_gone(aws: Any) -> None:
    glue = aws.client("glue")
    here = owner.this_process()
    assert here is not None
    boot, namespace, pid, started = here.split("/")

    assert not owner.is_gone(here, glue)
    assert owner.is_gone(f"{boot}/{namespace}/{pid}/{int(started) + 1}", glue), "another process, the same number"
    assert not owner.is_gone(f"elsewhere/{namespace}/{pid}/{int(started) + 1}", glue)
    assert not owner.is_gone(f"{boot}/elsewhere/{pid}/{int(started) + 1}", glue)
    assert not owner.is_gone(None, glue)


def test_inside_a_glue_job_the_job_run_is_the_owner() -> None:
    assert owner.owner_of({owner.JOB_RUN: "payments/jr_1"}) == "glue:payments/jr_1"
    assert owner.owner_of({}) == owner.this_process()


@pytest.mark.parametrize(
    ("state", "gone"),
    [
        ("STARTING", False),
        ("RUNNING", False),
        ("STOPPING", False),
        ("STOPPED", True),
        ("SUCCEEDED", True),
        ("FAILED", True),
        ("TIMEOUT", True),
    ],
)
def test_of_a_glue_job_run_glue_says_whether_it_has_ended(aws: Any, state: str, gone: bool) -> None:
    glue, name = aws.client("glue"), f"job-{uuid.uuid4().hex[:8]}"
    glue.create_job(Name=name, Role="r", Command={"Name": "glueetl"})
    job_run = glue.start_job_run(JobName=name, Arguments={"--fake-state": state})["JobRunId"]

    assert owner.is_gone(f"glue:{name}/{job_run}", glue) is gone
    assert not owner.is_gone(f"glue:{name}/jr_unknown", glue), "nothing is known of it"
    assert not owner.is_gone(f"glue:another/{job_run}", glue)
