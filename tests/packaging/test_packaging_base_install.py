"""What a domain's CI installs: the base package alone, in an environment with nothing else."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_validate_works_in_an_empty_environment_with_only_the_base_install(tmp_path):
    environment = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)
    python = str(environment / "bin" / "python")
    sources = tmp_path / "source"
    shutil.copytree(ROOT / "pipeline_runtime", sources / "pipeline_runtime")
    for file in ("pyproject.toml", "README.md"):
        shutil.copy(ROOT / file, sources)
    subprocess.run(
        [python, "-m", "pip", "install", "--quiet", "-c", str(ROOT / "constraints.txt"), str(sources)], check=True
    )

    done = subprocess.run(
        [python, "-m", "pipeline_runtime", "validate", str(ROOT / "domains")],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert "no problems" in done.stdout
    listed = subprocess.run([python, "-m", "pip", "list"], capture_output=True, text=True, check=True).stdout
    for engine in ("pyspark", "great", "openlineage"):
        assert engine not in listed
