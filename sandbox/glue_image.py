"""What Glue's machines have before a job's own things come: Python, Spark, its JARs; and how wheels are installed."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from pipeline_runtime.glue.engines import GlueEngine
from sandbox.errors import SandboxError

__all__ = ["check_engine", "image_jars", "install_modules"]


def check_engine(engine: GlueEngine) -> None:
    """Raises SandboxError where this environment's Python and Spark are not the engine's."""
    python = ".".join(map(str, sys.version_info[:2]))
    spark = version("pyspark")
    if (python, spark) != (engine.python, engine.spark):
        raise SandboxError(
            f"Glue {engine.glue} is Spark {engine.spark} on Python {engine.python}; this environment has "
            f"Spark {spark} on Python {python}. Run it in that engine's: make glue-run ENGINE=glue-{engine.glue}"
        )


def image_jars(folder: Path, *, formats: str) -> list[Path]:
    """The JARs of Glue's image: S3's always, Iceberg's where the job asks for the format, never the listener's.

    Iceberg's bundle of AWS clients is S3's too: it has the AWS SDK that S3A of Glue 6.0 needs.
    """
    jars = [jar for jar in sorted(folder.glob("*.jar")) if not jar.name.startswith("openlineage-")]
    with_iceberg = "iceberg" in formats.split(",")
    return [jar for jar in jars if with_iceberg or not jar.name.startswith("iceberg-spark-runtime")]


def install_modules(archives: Sequence[Path], option: str | None, cache: Path) -> list[Path]:
    """Installs zips of wheels as Glue does, each into a folder of its own; returns the folders, for the path.

    `option` is the job's `--python-modules-installer-option`. What was installed before is taken from `cache`.
    Raises SandboxError where pip cannot install them.
    """
    return [_installed(archive, option, cache) for archive in archives]


def _installed(archive: Path, option: str | None, cache: Path) -> Path:
    if not archive.name.endswith(".gluewheels.zip"):
        raise SandboxError(f"{archive.name} is no zip of wheels; Glue knows one by its ending, .gluewheels.zip")
    with archive.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    site = cache / digest[:16]
    if site.is_dir():
        return site
    cache.mkdir(parents=True, exist_ok=True)
    unpacked = cache / f"{digest[:16]}.unpacked-{os.getpid()}"
    try:
        with zipfile.ZipFile(archive) as wheels:
            wheels.extractall(unpacked)
        done = subprocess.run(
            [
                *(
                    sys.executable,
                    "-m",
                    "pip",
                    "install",
                    "--quiet",
                    "--disable-pip-version-check",
                    "--no-warn-conflicts",
                ),
                *(option.split() if option else ()),
                *("--find-links", str(unpacked / "wheels"), "--target", str(unpacked / "site")),
                *("--requirement", str(unpacked / "wheels" / "requirements.txt")),
            ],
            # pip's settings of this machine are not Glue's.
            env={key: value for key, value in os.environ.items() if not key.startswith(("PIP_", "PYTHON"))},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise SandboxError(f"pip cannot install {archive.name}: {done.stderr.strip()}")
        (unpacked / "site").replace(site)
    finally:
        shutil.rmtree(unpacked, ignore_errors=True)
    return site
