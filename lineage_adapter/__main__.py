"""`python -m lineage_adapter redrive`: replays the dead letters, from an operator's machine or a scheduled task."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from lineage_adapter.callers import domains_from
from lineage_adapter.dead_letters import DeadLetters
from lineage_adapter.errors import AdapterError, ConfigurationError
from lineage_adapter.redrive import Redrive
from lineage_adapter.settings import DOMAIN_ID, Settings
from lineage_adapter.sink import datazone_sink

__all__ = ["main"]


def main(argv: Sequence[str]) -> int:
    """0 when the queue is empty or everything was accepted, 1 when letters stay, 2 when the command cannot be used."""
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        arguments = _parser().parse_args(argv)
    except SystemExit as stop:
        return int(stop.code or 0)
    try:
        redrive = _redrive(arguments)
        if arguments.list:
            shown = redrive.show(arguments.limit)
            _say(f"dead letters: {shown}")
            return 1 if shown else 0
        tally = redrive.run(arguments.limit)
    except AdapterError as error:
        sys.stderr.write(f"redrive: {error}\n")
        return 2
    except (BotoCoreError, ClientError) as error:
        sys.stderr.write(f"redrive: the queue {arguments.queue} cannot be used: {error}\n")
        return 2
    _say(f"dead letters: {tally.accepted} accepted, {tally.kept} kept")
    return 1 if tally.kept else 0


def _redrive(arguments: argparse.Namespace) -> Redrive:
    if not arguments.queue:
        raise ConfigurationError("no queue: give --queue, or set LINEAGE_DEAD_LETTER_QUEUE to its URL")
    if not DOMAIN_ID.fullmatch(arguments.domain_id or ""):
        raise ConfigurationError(
            f"{arguments.domain_id!r} is no DataZone domain id; give --domain-id, or set DATAZONE_DOMAIN_ID"
        )
    allowed = domains_from(arguments.allow, "--allow") if arguments.allow else frozenset[str]()
    return Redrive(_letters(arguments.queue), datazone_sink(Settings(arguments.domain_id)), _say, allowed)


def _letters(queue_url: str) -> DeadLetters:
    from lineage_adapter.clients import make_client

    limits = {"connect_seconds": 5, "read_seconds": 20, "attempts": 4}
    return DeadLetters(make_client("sqs", **limits), make_client("s3", **limits), queue_url, "", "")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m lineage_adapter", description="The lineage adapter's dead letters."
    )
    command = parser.add_subparsers(dest="command", required=True).add_parser(
        "redrive",
        help="post the dead letters again",
        description="Posts every dead letter again, from the bytes as they came. Accepted ones leave the queue, "
        "the others stay with their reason.",
        epilog="Exit: 0 nothing is left, 1 letters stay, 2 the command cannot be used.",
    )
    environ = os.environ
    command.add_argument(
        "--queue", default=environ.get("LINEAGE_DEAD_LETTER_QUEUE"), help="default $LINEAGE_DEAD_LETTER_QUEUE"
    )
    command.add_argument("--domain-id", default=environ.get("DATAZONE_DOMAIN_ID"), help="default $DATAZONE_DOMAIN_ID")
    command.add_argument("--list", action="store_true", help="say what there is, and change nothing")
    command.add_argument("--limit", type=_positive, help="try at most so many letters")
    command.add_argument(
        "--allow",
        action="append",
        metavar="DOMAIN",
        help="let letters of this domain pass, whoever sent them: for a reviewed mistake; may be repeated",
    )
    return parser


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
