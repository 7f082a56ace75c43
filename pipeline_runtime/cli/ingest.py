"""`python -m pipeline_runtime ingest`: a batch of an AWS DMS replication, told as a run."""

from __future__ import annotations

import argparse
import re
import sys
import uuid
from collections.abc import Sequence
from datetime import timedelta

from pipeline_runtime.cli.settings import environ_of
from pipeline_runtime.context import ParentRun
from pipeline_runtime.descriptor.duration import parse_duration
from pipeline_runtime.errors import PipelineError
from pipeline_runtime.ingestion.follow import Bound
from pipeline_runtime.ingestion.run import IngestionRequest, ingest
from pipeline_runtime.ingestion.task import TaskArn
from pipeline_runtime.trace import Trace

__all__ = ["main"]

_DOMAIN = re.compile(r"[a-z][a-z0-9_-]*")


def main(argv: Sequence[str]) -> int:
    """0 the batch ended and is told of, 1 it failed or was stopped, 2 the command or the deployment was refused."""
    try:
        options = _parser().parse_args(argv)
    except SystemExit as stop:
        return int(stop.code or 0)
    try:
        request = IngestionRequest(
            task=TaskArn.parse(options.task),
            domain=options.domain,
            run_id=options.run_id,
            bound=Bound(options.duration, options.quiet, options.stop),
            databases=tuple(options.database),
            pause=options.pause,
            parent=options.parent_run,
        )
        return ingest(request, environ_of(options), Trace(request.run_id, options.log_format))
    except PipelineError as refusal:
        sys.stderr.write(f"{type(refusal).__name__}: {refusal}\n")
        return refusal.exit_code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m pipeline_runtime ingest",
        description="Start an AWS DMS replication task, or find it running, follow it to the end of a batch, and tell "
        "of the batch as a run: the source system's tables in, the landing tables out, rows by DMS's table statistics.",
        epilog="exit codes: 0 the batch ended; 1 it failed or was stopped; 2 the command, the task or the deployment "
        "cannot be used, and nothing was started",
        allow_abbrev=False,
    )
    parser.add_argument("--task", required=True, metavar="ARN", help="the replication task")
    parser.add_argument("--domain", required=True, type=_domain, help="whose replication it is")
    parser.add_argument(
        "--database",
        action="append",
        default=[],
        help="a Glue database with landing tables, found by their location; without it, outputs are s3:// folders",
    )
    parser.add_argument("--for", dest="duration", type=_length, help="end the batch after this long, ISO 8601: PT15M")
    parser.add_argument(
        "--until-caught-up",
        dest="quiet",
        type=_length,
        nargs="?",
        const=timedelta(minutes=2),
        help="end the batch once the load is over and no counter has moved for this long; PT2M",
    )
    parser.add_argument("--stop", action="store_true", help="also stop the task at the end of the batch")
    parser.add_argument("--run-id", type=_uuid, default=str(uuid.uuid4()), help="a UUID; a new one where not given")
    parser.add_argument(
        "--parent-run", type=_parent, help="the scheduler's own run: <job namespace>/<job name>/<run id>"
    )
    parser.add_argument("--pause", type=float, default=15.0, help="seconds between two looks at DMS; 15")
    parser.add_argument("--log-format", choices=("text", "json"), default="text")
    parser.add_argument("--evidence", metavar="URL", help="s3://bucket/prefix or a folder [CORDATA_EVIDENCE]")
    parser.add_argument("--lineage-url", metavar="URL", help="where lineage events go [CORDATA_LINEAGE_URL]")
    parser.add_argument("--lineage", choices=("off",), help="deliver no lineage [CORDATA_LINEAGE]")
    return parser


def _domain(text: str) -> str:
    if _DOMAIN.fullmatch(text) is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no domain's name; write for example policy")
    return text


def _length(text: str) -> timedelta:
    try:
        return parse_duration(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _uuid(text: str) -> str:
    try:
        return str(uuid.UUID(text))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no UUID") from None


def _parent(text: str) -> ParentRun:
    namespace, _, rest = text.partition("/")
    name, _, run_id = rest.rpartition("/")
    if not (namespace and name and run_id):
        raise argparse.ArgumentTypeError(f"{text!r} is not <job namespace>/<job name>/<run id>")
    return ParentRun(namespace, name, _uuid(run_id))
