"""Which engine an environment has, and that everything that is said of an engine elsewhere agrees."""

from __future__ import annotations

import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from pipeline_runtime.glue.engines import DEFAULT, ENGINES, GlueEngine
from sandbox import engine as sandbox_engine
from sandbox.engine import engine_here, jars_folder, settings_folder

ROOT = Path(__file__).resolve().parents[2]
#: Glue version → the extra with its pins, and the file with those of what they depend on.
PINS = {"5.1": ("run", "constraints.txt"), "6.0": ("run-glue-6-0", "constraints-glue-6.0.txt")}

each_engine = pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES)


def extra(engine: GlueEngine) -> dict[str, str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return dict(pin.split("==") for pin in project["optional-dependencies"][PINS[engine.glue][0]])


def make(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["make", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)


@each_engine
def test_the_installed_spark_tells_the_engine(monkeypatch: pytest.MonkeyPatch, engine: GlueEngine) -> None:
    monkeypatch.setattr(sandbox_engine, "version", lambda _package: engine.spark)
    assert engine_here() is engine


def test_a_spark_that_no_glue_version_has_is_taken_for_the_default_engines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox_engine, "version", lambda _package: "3.4.1")
    assert engine_here() is ENGINES[DEFAULT]


def test_two_engines_share_a_sandbox_and_neither_its_jars_nor_its_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PIPELINE_RUNTIME_JARS", raising=False)
    assert len({jars_folder(engine) for engine in ENGINES.values()}) == len(ENGINES)
    assert len({settings_folder(tmp_path, engine) for engine in ENGINES.values()}) == len(ENGINES)
    assert settings_folder(tmp_path, ENGINES[DEFAULT]) == tmp_path


@each_engine
def test_an_engines_pins_are_its_spark_and_what_else_they_need(engine: GlueEngine) -> None:
    pins = extra(engine)
    assert pins["pyspark"] == engine.spark
    locked = (ROOT / PINS[engine.glue][1]).read_text("utf-8").lower().replace("_", "-").splitlines()
    assert {f"{name}=={version}" for name, version in pins.items()} <= set(locked)


def test_what_does_not_depend_on_the_engine_is_pinned_the_same_for_each() -> None:
    engines_own = {"pyspark", "numpy", "pandas", "pyarrow"}
    first, *others = ({k: v for k, v in extra(engine).items() if k not in engines_own} for engine in ENGINES.values())
    assert all(other == first for other in others)


@each_engine
def test_make_knows_each_engine(engine: GlueEngine) -> None:
    done = make("--dry-run", "--always-make", "up", f"ENGINE=glue-{engine.glue}")
    assert done.returncode == 0, done.stderr
    used = set(re.findall(r"^(\S+)/bin/python -m sandbox\.", done.stdout, re.MULTILINE))
    assert used == {".venv" if engine.glue == DEFAULT else f".cache/glue-{engine.glue}"}
    assert f"--into .cache/jars/glue-{engine.glue}" in done.stdout
    assert PINS[engine.glue][0] in done.stdout


def test_make_refuses_an_engine_that_it_does_not_know() -> None:
    done = make("--dry-run", "up", "ENGINE=glue-4.0")
    assert done.returncode == 2
    assert "ENGINE=glue-4.0 is not known; there are glue-5.1 and glue-6.0" in done.stderr


def test_make_says_which_python_is_missing_for_an_engine(tmp_path: Path) -> None:
    copy = tmp_path / "project"
    (copy / "sandbox").mkdir(parents=True)
    for name in ("Makefile", "pyproject.toml", "constraints-glue-6.0.txt"):
        shutil.copy2(ROOT / name, copy)
    shutil.copytree(ROOT / "sandbox" / "jars", copy / "sandbox" / "jars")
    done = subprocess.run(
        [str(shutil.which("make")), "setup", "ENGINE=glue-6.0"],
        cwd=copy,
        env={"PATH": str(tmp_path)},  # where no Python is
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.startswith(
        "Glue 6.0 runs on Python 3.13, and there is none here; install it, or set GLUE_6_PYTHON"
    )
