"""`compare`: what differs between two outputs, and between two lineage events; nothing, after a sound migration."""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline_runtime.catalog.locations import bucket_root
from pipeline_runtime.compare.events import compare_events
from pipeline_runtime.compare.findings import Finding
from pipeline_runtime.engine.session import build_session
from pipeline_runtime.errors import PipelineError, TableNotFound, UsageError

if TYPE_CHECKING:
    from pipeline_runtime.compare.outputs import Output, TableAt
    from pipeline_runtime.deployment import SparkStarter

__all__ = ["main"]

_TABLE = re.compile(r"(?P<database>[^./@]+)\.(?P<table>[^./@]+)(@(?P<snapshot>\d+))?")


def main(argv: Sequence[str], *, start_spark: SparkStarter = build_session) -> int:
    """Prints a difference a line. 0 where there is none, 1 where there are, 2 where something cannot be compared."""
    try:
        options = _parser().parse_args(argv)
    except SystemExit as stop:
        return int(stop.code or 0)
    try:
        findings = _findings(options, start_spark)
    except PipelineError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    for finding in findings:
        print(finding)  # noqa: T201
    return 1 if findings else 0


def _findings(options: argparse.Namespace, start_spark: SparkStarter) -> list[Finding]:
    if not options.outputs and not options.events:
        raise UsageError("name two outputs, or two events with --events, or both; `compare --help` shows how")
    if len(options.outputs) not in (0, 2):
        raise UsageError(f"outputs are compared in pairs, and {len(options.outputs)} was named; name a second one")
    if not options.outputs and (options.keys or options.bytes):
        raise UsageError("--keys and --bytes are about outputs; name two")
    events = [_event(path) for path in options.events or ()]
    findings: list[Finding] = []
    snapshots: tuple[int | None, int | None] = (None, None)
    if options.outputs:
        findings, snapshots = _output_findings(options, start_spark)
    return findings + (compare_events(events[0], events[1], snapshots) if events else [])


def _output_findings(
    options: argparse.Namespace, start_spark: SparkStarter
) -> tuple[list[Finding], tuple[int | None, int | None]]:
    """What differs between the outputs, and the snapshots that were compared."""
    from pipeline_runtime.compare.files import compare_files
    from pipeline_runtime.compare.outputs import folder_output, table_output
    from pipeline_runtime.compare.rows import compare_rows
    from pipeline_runtime.compare.schemas import compare_partitions, compare_schemas
    from pipeline_runtime.engine.session import session_settings
    from pipeline_runtime.engine.spark_error import failures, short_message

    places = [_place(name) for name in options.outputs]
    settings = session_settings(
        warehouse=next(
            (bucket_root(place.source.table.location) for place in places if not isinstance(place, str)), "s3://none"
        ),
        endpoint=os.environ.get("AWS_ENDPOINT_URL"),
    )
    spark = start_spark("compare", settings)
    try:
        first, second = (
            folder_output(spark, place) if isinstance(place, str) else table_output(spark, place) for place in places
        )
        findings = [
            *compare_schemas(first.schema, second.schema),
            *compare_partitions(_partitions(first), _partitions(second)),
            *compare_rows(first.frame, second.frame, options.keys, options.examples),
            *(compare_files(spark, first.files, second.files) if options.bytes else ()),
        ]
    except failures() as error:
        raise UsageError(f"Spark cannot compare them: {short_message(error)}") from error
    one, other = (None if isinstance(place, str) else place.snapshot for place in places)
    return findings, (one, other)


def _partitions(output: Output) -> tuple[Sequence[str], dict[str, int]]:
    return output.partitioning, dict(output.partitions)


def _place(name: str) -> TableAt | str:
    """A folder's address, or a table of the catalog. Raises UsageError, CatalogError."""
    if "://" in name:
        return name
    if Path(name).is_dir():
        return Path(name).absolute().as_uri()
    found = _TABLE.fullmatch(name)
    if found is None:
        raise UsageError(f"{name} is neither a folder nor <database>.<table>[@<snapshot>] nor an s3:// prefix")
    return _table(found["database"], found["table"], None if found["snapshot"] is None else int(found["snapshot"]))


def _table(database: str, table: str, snapshot: int | None) -> TableAt:
    from pipeline_runtime.compare.outputs import TableAt
    from pipeline_runtime.engine.catalogs import catalog_name
    from pipeline_runtime.readers.unpinned import current_source

    try:
        source, account = current_source(database, table, os.environ)
    except TableNotFound as error:
        raise TableNotFound(f"{database}.{table}: {error}") from None
    identity = source.table.identity
    if snapshot is not None and not source.table.is_iceberg:
        raise UsageError(f"{identity.fqn} is no Iceberg table and has no snapshots; leave @{snapshot} away")
    return TableAt(source, catalog_name(identity, account), snapshot)


def _event(path: Path) -> dict[str, Any]:
    try:
        event = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from error
    except ValueError as error:
        raise UsageError(f"{path} is not JSON: {error}") from error
    if not isinstance(event, dict) or not {"eventType", "run", "job"} <= event.keys():
        raise UsageError(f"{path} is no OpenLineage run event: one has eventType, run and job")
    return event


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m pipeline_runtime compare",
        description="Says what differs between two outputs and between two lineage events, a difference a line. Of "
        "the outputs: columns and types, partitions, rows as a multiset, and with --bytes the files. Of the events: "
        "everything but run id, event time and producer.",
        epilog="exit codes: 0 no difference, 1 differences, 2 something cannot be compared. The examples show values "
        "of rows: mind where the output goes.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "outputs",
        nargs="*",
        metavar="output",
        help="<database>.<table>, of Iceberg also <database>.<table>@<snapshot>; a folder or s3:// prefix of parquet",
    )
    parser.add_argument("--events", nargs=2, type=Path, metavar="event.json", help="two events, in the same order")
    parser.add_argument("--keys", type=_names, default=[], help="columns that name a row, to say which cells changed")
    parser.add_argument("--bytes", action="store_true", help="files must be the same byte for byte, partition by one")
    parser.add_argument("--examples", type=_count, default=10, help="how many differing rows to show, 0 for none [10]")
    return parser


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _count(text: str) -> int:
    number = int(text)
    if not 0 <= number <= 1000:
        raise argparse.ArgumentTypeError(f"{text} is not from 0 to 1000")
    return number
