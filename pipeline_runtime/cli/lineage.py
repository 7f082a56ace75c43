"""`lineage status <run id>`: has DataZone processed the run's events? Accepted is not processed."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Any

from pipeline_runtime.errors import ConfigurationError, EvidenceFailed, UsageError
from pipeline_runtime.evidence.runs import RunEvidence
from pipeline_runtime.evidence.s3 import evidence_client
from pipeline_runtime.evidence.store import open_store
from pipeline_runtime.lineage.processing_status import (
    EventStatus,
    LineageReader,
    Progress,
    node_of,
    progress_of,
    seen_in,
    stored_of,
)

__all__ = ["main"]

_EXIT = {Progress.PROCESSED: 0, Progress.FAILED: 1, Progress.NOT_DELIVERED: 1, Progress.PENDING: 3}
#: Seconds between two looks with --wait; doubled each time.
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 15.0


def main(argv: Sequence[str]) -> int:
    """0 processed, 1 failed or not delivered, 2 the command cannot be used, 3 pending."""
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        arguments = _parser().parse_args(argv)
    except SystemExit as stop:
        return int(stop.code or 0)
    try:
        look, node = _looks(arguments)
        statuses = _until_settled(look, arguments.wait)
        progress = progress_of(statuses)
        shown = node() if progress is Progress.PROCESSED else None
    except (UsageError, EvidenceFailed) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    except (BotoCoreError, ClientError) as error:
        sys.stderr.write(f"DataZone cannot be asked: {error}\n")
        return 2
    (_say_json if arguments.json else _say)(arguments.run_id, progress, statuses, shown)
    return _EXIT[progress]


def _looks(
    arguments: argparse.Namespace,
) -> tuple[Callable[[], tuple[EventStatus, ...]], Callable[[], str | None]]:
    """How to look at the run's events, and at its node: by its evidence where there is any, else by DataZone alone."""
    domain_id = arguments.domain_id
    if not domain_id:
        raise ConfigurationError("no DataZone domain: give --domain-id, or set DATAZONE_DOMAIN_ID")
    if arguments.evidence:
        evidence = RunEvidence(open_store(arguments.evidence, evidence_client), arguments.run_id)
        refused = evidence.refused()
        if refused is not None:
            raise ConfigurationError(f"run {arguments.run_id} was refused before any event: {refused}")
        client = _client()
        stored = stored_of(evidence, client, domain_id)
        if stored:
            return lambda: stored_of(evidence, client, domain_id), lambda: node_of(evidence, client, domain_id)
    else:
        client = _client()
    until = datetime.now(UTC) + timedelta(minutes=5)  # emitters' clocks differ
    since = until - timedelta(hours=arguments.hours)
    return lambda: seen_in(client, domain_id, arguments.run_id, since, until), lambda: None


def _until_settled(look: Callable[[], tuple[EventStatus, ...]], seconds: float) -> tuple[EventStatus, ...]:
    deadline, pause = time.monotonic() + seconds, _FIRST_PAUSE
    while True:
        statuses = look()
        left = deadline - time.monotonic()
        if left <= 0 or (statuses and progress_of(statuses) is not Progress.PENDING):
            return statuses
        time.sleep(min(pause, left))
        pause = min(2 * pause, _LONGEST_PAUSE)


def _client() -> LineageReader:
    import boto3

    make: Any = boto3.client
    client: LineageReader = make("datazone")
    return client


def _say(run_id: str, progress: Progress, statuses: tuple[EventStatus, ...], node: str | None) -> None:
    for status in statuses:
        as_id = f" as {status.id}" if status.id else ""
        why = f": {status.reason}" if status.reason else ""
        sys.stdout.write(f"{status.event_type:<8} {status.progress.value}{as_id}{why}\n")
    if not statuses:
        sys.stdout.write(f"no event of run {run_id} was found; look further back with --hours\n")
    sys.stdout.write(f"lineage of {run_id}: {progress.value}{f', shown as node {node}' if node else ''}\n")


def _say_json(run_id: str, progress: Progress, statuses: tuple[EventStatus, ...], node: str | None) -> None:
    found = {"runId": run_id, "progress": progress.value, "node": node, "events": [asdict(each) for each in statuses]}
    sys.stdout.write(json.dumps(found, indent=2) + "\n")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m pipeline_runtime lineage", description="A run's lineage.")
    status = parser.add_subparsers(dest="command", required=True).add_parser(
        "status",
        help="has DataZone processed the run's events?",
        description="Asks DataZone for each event of a run. An accepted event is processed later, and may fail then.",
        epilog="Exit: 0 processed, 1 failed or not delivered, 2 the command cannot be used, 3 pending.",
    )
    environ = os.environ
    status.add_argument("run_id", metavar="run id")
    status.add_argument(
        "--evidence",
        metavar="URL",
        default=environ.get("CORDATA_EVIDENCE"),
        help="s3://bucket/prefix or a folder with the run's receipts; default $CORDATA_EVIDENCE",
    )
    status.add_argument("--domain-id", default=environ.get("DATAZONE_DOMAIN_ID"), help="default $DATAZONE_DOMAIN_ID")
    status.add_argument(
        "--hours", type=_positive, default=24.0, help="without receipts: how far back to look through all events [24]"
    )
    status.add_argument("--wait", type=_positive, default=0.0, metavar="SECONDS", help="wait while events are pending")
    status.add_argument("--json", action="store_true", help="as JSON")
    return parser


def _positive(text: str) -> float:
    number = float(text)
    if not 0 < number < 100_000:
        raise argparse.ArgumentTypeError("must be a number above 0")
    return number
