"""`release`: publishes a quarantined batch after a person has looked at it."""

from __future__ import annotations

import argparse
import sys
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline_runtime.cli.settings import environ_of
from pipeline_runtime.engine.session import build_session
from pipeline_runtime.errors import PipelineError
from pipeline_runtime.release import ReleaseRequest, release
from pipeline_runtime.trace import Trace

if TYPE_CHECKING:
    from pipeline_runtime.deployment import SparkStarter

__all__ = ["main"]


def main(argv: Sequence[str], *, start_spark: SparkStarter = build_session) -> int:
    """0 where the batch is published now, 1 where there is nothing to release or it failed, 2 for a wrong command."""
    try:
        options = _parser().parse_args(argv)
    except SystemExit as stop:
        return int(stop.code or 0)
    request = ReleaseRequest(
        run_id=options.run_id,
        released_by=options.by,
        reason=options.reason,
        descriptor=options.descriptor,
        take_over=options.take_over,
        replace_newer=options.replace_newer,
    )
    try:
        return release(request, environ_of(options), lambda run_id: Trace(run_id, options.log_format), start_spark)
    except PipelineError as refusal:
        sys.stderr.write(f"{type(refusal).__name__}: {refusal}\n")
        return refusal.exit_code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m pipeline_runtime release",
        description="Publishes the batch that a run has put in quarantine, after a person has looked at it. It is "
        "published once, however often this is called; the suite is not asked again, its verdict is repeated.",
        epilog="exit codes: 0 published, now or by an earlier call; 1 nothing to release, or it failed; 2 the command "
        "line, the descriptor or the deployment cannot be used",
        allow_abbrev=False,
    )
    parser.add_argument("run_id", type=_uuid, metavar="run id", help="the run whose batch is in quarantine")
    parser.add_argument("--by", type=_text, required=True, help="who decided it; part of the release's lineage")
    parser.add_argument("--reason", type=_text, help="why; part of the release's lineage")
    parser.add_argument(
        "--descriptor",
        type=Path,
        help="default: the run's own, from the top of the Git checkout you stand in (without one, from this folder)",
    )
    parser.add_argument(
        "--take-over", action="store_true", help="an earlier release has not ended and its process is gone"
    )
    parser.add_argument(
        "--replace-newer", action="store_true", help="also replace what later runs have published to those partitions"
    )
    parser.add_argument("--log-format", choices=("text", "json"), default="text")
    parser.add_argument("--evidence", metavar="URL", help="s3://bucket/prefix or a folder [CORDATA_EVIDENCE]")
    parser.add_argument("--lineage-url", metavar="URL", help="where lineage events go [CORDATA_LINEAGE_URL]")
    parser.add_argument("--lineage", choices=("off",), help="release without delivering lineage [CORDATA_LINEAGE]")
    return parser


def _uuid(text: str) -> str:
    return str(uuid.UUID(text))


def _text(text: str) -> str:
    if not text.strip():
        raise argparse.ArgumentTypeError("is empty")
    return text.strip()
