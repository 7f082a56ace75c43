"""`python -m pipeline_runtime <descriptor>`: one run of one pipeline."""

from __future__ import annotations

import argparse
import os
import sys
import uuid
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from pipeline_runtime.context import ParentRun
from pipeline_runtime.errors import ConfigurationError, UsageError
from pipeline_runtime.run import RunRequest, run
from pipeline_runtime.trace import Trace
from pipeline_runtime.writers.owner import JOB_RUN

__all__ = ["main", "run_id_of_job_run"]


def run_id_of_job_run(job_run_id: str) -> str:
    """The run id of a Glue job run: a UUIDv5 that anything outside the job can compute as well."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"https://cordata.tech/glue-job-run/{job_run_id}"))


def main(argv: Sequence[str], *, glue: bool = False) -> int:
    """Runs one descriptor; returns the exit code of design decision D9.

    With `glue`, arguments that Glue adds are ignored and --JOB_RUN_ID gives the run id where none is passed.
    """
    options, unknown = _parser(glue).parse_known_args(argv)
    if unknown and not glue:
        _parser(glue).error(f"unknown arguments: {' '.join(unknown)}")
    run_id = options.run_id or (run_id_of_job_run(options.job_run_id) if options.job_run_id else str(uuid.uuid4()))
    try:
        request = RunRequest(
            descriptor=Path(options.descriptor_option or options.descriptor),
            run_id=_uuid(run_id),
            nominal_time=_instant(options.nominal_time) if options.nominal_time else None,
            parent=_parent(options.parent_run) if options.parent_run else None,
        )
        return run(request, _environment(options), Trace(request.run_id, options.log_format))
    except UsageError as refusal:
        print(f"{type(refusal).__name__}: {refusal}", file=sys.stderr)  # noqa: T201
        return refusal.exit_code


def _environment(options: argparse.Namespace) -> dict[str, str]:
    """The process environment, the command line's settings on top."""
    given = {
        "CORDATA_LINEAGE_URL": options.lineage_url,
        "CORDATA_LINEAGE": options.lineage,
        "CORDATA_EVIDENCE": options.evidence,
        "CORDATA_GOVERNANCE_CATALOG": options.governance_catalog,
        JOB_RUN: f"{options.job_name}/{options.job_run_id}" if options.job_name and options.job_run_id else None,
    }
    return {**os.environ, **{key: value for key, value in given.items() if value is not None}}


def _parser(glue: bool) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="run_pipeline.py" if glue else "python -m pipeline_runtime",
        description="Run one pipeline as its descriptor declares it.",
        epilog="exit codes: 0 published, 1 failed, 2 the command line or the descriptor cannot be used, 3 quarantined",
        allow_abbrev=False,
    )
    if glue:
        parser.add_argument("--descriptor", dest="descriptor_option", required=True, help="the descriptor's path")
        parser.set_defaults(descriptor=None)
    else:
        parser.add_argument("descriptor", help="the descriptor's path, in <domain root>/pipelines/")
        parser.set_defaults(descriptor_option=None)
    parser.add_argument("--run-id", help="the scheduler's run id, a UUID")
    parser.add_argument("--JOB_NAME", dest="job_name", help=argparse.SUPPRESS)
    parser.add_argument("--JOB_RUN_ID", dest="job_run_id", help=argparse.SUPPRESS)
    parser.add_argument("--nominal-time", help="the period the run is for, ISO 8601 with an offset")
    parser.add_argument("--parent-run", help="the scheduler's own run: <job namespace>/<job name>/<run id>")
    parser.add_argument("--log-format", choices=("text", "json"), default="text")
    parser.add_argument("--lineage-url", help="where lineage events go [CORDATA_LINEAGE_URL]")
    parser.add_argument("--lineage", choices=("off",), help="run without delivering lineage [CORDATA_LINEAGE]")
    parser.add_argument("--evidence", help="folder or s3:// prefix for the run's evidence [CORDATA_EVIDENCE]")
    parser.add_argument("--governance-catalog", help="catalog id that owns the LF-tags [CORDATA_GOVERNANCE_CATALOG]")
    return parser


def _uuid(text: str) -> str:
    try:
        return str(uuid.UUID(text))
    except ValueError:
        raise ConfigurationError(f"--run-id {text!r} is not a UUID, as OpenLineage requires of a run id") from None


def _instant(text: str) -> datetime:
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        time = None
    if time is None or time.tzinfo is None:
        raise ConfigurationError(
            f"--nominal-time {text!r} is not an ISO 8601 time with an offset; write for example 2026-08-04T09:00:00Z"
        )
    return time.astimezone(UTC)


def _parent(text: str) -> ParentRun:
    namespace, _, rest = text.partition("/")
    name, _, run_id = rest.rpartition("/")
    if not (namespace and name and run_id):
        raise ConfigurationError(f"--parent-run {text!r} is not <job namespace>/<job name>/<run id>")
    return ParentRun(namespace, name, _uuid(run_id))
