"""A pipeline whose logic is Python in one step is a pipeline like any other."""

from __future__ import annotations

import hashlib

import pytest
from lab import Lab

pytestmark = pytest.mark.spark

MODULE = """\
from collections.abc import Mapping

from pyspark.sql import DataFrame, functions as F

from .scale import scaled


def transform(frame: DataFrame, params: Mapping[str, str]) -> DataFrame:
    return frame.withColumns({
        "score": scaled(F.col("amount"), int(params["divisor"])), "model": F.lit(params.get("nominal_date", "none")),
    })
"""


@pytest.fixture
def python_lab(lab: Lab) -> Lab:
    lab.change_descriptor(
        'kind: sql\n    query_file: sql/score.sql\n    params:\n      model_version: "v3"',
        'kind: python\n    module: domains.fraud.transforms.score\n    params:\n      divisor: "100"',
    )
    lab.write("transforms/score.py", MODULE)
    lab.write("transforms/scale.py", "def scaled(amount, divisor):\n    return amount / divisor\n")
    return lab


def test_a_python_step_publishes_and_its_modules_are_part_of_the_provenance(python_lab):
    outcome = python_lab.run()

    assert outcome.code == 0, outcome.trace
    assert python_lab.rows() == [(1, 0.1, "2026-08-01"), (2, 0.2, "2026-08-01"), (4, 0.4, "2026-08-02")]
    assert "step score (python) 3 rows" in outcome.trace
    hashes = outcome.terminal["run"]["facets"]["cordata_provenance"]["file_sha256"]
    for name in ("score", "scale"):
        file = python_lab.root / "transforms" / f"{name}.py"
        assert hashes[f"transforms/{name}.py"] == hashlib.sha256(file.read_bytes()).hexdigest()


def test_a_module_that_cannot_work_fails_the_run_before_spark_starts(python_lab):
    python_lab.change("transforms/score.py", "(frame: DataFrame, params: Mapping[str, str])", "(frame)")

    def never(*_):
        raise AssertionError("Spark was started")

    outcome = python_lab.run(start_spark=never)

    assert outcome.code == 1
    assert "FAILED ModuleRefused: " in outcome.trace
    assert "transforms/score.py:8: transform takes (frame)" in outcome.trace


def test_what_a_module_raises_is_the_runs_failure_with_file_and_line(python_lab):
    python_lab.change("transforms/scale.py", "amount / divisor", "amount / divisor / 0 // {}['x']")

    outcome = python_lab.run()

    assert outcome.code == 1
    assert "FAILED StepFailed: step score (" in outcome.trace
    assert "transforms/scale.py:2): KeyError: 'x'" in outcome.trace
    assert "Traceback" not in outcome.trace
