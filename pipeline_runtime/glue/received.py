"""A job as Glue's API returns it, taken apart as Glue takes it apart: what Spark gets, and what the script gets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pipeline_runtime.errors import ConfigurationError
from pipeline_runtime.glue.conf import parse_conf
from pipeline_runtime.glue.engines import GlueEngine, engine_for
from pipeline_runtime.glue.job import EXECUTION_CLASSES
from pipeline_runtime.lineage.listener import LISTENER_CLASS

__all__ = ["ReceivedJob", "effective_arguments", "received"]


@dataclass(frozen=True)
class ReceivedJob:
    """One job, ready to be run.

    `conf` are Spark's settings; `jars`, `py_files` and `modules` are addresses, in order; `script_arguments` is what
    the script gets, as a map.
    """

    name: str
    engine: GlueEngine
    script: str
    conf: Mapping[str, str]
    jars: tuple[str, ...]
    py_files: tuple[str, ...]
    modules: tuple[str, ...]
    installer_option: str | None
    script_arguments: Mapping[str, str]

    @property
    def listens(self) -> bool:
        """Whether the job attaches the lineage listener."""
        return LISTENER_CLASS in self.conf.get("spark.extraListeners", "").split(",")


def effective_arguments(job: Mapping[str, Any], run: Mapping[str, str] | None = None) -> dict[str, str]:
    """The arguments of one run, by Glue's precedence: the job's defaults, then the run's, then the fixed ones."""
    return {**job.get("DefaultArguments", {}), **(run or {}), **job.get("NonOverridableArguments", {})}


def received(job: Mapping[str, Any], run: Mapping[str, str] | None = None) -> ReceivedJob:
    """The job that GetJob returned, for a run with these arguments of its own.

    Raises ConfigurationError with everything in the definition that would not do what it seems to.
    """
    arguments = effective_arguments(job, run)
    name = job["Name"]
    if not_text := [f"{key} is {value!r}" for key, value in arguments.items() if not isinstance(value, str)]:
        raise ConfigurationError(f"job {name}: every argument is text; {', '.join(not_text)}")
    engine = engine_for(job.get("GlueVersion"))
    conf = parse_conf(arguments.get("--conf", ""))
    found = ReceivedJob(
        name=name,
        engine=engine,
        script=job["Command"]["ScriptLocation"],
        conf=conf,
        jars=_addresses(arguments.get("--extra-jars")),
        py_files=_addresses(arguments.get("--extra-py-files")),
        modules=_addresses(arguments.get("--additional-python-modules")),
        installer_option=arguments.get("--python-modules-installer-option"),
        script_arguments=arguments,
    )
    if problems := _problems(job, arguments, found):
        raise ConfigurationError(f"job {name}: " + "; ".join(problems))
    return found


def _problems(job: Mapping[str, Any], arguments: Mapping[str, str], found: ReceivedJob) -> list[str]:
    problems = []
    if job.get("MaxRetries", 0) != 0:
        problems.append("MaxRetries is not 0: Glue would retry a run under the same run id")
    if job.get("ExecutionClass") not in EXECUTION_CLASSES:
        problems.append("ExecutionClass is not set")
    listeners = found.conf.get("spark.extraListeners", "").split(",")
    attached = [jar for jar in found.jars if jar.rpartition("/")[2].startswith("openlineage-spark")]
    if listeners.count(LISTENER_CLASS) > 1:
        problems.append("spark.extraListeners names the lineage listener twice")
    if found.listens:
        if [jar.rpartition("/")[2] for jar in attached] != [found.engine.listener.file]:
            problems.append(
                f"--extra-jars must hold {found.engine.listener.file} (Glue {found.engine.glue} is Scala "
                f"{found.engine.scala}); it holds {', '.join(attached) or 'no listener'}"
            )
        if arguments.get("--user-jars-first") != "true":
            problems.append('--user-jars-first is not "true": the listener that Glue brings along would win')
    elif attached:
        problems.append("--extra-jars holds the listener, and spark.extraListeners does not name it")
    problems += [f"--additional-python-modules: {entry} is not pinned" for entry in found.modules if _floats(entry)]
    return problems


def _addresses(value: str | None) -> tuple[str, ...]:
    return tuple(entry for entry in (value or "").split(",") if entry)


def _floats(entry: str) -> bool:
    return not entry.startswith("s3://") and "==" not in entry
