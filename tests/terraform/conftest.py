"""Terraform's tests need its program, which pip cannot bring."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.deploy.terraform import ROOT, Workspace, copy_of
from tests.conftest import Aws
from tests.servers import free_port, wait_until_up


@pytest.fixture(scope="session", autouse=True)
def terraform_is_there() -> None:
    """Skips with a clear line where Terraform is missing; in CI that is a failure."""
    if shutil.which("terraform") is None:
        line = "terraform is not installed; its tests need version 1.10 or newer on the PATH"
        if os.environ.get("CI"):
            pytest.fail(line)
        pytest.skip(line)


@pytest.fixture(scope="session")
def replicating() -> Iterator[Aws]:
    """A stand-in whose DMS Terraform can work with."""
    port = free_port()
    command = [sys.executable, "-m", "sandbox.fakes.dms", "--port", str(port)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_until_up(f"http://127.0.0.1:{port}/moto-api/data.json", process)
        yield Aws(f"http://127.0.0.1:{port}")
    finally:
        process.terminate()
        process.wait(10)


@pytest.fixture(scope="session")
def terraform_tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of terraform/ to run in, with the domains beside it as in the repository."""
    top = tmp_path_factory.mktemp("repository")
    copy_of(ROOT / "domains", top / "domains")
    return copy_of(ROOT / "terraform", top / "terraform")


@pytest.fixture
def module(request: pytest.FixtureRequest, terraform_tree: Path, tmp_path: Path) -> Workspace:
    """The module that the test is parametrised with, initialised."""
    return Workspace(terraform_tree / "modules" / request.param, tmp_path / "data").init("-backend=false")
