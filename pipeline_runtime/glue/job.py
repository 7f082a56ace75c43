"""A Glue job for one descriptor, as CreateJob takes it: the reference that what Terraform applies is compared with."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pipeline_runtime.engine.session import session_settings
from pipeline_runtime.errors import ConfigurationError
from pipeline_runtime.glue.artefact import S3_PREFIX, Artefact
from pipeline_runtime.glue.conf import LIST_SETTINGS, merged, render_conf
from pipeline_runtime.glue.engines import GlueEngine
from pipeline_runtime.lineage.listener import LISTENER_CLASS

__all__ = ["EXECUTION_CLASSES", "RESERVED_SETTINGS", "WORKER_TYPES", "GlueJob", "default_arguments", "definition"]

#: What Glue takes for Spark jobs of these versions.
WORKER_TYPES = ("G.025X", "G.1X", "G.2X", "G.4X", "G.8X")

EXECUTION_CLASSES = ("STANDARD", "FLEX")

#: Bytes of all arguments together, by AWS's documentation of job parameters.
_MAX_ARGUMENTS = 260 * 1024

#: What the executor sets itself when it builds the session: set elsewhere, it would be overruled in silence.
RESERVED_SETTINGS = (
    "spark.openlineage.",
    "spark.sql.catalog.glue_",
    "spark.jars",
    "spark.submit.pyFiles",
    *sorted(
        key
        for key in session_settings(warehouse="", endpoint=None)
        if key not in LIST_SETTINGS and not key.startswith("spark.sql.catalog.")
    ),
)

_NAME = re.compile(r"[A-Za-z0-9_-]{1,255}")


@dataclass(frozen=True)
class GlueJob:
    """What a deployment says about one job. `timeout` is in minutes.

    `descriptor` is the path in the domain's repository; `config` the s3:// prefix that `sync` writes to; `evidence`
    the s3:// prefix for the runs' evidence; both without a slash at the end. `lineage_url` is the adapter's full
    address, None where lineage is turned off. `openlineage_enabled` attaches the Spark listener, `lineage_children`
    also sends what it saw, as child runs. Logs go to the groups
    `<log_group_prefix>/error` and `/output`, Glue's own groups where it is None.
    """

    name: str
    domain: str
    descriptor: str
    engine: GlueEngine
    artefact: Artefact
    role: str
    config: str
    evidence: str
    lineage_url: str | None
    openlineage_enabled: bool = True
    lineage_children: bool = False
    lineage_role_arn: str | None = None
    governance_catalog: str | None = None
    owner_topic: str | None = None
    log_group_prefix: str | None = None
    execution_class: str = "STANDARD"
    worker_type: str = "G.1X"
    number_of_workers: int = 2
    timeout: int = 120
    extra_conf: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        problems = [problem for check in (self._texts, self._numbers) for problem in check()]
        if problems:
            raise ConfigurationError(f"job {self.name}: " + "; ".join(problems))

    def _texts(self) -> list[str]:
        problems = []
        if _NAME.fullmatch(self.name) is None:
            problems.append("the name is letters, digits, underscores and hyphens")
        if self.worker_type not in WORKER_TYPES:
            problems.append(f"worker_type {self.worker_type!r} is not one of {', '.join(WORKER_TYPES)}")
        if self.execution_class not in EXECUTION_CLASSES:
            problems.append(f"execution_class {self.execution_class!r} is not one of {', '.join(EXECUTION_CLASSES)}")
        for what in ("config", "evidence"):
            if S3_PREFIX.fullmatch(getattr(self, what)) is None:
                problems.append(f"{what} {getattr(self, what)!r} is no s3://bucket/prefix")
        if self.lineage_children and not self.openlineage_enabled:
            problems.append("lineage_children sends what the listener saw; it needs openlineage_enabled")
        return problems

    def _numbers(self) -> list[str]:
        problems = []
        for what, least in (("number_of_workers", 2), ("timeout", 1)):
            value: object = getattr(self, what)
            if not isinstance(value, int) or isinstance(value, bool):
                problems.append(f"{what} {value!r} is no whole number; write it without quotes and exponent")
            elif value < least:
                problems.append(f"{what} is {value}, and at least {least}")
        return problems


def default_arguments(job: GlueJob) -> dict[str, str]:
    """The job's `DefaultArguments`, every value text, ordered by key.

    Raises ConfigurationError where a setting cannot be sent, or all together are more than Glue takes.
    """
    conf = render_conf(merged(_listener_conf(job), job.extra_conf, reserved=RESERVED_SETTINGS))
    arguments: dict[str, str | None] = {
        "--additional-python-modules": job.artefact.wheels(job.engine),
        "--python-modules-installer-option": "--no-index",
        "--extra-py-files": job.artefact.zip,
        "--extra-jars": job.artefact.listener(job.engine) if job.openlineage_enabled else None,
        # The listener that Glue brings along is old; ours has to be found first.
        "--user-jars-first": "true" if job.openlineage_enabled else None,
        # Glue's own Iceberg; own JARs beside it would be two of a kind.
        "--datalake-formats": "iceberg",
        "--conf": conf or None,
        "--job-language": "python",
        # A bookmark would skip what a pin says is to be read.
        "--job-bookmark-option": "job-bookmark-disable",
        "--enable-metrics": "true",
        "--enable-observability-metrics": "true",
        "--custom-logGroup-prefix": job.log_group_prefix,
        "--descriptor": job.descriptor,
        "--config": job.config,
        "--evidence": job.evidence,
        "--lineage": None if job.lineage_url else "off",
        "--lineage-url": job.lineage_url,
        "--lineage-children": "on" if job.lineage_children else None,
        "--lineage-role-arn": job.lineage_role_arn,
        "--governance-catalog": job.governance_catalog,
        "--owner-topic": job.owner_topic,
        "--log-format": "json",
    }
    given = {key: value for key, value in sorted(arguments.items()) if value is not None}
    size = sum(len(key.encode()) + len(value.encode()) for key, value in given.items())
    if size > _MAX_ARGUMENTS:
        raise ConfigurationError(f"job {job.name}: its arguments are {size:,} bytes; Glue takes {_MAX_ARGUMENTS:,}")
    return given


def definition(job: GlueJob) -> dict[str, Any]:
    """CreateJob's request. Retries belong to the scheduler, each with a run of its own, so Glue makes none."""
    return {
        "Name": job.name,
        "Role": job.role,
        "Command": {"Name": "glueetl", "ScriptLocation": job.artefact.script, "PythonVersion": "3"},
        "DefaultArguments": default_arguments(job),
        "GlueVersion": job.engine.glue,
        "ExecutionClass": job.execution_class,
        "WorkerType": job.worker_type,
        "NumberOfWorkers": job.number_of_workers,
        "Timeout": job.timeout,
        "MaxRetries": 0,
        "ExecutionProperty": {"MaxConcurrentRuns": 1},
    }


def _listener_conf(job: GlueJob) -> dict[str, str]:
    """The settings that attach the listener, by the names and in the form that a domain's deployment shows."""
    if not job.openlineage_enabled:
        return {}
    conf = {"spark.extraListeners": LISTENER_CLASS, "spark.openlineage.namespace": f"cordata.{job.domain}"}
    if job.lineage_url is not None:
        conf |= {
            "spark.openlineage.transport.type": "http",
            "spark.openlineage.transport.url": job.lineage_url.removesuffix("/lineage"),
        }
    return conf
