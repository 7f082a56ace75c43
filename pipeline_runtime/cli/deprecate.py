"""`deprecate`: a version of a table stays readable until a day that its consumers are told, and no longer."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from datetime import UTC, date, datetime
from pathlib import Path

from pipeline_runtime.contracts.deprecate import Deprecated, deprecate
from pipeline_runtime.contracts.scan import scan
from pipeline_runtime.errors import PipelineError, UsageError

__all__ = ["main"]


def main(argv: Sequence[str]) -> int:
    """0 where the date is set, 1 where the catalog refuses, 2 where the command line cannot be used."""
    options = _parser().parse_intermixed_args(argv)
    try:
        _ask_for_a_day_to_come(options)
        table = _table(options.table)
        consumers = [each for found in scan(options.paths, {".".join(table)}) for each in found.consumers]
        done = deprecate(*table, options.version, options.after, options.successor)
    except PipelineError as error:
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
        return error.exit_code
    print(_said(done))  # noqa: T201
    for consumer in {each.path: each for each in consumers}.values():
        if consumer.pin <= options.version:
            print(f"  tell {consumer.name} ({consumer.domain})  pins v{consumer.pin}  owner {consumer.owner}")  # noqa: T201
    return 0


def _said(done: Deprecated) -> str:
    pins = f"{done.fqn}: pins up to v{done.version}"
    if done.after is None:
        return f"{pins} are no longer deprecated" if done.changed else f"{pins} were not deprecated"
    state = "from now on" if done.changed else "as before"
    return f"{pins} hold until {done.after}, {state}; validate and every run warn, and fail after that day"


def _ask_for_a_day_to_come(options: argparse.Namespace) -> None:
    if options.after is not None and options.after < datetime.now(UTC).date():
        raise UsageError(
            f"--after {options.after} is over: every consumer would fail at once. Name the last day on which v"
            f"{options.version} may be read, and leave its consumers the time to move."
        )


def _table(name: str) -> tuple[str, str]:
    database, _, table = name.lower().partition(".")
    if not database or not table or "." in table:
        raise UsageError(f"{name!r} is not <database>.<table>")
    return database, table


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a day; write it like 2026-12-31") from None


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m pipeline_runtime deprecate",
        description="Say until when a version of a table stays readable. Consumers that pin it, or an earlier one, are "
        "warned with the date by `validate --catalog` and by every run, and fail after that day.",
        epilog="exit codes: 0 set, 1 the catalog refuses or has no such version, 2 the command line cannot be used",
        allow_abbrev=False,
    )
    parser.add_argument("table", metavar="database.table", help="the table whose version is deprecated")
    parser.add_argument(
        "paths", nargs="*", type=Path, metavar="path", help="folders with domains: whom to tell is listed"
    )
    parser.add_argument("--version", type=int, required=True, metavar="N", help="the newest version that is deprecated")
    until = parser.add_mutually_exclusive_group(required=True)
    until.add_argument(
        "--after", type=_day, metavar="DAY", help="the last day on which it may be read, such as 2026-12-31"
    )
    until.add_argument("--lift", action="store_true", help="take the deprecation back")
    parser.add_argument("--successor", metavar="database.table", help="the table to move to; it must exist")
    return parser
