"""`python -m pipeline_runtime <descriptor>`: one run of one pipeline."""

from __future__ import annotations

import argparse
import contextlib
import sys
import uuid
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline_runtime.cli.settings import environ_of
from pipeline_runtime.context import ParentRun
from pipeline_runtime.errors import ConfigurationError, PipelineError, UsageError
from pipeline_runtime.evidence.runs import EventKind, RunEvidence
from pipeline_runtime.evidence.s3 import evidence_client
from pipeline_runtime.evidence.store import open_store
from pipeline_runtime.job_run_ids import run_id_of_job_run
from pipeline_runtime.lineage.redact import redact
from pipeline_runtime.lineage.values import instant_of, utc_text
from pipeline_runtime.run import RunRequest, run
from pipeline_runtime.trace import Trace
from pipeline_runtime.writers.owner import JOB_RUN

if TYPE_CHECKING:
    from pipeline_runtime.sync.copy import SyncedCopy

__all__ = ["main", "run_id_of_job_run"]


def main(argv: Sequence[str], *, glue: bool = False) -> int:
    """Runs one descriptor; returns the exit code of design decision D9.

    With `glue`, arguments that Glue adds are ignored and --JOB_RUN_ID gives the run id where none is passed.
    """
    options, unknown = _parser(glue).parse_known_args(argv)
    if unknown and not glue:
        _parser(glue).error(f"unknown arguments: {' '.join(unknown)}")
    run_id = options.run_id or (run_id_of_job_run(options.job_run_id) if options.job_run_id else str(uuid.uuid4()))
    try:
        with _descriptor(options) as (descriptor, synced):
            request = RunRequest(
                descriptor=descriptor,
                run_id=_uuid(run_id),
                nominal_time=_instant(options.nominal_time) if options.nominal_time else None,
                parent=_parent(options.parent_run) if options.parent_run else None,
                synced=synced,
            )
            return run(request, _environment(options), Trace(request.run_id, options.log_format))
    except UsageError as refusal:
        print(f"{type(refusal).__name__}: {refusal}", file=sys.stderr)  # noqa: T201
        _keep_refusal(run_id, refusal, _environment(options))
        return refusal.exit_code


def _keep_refusal(run_id: str, refusal: UsageError, environ: Mapping[str, str]) -> None:
    """Leaves in the evidence, where that can be reached, that this run ended before any event, on purpose."""
    with contextlib.suppress(PipelineError):
        store = open_store(environ.get("CORDATA_EVIDENCE", ""), evidence_client)
        run = RunEvidence(store, _uuid(run_id))
        if run.event(EventKind.START) is None:
            text = redact(f"{type(refusal).__name__}: {refusal}")
            run.refuse(text, utc_text(datetime.now(UTC)))


@contextlib.contextmanager
def _descriptor(options: argparse.Namespace) -> Iterator[tuple[Path, SyncedCopy | None]]:
    """The descriptor's path, and with --config the synced copy that it lies in.

    The copy is the working folder meanwhile, so that messages name files as the repository does.
    """
    path = options.descriptor_option or options.descriptor
    if not options.config:
        yield Path(path), None
        return
    import boto3

    from pipeline_runtime.sync.fetch import fetched

    with fetched(options.config, path, boto3.client("s3")) as (descriptor, synced), contextlib.chdir(synced.top):
        yield descriptor, synced


def _environment(options: argparse.Namespace) -> dict[str, str]:
    """The process environment, the command line's settings on top, and the job run that this process is on Glue."""
    environ = environ_of(options)
    if options.job_name and options.job_run_id:
        environ[JOB_RUN] = f"{options.job_name}/{options.job_run_id}"
    return environ


def _parser(glue: bool) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="run_pipeline.py" if glue else "python -m pipeline_runtime",
        description="Run one pipeline as its descriptor declares it.",
        epilog="exit codes: 0 published, 1 failed, 2 the command line or the descriptor cannot be used, 3 quarantined",
        allow_abbrev=False,
    )
    if glue:
        parser.add_argument("--descriptor", dest="descriptor_option", required=True, help="the descriptor's path")
        parser.add_argument("--config", help="s3:// prefix of the synced copy; the path is then the repository's")
        parser.set_defaults(descriptor=None)
    else:
        parser.add_argument("descriptor", help="the descriptor's path, in <domain root>/pipelines/")
        parser.set_defaults(descriptor_option=None, config=None)
    parser.add_argument("--run-id", help="the scheduler's run id, a UUID")
    parser.add_argument("--JOB_NAME", dest="job_name", help=argparse.SUPPRESS)
    parser.add_argument("--JOB_RUN_ID", dest="job_run_id", help=argparse.SUPPRESS)
    parser.add_argument("--nominal-time", help="the period the run is for, ISO 8601 with an offset")
    parser.add_argument("--parent-run", help="the scheduler's own run: <job namespace>/<job name>/<run id>")
    parser.add_argument("--log-format", choices=("text", "json"), default="text")
    parser.add_argument("--lineage-url", help="where lineage events go [CORDATA_LINEAGE_URL]")
    parser.add_argument("--lineage-role-arn", help="a role to sign lineage requests with [CORDATA_LINEAGE_ROLE_ARN]")
    parser.add_argument("--lineage", choices=("off",), help="run without delivering lineage [CORDATA_LINEAGE]")
    parser.add_argument(
        "--lineage-children",
        choices=("on", "off"),
        help="also send what the Spark listener saw, as child runs [CORDATA_LINEAGE_CHILDREN]",
    )
    parser.add_argument("--evidence", help="folder or s3:// prefix for the run's evidence [CORDATA_EVIDENCE]")
    parser.add_argument("--owner-topic", help="SNS topic that owners are told by [CORDATA_OWNER_TOPIC]")
    parser.add_argument("--governance-catalog", help="catalog id that owns the LF-tags [CORDATA_GOVERNANCE_CATALOG]")
    return parser


def _uuid(text: str) -> str:
    try:
        return str(uuid.UUID(text))
    except ValueError:
        raise ConfigurationError(f"--run-id {text!r} is not a UUID, as OpenLineage requires of a run id") from None


def _instant(text: str) -> datetime:
    time = instant_of(text)
    if time is None:
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
