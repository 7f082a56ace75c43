"""One commit, one release: wherever, whenever and under whatever umask it is built, and it installs where Glue does."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from artefact.archive import write_archive
from artefact.build import build_release
from artefact.errors import ArtefactError
from artefact.executor import build_of, write_zip
from pipeline_runtime.glue.engines import ENGINES

ROOT = Path(__file__).resolve().parents[2]


def clone(folder: Path, umask: int, mtime: int) -> Path:
    """The project at its last commit, in a folder of its own whose files have other modes and times."""
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(folder)], check=True, umask=umask)
    for file in folder.rglob("*"):
        if ".git" not in file.relative_to(folder).parts:
            os.utime(file, (mtime, mtime))
    return folder


@pytest.fixture(scope="module")
def clones(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("clones")
    return [clone(folder / "a", 0o022, 1_000_000_000), clone(folder / "deep" / "er" / "b", 0o077, 1_700_000_000)]


def test_two_zips_of_one_commit_are_one_file(clones: list[Path], tmp_path: Path) -> None:
    hashes = set()
    for number, folder in enumerate(clones):
        into = tmp_path / str(number)
        into.mkdir()
        before = os.umask(0o077 if number else 0o002)
        try:
            hashes.add(hashlib.sha256(write_zip(folder, build_of(folder), into).read_bytes()).hexdigest())
        finally:
            os.umask(before)
    assert len(hashes) == 1


def test_the_zip_holds_the_package_and_its_stamp_and_nothing_else(clones: list[Path], tmp_path: Path) -> None:
    commit = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=clones[0], capture_output=True, text=True, check=True
    ).stdout.strip()
    (clones[0] / "pipeline_runtime" / "__pycache__").mkdir(exist_ok=True)
    (clones[0] / "pipeline_runtime" / "__pycache__" / "x.pyc").write_bytes(b"")
    (clones[0] / "pipeline_runtime" / ".hidden").write_text("")
    with zipfile.ZipFile(write_zip(clones[0], build_of(clones[0]), tmp_path)) as archive:
        names = set(archive.namelist())
        stamp = json.loads(archive.read("pipeline_runtime/_build.json"))
    tracked = subprocess.run(
        ["git", "ls-files", "pipeline_runtime"], cwd=clones[0], capture_output=True, text=True, check=True
    ).stdout.split()
    assert names == {*tracked, "pipeline_runtime/_build.json"}
    assert stamp == {"version": "0.1.0", "commit": commit, "dirty": False}


def test_the_executor_runs_from_the_zip_and_finds_its_data_files(clones: list[Path], tmp_path: Path) -> None:
    archive = write_zip(clones[0], build_of(clones[0]), tmp_path)
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            (
                "import pipeline_runtime; from pipeline_runtime.cli import main; "
                "assert '.zip' in pipeline_runtime.__file__; raise SystemExit(main(['validate', 'domains/fraud']))"
            ),
        ],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(archive), "PYTHONSAFEPATH": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_an_archives_bytes_do_not_depend_on_the_order_of_its_entries(tmp_path: Path) -> None:
    write_archive(tmp_path / "a.zip", {"x": b"1", "y/z": b"2"})
    write_archive(tmp_path / "b.zip", {"y/z": b"2", "x": b"1"})
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()


def test_a_symlink_is_not_shipped(clones: list[Path], tmp_path: Path) -> None:
    link = clones[1] / "pipeline_runtime" / "linked.py"
    link.symlink_to("run.py")
    try:
        with pytest.raises(ArtefactError, match=r"linked\.py is a symlink; a release holds files only"):
            write_zip(clones[1], build_of(clones[1]), tmp_path)
    finally:
        link.unlink()


def test_a_folder_that_is_no_checkout_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ArtefactError, match="is no checkout of pipeline-runtime"):
        build_release(tmp_path, tmp_path / "out", tmp_path / "cache")


def test_a_folder_with_other_files_is_not_overwritten(clones: list[Path], tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("keep")
    with pytest.raises(ArtefactError, match="holds files that are no release of ours; name an empty folder"):
        build_release(clones[0], tmp_path, tmp_path / "cache")
    assert (tmp_path / "notes.txt").read_text() == "keep"


# -- the whole release, with everything fetched ------------------------------------------------------


def make(folder: Path, into: Path, umask: int, zone: str) -> Path:
    done = subprocess.run(
        [sys.executable, "-m", "artefact", "build", "--into", str(into), "--cache", str(ROOT / ".cache")],
        cwd=folder,
        env={**os.environ, "TZ": zone, "PYTHONPATH": str(folder)},
        umask=umask,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return into


@pytest.fixture(scope="module")
def releases(clones: list[Path], tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("releases")
    return [make(clones[0], folder / "a", 0o022, "UTC"), make(clones[1], folder / "b", 0o077, "Asia/Tokyo")]


@pytest.mark.slow
def test_two_releases_of_one_commit_have_one_manifest(releases: list[Path]) -> None:
    first, second = (json.loads((release / "manifest.json").read_bytes()) for release in releases)
    assert first == second
    assert sorted(first["files"]) == [
        "glue-5.1.gluewheels.zip",
        "glue-6.0.gluewheels.zip",
        "jars.json",
        "openlineage-spark_2.12-1.53.0.jar",
        "openlineage-spark_2.13-1.53.0.jar",
        "pipeline_runtime-0.1.0-py3-none-any.whl",
        "pipeline_runtime-0.1.0.zip",
        "run_pipeline.py",
    ]
    for name, file in first["files"].items():
        assert hashlib.sha256((releases[0] / name).read_bytes()).hexdigest() == file["sha256"]


def interpreter(version: str) -> str | None:
    """A Python of that version: on PATH, or beside the one that runs the tests."""
    beside = sorted(Path(sys.base_prefix).parent.glob(f"*{version}*/bin/python3"))
    for candidate in (f"python{version}", *map(str, beside)):
        try:
            said = subprocess.run([candidate, "--version"], capture_output=True, text=True, check=False)
        except OSError:
            continue
        if said.returncode == 0 and said.stdout.startswith(f"Python {version}."):
            return candidate
    return None


@pytest.mark.slow
@pytest.mark.parametrize("version", list(ENGINES))
def test_the_wheel_archive_installs_without_a_network(releases: list[Path], tmp_path: Path, version: str) -> None:
    python = interpreter(ENGINES[version].python)
    if python is None:
        pytest.skip(f"no Python {ENGINES[version].python} on this machine")
    with zipfile.ZipFile(releases[0] / f"glue-{version}.gluewheels.zip") as archive:
        archive.extractall(tmp_path)
    subprocess.run([python, "-m", "venv", str(tmp_path / "venv")], check=True)
    venv = str(tmp_path / "venv" / "bin" / "python")
    nowhere = {"HTTPS_PROXY": "http://127.0.0.1:9", "HTTP_PROXY": "http://127.0.0.1:9", "PIP_CONFIG_FILE": os.devnull}
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("PIP_", "PYTHON"))}
    install = [venv, "-m", "pip", "install", "--quiet", "--no-index", "--find-links", str(tmp_path / "wheels")]
    subprocess.run([*install, "-r", str(tmp_path / "wheels" / "requirements.txt")], env=kept | nowhere, check=True)

    imported = "great_expectations, openlineage.client, pydantic, yaml, sqlglot, numpy, pandas, pyarrow"
    subprocess.run([venv, "-W", "ignore", "-c", f"import {imported}"], env=kept | nowhere, check=True)
    subprocess.run([venv, "-m", "pip", "check"], env=kept | nowhere, check=True)

    # And the executor beside it, as CI installs it.
    wheel = releases[0] / "pipeline_runtime-0.1.0-py3-none-any.whl"
    subprocess.run([venv, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", str(wheel)], check=True)
    done = subprocess.run(
        [venv, "-m", "pipeline_runtime", "validate", "domains/fraud"],
        cwd=ROOT,
        env=kept | {"PYTHONSAFEPATH": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
