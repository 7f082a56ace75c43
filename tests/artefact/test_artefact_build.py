"""The executor knows which build it is, and every run says so."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pipeline_runtime import __version__
from pipeline_runtime.build import STAMP, Build, build, checkout_build
from pipeline_runtime.lineage.engine import engine_of

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def checkout(tmp_path: Path) -> Any:
    """A repository with a package in it; calling it commits and returns the commit."""
    package = tmp_path / "repository" / "pipeline_runtime"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "run.py").write_text("x = 1\n")

    def git(*command: str) -> str:
        settings = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false")
        done = subprocess.run(
            ["git", *settings, *command], cwd=package.parent, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    git("init", "--quiet")
    git("add", "--all")
    git("commit", "--quiet", "--message", "first")
    return package, git("rev-parse", "HEAD")


def test_a_clean_checkout_is_its_commit(checkout: Any) -> None:
    package, commit = checkout
    (package / "__pycache__").mkdir()
    (package / "__pycache__" / "run.pyc").write_bytes(b"x")
    assert checkout_build(package) == Build(__version__, commit, dirty=False)


@pytest.mark.parametrize("change", ["changed", "added"])
def test_a_checkout_that_differs_from_its_commit_says_so(checkout: Any, change: str) -> None:
    package, commit = checkout
    (package / ("run.py" if change == "changed" else "new.py")).write_text("x = 2\n")
    assert checkout_build(package) == Build(__version__, commit, dirty=True)


def test_a_package_inside_someone_elses_repository_is_not_of_that_repository(checkout: Any) -> None:
    package, _ = checkout
    installed = package.parent / ".venv" / "pipeline_runtime"
    shutil.copytree(package, installed)
    assert checkout_build(installed) == Build(__version__)


def test_without_git_the_version_alone_is_known(tmp_path: Path) -> None:
    (tmp_path / "__init__.py").write_text("")
    assert checkout_build(tmp_path) == Build(__version__)


def test_a_stamp_in_the_package_is_believed(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "pipeline_runtime", tmp_path / "pipeline_runtime")
    stamp = {"version": "9.9.9", "commit": "ab" * 20, "dirty": False}
    (tmp_path / "pipeline_runtime" / STAMP).write_text(json.dumps(stamp))
    said = subprocess.run(
        [sys.executable, "-c", "from pipeline_runtime.build import build; print(build())"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    assert said == str(Build("9.9.9", "ab" * 20, dirty=False))


def test_the_engine_of_a_run_names_the_executors_build() -> None:
    engine = engine_of({})
    assert (engine.executor_commit, engine.executor_dirty) == (build().commit, build().dirty)
