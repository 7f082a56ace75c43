"""The engine a run uses, as its events name it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

from pipeline_runtime.build import build
from pipeline_runtime.glue.engines import DEFAULT, ENGINES

__all__ = ["Engine", "engine_of"]

#: Which Glue version a Spark version belongs to, where no Glue says so itself.
_GLUE_OF_SPARK = {engine.spark.rpartition(".")[0]: engine.glue for engine in ENGINES.values()}


@dataclass(frozen=True)
class Engine:
    """Versions of what runs the steps; `glue_*` are Glue's own variables, `executor_*` is the executor's build."""

    spark_version: str | None
    openlineage_version: str | None
    glue_version: str
    glue_command_criteria: str = "glueetl"
    glue_python_version: str = "3"
    executor_commit: str | None = None
    executor_dirty: bool | None = None


def engine_of(environ: Mapping[str, str]) -> Engine:
    """The engine of this process, from the installed packages and from the variables that Glue sets.

    Needs no Spark to be started. Outside Glue the values are those of the Glue version with the same Spark:
    DataZone recognises a Glue table's dataset only in an event that carries them.
    """
    spark = _installed("pyspark")
    executor = build()
    minor = ".".join((spark or "").split(".")[:2])
    return Engine(
        spark_version=spark,
        openlineage_version=_installed("openlineage-python"),
        glue_version=environ.get("GLUE_VERSION") or _GLUE_OF_SPARK.get(minor, DEFAULT),
        glue_command_criteria=environ.get("GLUE_COMMAND_CRITERIA") or "glueetl",
        glue_python_version=environ.get("GLUE_PYTHON_VERSION") or "3",
        executor_commit=executor.commit,
        executor_dirty=executor.dirty,
    )


def _installed(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
