"""What the local runner takes for Glue's image, and how it installs what a job brings."""

from __future__ import annotations

import sys
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest

from pipeline_runtime.glue.engines import ENGINES
from sandbox.errors import SandboxError
from sandbox.glue_image import check_engine, image_jars, install_modules

INFO = "alpha-1.0.dist-info"


def wheel_archive(path: Path, requirement: str = "alpha==1.0") -> Path:
    """A zip of wheels, as Glue takes it, with one small package in it."""
    wheel = path.with_name("alpha-1.0-py3-none-any.whl")
    with zipfile.ZipFile(wheel, "w") as package:
        package.writestr("alpha.py", "VALUE = 1\n")
        package.writestr(f"{INFO}/METADATA", "Metadata-Version: 2.1\nName: alpha\nVersion: 1.0\n")
        package.writestr(f"{INFO}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        package.writestr(f"{INFO}/RECORD", "")
    with zipfile.ZipFile(path, "w") as archive:
        archive.write(wheel, f"wheels/{wheel.name}")
        archive.writestr("wheels/requirements.txt", f"{requirement}\n")
    return path


def test_modules_are_installed_without_an_index_and_once(tmp_path: Path) -> None:
    archive = wheel_archive(tmp_path / "x.gluewheels.zip")
    [site] = install_modules([archive], "--no-index", tmp_path / "cache")
    assert (site / "alpha.py").read_text() == "VALUE = 1\n"
    (site / "marker").touch()
    assert install_modules([archive], "--no-index", tmp_path / "cache") == [site]
    assert (site / "marker").exists()


def test_an_archive_that_lacks_a_wheel_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    archive = wheel_archive(tmp_path / "x.gluewheels.zip", "beta==2.0")
    with pytest.raises(SandboxError, match=r"pip cannot install x\.gluewheels\.zip: .*beta==2\.0"):
        install_modules([archive], "--no-index", tmp_path / "cache")
    assert list((tmp_path / "cache").iterdir()) == []


def test_an_archive_by_another_name_is_no_zip_of_wheels(tmp_path: Path) -> None:
    archive = wheel_archive(tmp_path / "x.zip")
    with pytest.raises(SandboxError, match=r"x\.zip is no zip of wheels; Glue knows one by its ending"):
        install_modules([archive], "--no-index", tmp_path / "cache")


@pytest.mark.parametrize(
    ("formats", "names"), [("iceberg", ["hadoop-aws-3.jar", "iceberg-spark-runtime-1.jar"]), ("", ["hadoop-aws-3.jar"])]
)
def test_the_image_has_iceberg_only_where_the_job_asks_and_never_our_listener(
    tmp_path: Path, formats: str, names: list[str]
) -> None:
    for name in ("hadoop-aws-3.jar", "iceberg-spark-runtime-1.jar", "openlineage-spark_2.12-1.53.0.jar"):
        (tmp_path / name).touch()
    assert [jar.name for jar in image_jars(tmp_path, formats=formats)] == names


def test_a_job_of_another_engine_is_not_run_by_this_one() -> None:
    here = (".".join(map(str, sys.version_info[:2])), version("pyspark"))
    for glue, engine in ENGINES.items():
        if (engine.python, engine.spark) == here:
            check_engine(engine)
        else:
            with pytest.raises(SandboxError, match=rf"Glue {glue} is Spark {engine.spark} on Python {engine.python}"):
                check_engine(engine)
