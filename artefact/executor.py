"""The executor itself, twice: as the zip that Glue puts on the path, and as the wheel that CI installs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from dataclasses import asdict
from pathlib import Path

from artefact.archive import write_archive
from artefact.errors import ArtefactError
from pipeline_runtime.build import STAMP, Build, checkout_build, package_files
from pipeline_runtime.glue.artefact import wheel_name, zip_name

__all__ = ["build_of", "write_wheel", "write_zip"]

PACKAGE = "pipeline_runtime"


def build_of(root: Path) -> Build:
    """The build that the project at `root` makes. Raises ArtefactError where it is no project of ours."""
    version_file = root / PACKAGE / "__init__.py"
    if not version_file.is_file() or not (root / "pyproject.toml").is_file():
        raise ArtefactError(f"{root} is no checkout of pipeline-runtime: {PACKAGE}/ and pyproject.toml are not in it")
    found: dict[str, object] = {}
    exec(compile(version_file.read_text("utf-8"), str(version_file), "exec"), found)
    build = checkout_build(root / PACKAGE)
    return Build(str(found["__version__"]), build.commit, build.dirty)


def write_zip(root: Path, build: Build, folder: Path) -> Path:
    """Writes the zip for `--extra-py-files` and returns where it is."""
    path = folder / zip_name(build.version)
    write_archive(path, _entries(root, build))
    return path


def write_wheel(root: Path, build: Build, folder: Path) -> Path:
    """Writes the wheel and returns where it is. pip fetches the pinned build backend where it has it not.

    Raises ArtefactError where pip cannot build it.
    """
    path = folder / wheel_name(build.version)
    with tempfile.TemporaryDirectory() as scratch:
        source = Path(scratch, "source")
        for name, data in _entries(root, build).items():
            file = source / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
        for name in (
            "pyproject.toml",
            tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]["readme"],
        ):
            (source / name).write_bytes((root / name).read_bytes())
        made = Path(scratch, "made")
        command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-deps"]
        done = subprocess.run(
            [*command, "--wheel-dir", str(made), str(source)],
            env={**os.environ, "SOURCE_DATE_EPOCH": "315532800", "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
        wheels = sorted(made.glob("*.whl"))
        if done.returncode != 0 or [wheel.name for wheel in wheels] != [path.name]:
            raise ArtefactError(f"pip could not build {path.name}: {done.stderr.strip() or 'no reason given'}")
        with zipfile.ZipFile(wheels[0]) as wheel:
            write_archive(path, {name: wheel.read(name) for name in wheel.namelist() if not name.endswith("/")})
    return path


def _entries(root: Path, build: Build) -> dict[str, bytes]:
    entries = {}
    for file in package_files(root / PACKAGE):
        if file.is_symlink():
            raise ArtefactError(f"{file.relative_to(root)} is a symlink; a release holds files only")
        entries[file.relative_to(root).as_posix()] = file.read_bytes()
    entries[f"{PACKAGE}/{STAMP}"] = json.dumps(asdict(build), sort_keys=True).encode() + b"\n"
    return entries
