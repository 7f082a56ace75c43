"""Small wheels that pip resolves without a network, and small releases."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from artefact.manifest import Manifest
from pipeline_runtime.build import Build
from pipeline_runtime.glue.artefact import MANIFEST


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Adds a pure Python wheel to the only place that pip looks at; returns its file."""
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))

    def add(name: str, version: str, *requires: str) -> Path:
        info = f"{name}-{version}.dist-info"
        wheel = folder / f"{name}-{version}-py3-none-any.whl"
        with zipfile.ZipFile(wheel, "w") as archive:
            needs = "".join(f"Requires-Dist: {each}\n" for each in requires)
            archive.writestr(f"{name}.py", "")
            archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needs}")
            archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            archive.writestr(f"{info}/RECORD", "")
        return wheel

    return add


@pytest.fixture
def release(tmp_path: Path) -> Callable[..., Path]:
    """A release of two small files in a folder, as a build leaves it."""

    def make(content: str = "code", **changes: Any) -> Path:
        folder = tmp_path / f"release-{len(list(tmp_path.iterdir()))}"
        folder.mkdir()
        files = [folder / "pipeline_runtime-1.2.3.zip", folder / "run_pipeline.py"]
        for file in files:
            file.write_text(content)
        build = Build(**{"version": "1.2.3", "commit": "ab" * 20, "dirty": False, **changes})
        (folder / MANIFEST).write_bytes(Manifest.of(build, ["5.1"], files).to_bytes())
        return folder

    return make
