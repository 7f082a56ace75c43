"""A run of the synced copy is a run of the checkout it was synced from, and of nothing else."""

from __future__ import annotations

import io
import subprocess
import uuid
from typing import Any

import pytest
from lab import Lab, Outcome
from synced import DESCRIPTOR, sync

from pipeline_runtime.run import RunRequest, run
from pipeline_runtime.sync.fetch import fetched
from pipeline_runtime.trace import Trace

pytestmark = pytest.mark.spark


@pytest.fixture
def config(lab: Lab) -> str:
    return sync(lab)


def run_copy(lab: Lab, config: str) -> Outcome:
    run_id, out = str(uuid.uuid4()), io.StringIO()
    with fetched(config, DESCRIPTOR, lab.client("s3")) as (descriptor, synced):
        request = RunRequest(descriptor, run_id, synced=synced)
        code = run(request, lab.environ, Trace(run_id, out=out), lambda _name, _settings: lab.spark)
    return lab.outcome(run_id, code, out.getvalue())


def provenance(outcome: Outcome) -> dict[str, Any]:
    return dict(outcome.terminal["run"]["facets"]["cordata_provenance"])


def test_a_run_of_the_synced_copy_names_the_commit_and_hashes_of_the_checkout(lab: Lab, config: str) -> None:
    from_copy = run_copy(lab, config)
    assert from_copy.code == 0, from_copy.trace
    from_checkout = lab.run()

    assert provenance(from_copy) == provenance(from_checkout)
    assert provenance(from_copy)["git_dirty"] is False
    assert provenance(from_copy)["executor_version"].startswith("pipeline-runtime ")
    facet = provenance(from_copy)
    shown = subprocess.run(
        f"git show {facet['descriptor_git_commit']}:{facet['descriptor_path']} | sha256sum",
        shell=True,
        cwd=lab.root.parents[1],
        capture_output=True,
        text=True,
        check=True,
    )
    assert shown.stdout.split()[0] == facet["descriptor_sha256"]


def test_a_file_that_was_changed_in_the_copy_fails_the_run_before_it_reads(lab: Lab, config: str) -> None:
    s3 = lab.client("s3")
    keys = [each["Key"] for each in s3.list_objects_v2(Bucket=lab.bucket, Prefix="config/")["Contents"]]
    [score] = [key for key in keys if key.endswith("sql/score.sql")]
    s3.put_object(Bucket=lab.bucket, Key=score, Body=b"SELECT id, amount, 1 AS score, 'x' AS model, day FROM frame\n")

    outcome = run_copy(lab, config)

    assert outcome.code == 1
    message = outcome.terminal["run"]["facets"]["errorMessage"]["message"]
    assert "sql/score.sql is not what was synced" in message
    assert (outcome.terminal["eventType"], outcome.terminal["inputs"], outcome.terminal["outputs"]) == ("FAIL", [], [])
    assert " read " not in outcome.trace
    assert lab.definition() is None
