"""Suites out of a few inline lines, in a domain of their own."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from pipeline_runtime.errors import SuiteError
from pipeline_runtime.quality.runner import validate
from pipeline_runtime.quality.suite import Suite, load_suite

UNIFORM = "bins: [0, 0.25, 0.5, 0.75, 1]\nweights: [0.25, 0.25, 0.25, 0.25]\n"


class Domain:
    """A domain root with a suite and its baselines."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for folder in ("expectations", "baselines"):
            (root / folder).mkdir()

    def baseline(self, name: str, text: str) -> Path:
        path = self.root / "baselines" / f"{name}.yml"
        path.write_text(text, "utf-8")
        return path

    def load(self, text: str) -> Suite:
        """The suite with that text."""
        path = self.root / "expectations" / "scores.yml"
        path.write_text(text, "utf-8")
        return load_suite(path, self.root, "expectations/scores.yml")

    def suite(self, *expectations: tuple[str, Mapping[str, object]]) -> Suite:
        """A suite of these expectations; JSON is YAML too."""
        items = [{"type": name, "kwargs": dict(kwargs)} for name, kwargs in expectations]
        return self.load(json.dumps({"suite_name": "scores", "expectations": items}))

    def problems(self, text: str) -> list[str]:
        """What loading that text complains about, one line a problem."""
        with pytest.raises(SuiteError) as caught:
            self.load(text)
        return [str(problem) for problem in caught.value.problems]


@pytest.fixture
def domain(tmp_path: Path) -> Domain:
    root = tmp_path / "fraud"
    root.mkdir()
    return Domain(root)


@pytest.fixture
def complaint(domain: Domain) -> Callable[[str, str], str]:
    """The one problem of a suite with one expectation, whose kwargs are given as YAML."""

    def ask(name: str, kwargs: str) -> str:
        text = f"suite_name: scores\nexpectations:\n  - type: {name}\n    kwargs: {kwargs}\n"
        (problem,) = domain.problems(text)
        return problem

    return ask


@pytest.fixture
def judge(spark, domain):
    """The assertions for a frame given as SQL, one for each (type, kwargs)."""

    def ask(sql, *expectations, primary_keys=()):
        return validate(spark.sql(sql), domain.suite(*expectations), primary_keys=primary_keys).assertions

    return ask
