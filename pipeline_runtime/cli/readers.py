"""`readers`: who reads a table without any descriptor that says so, as far as access logs can tell."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from pipeline_runtime.catalog.locations import bucket_and_key, table_root
from pipeline_runtime.contracts.access_logs import Kind, Place, Record, names_of, records_of
from pipeline_runtime.contracts.log_files import log_files
from pipeline_runtime.contracts.principals import Principals, load_principals
from pipeline_runtime.contracts.references import open_catalog
from pipeline_runtime.contracts.scan import scan
from pipeline_runtime.contracts.undeclared import Reader, Readers, find_readers
from pipeline_runtime.errors import CatalogError, UsageError

__all__ = ["main"]


def main(argv: Sequence[str]) -> int:
    """0 where every reader is declared, 1 where some are not, 2 where a log, a path or the catalog cannot be used."""
    options = _parser().parse_intermixed_args(argv)
    try:
        place = _place(options)
        consumers = [each for found in scan(options.paths, place.names) for each in found.consumers]
        principals = load_principals(options.principals) if options.principals else Principals(principals=[])
        found = find_readers(_records(options.access_log, place), consumers, principals, options.job_role)
    except (UsageError, CatalogError) as error:
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
        return 2
    sys.stdout.write("\n".join(_lines(options.table.lower(), found, len(consumers), place)) + "\n")
    return 1 if found.undeclared else 0


def _place(options: argparse.Namespace) -> Place:
    database, _, table = options.table.lower().partition(".")
    if not database or not table:
        raise UsageError(f"{options.table!r} is not <database>.<table>")
    location = options.location
    if location is None:
        catalog = open_catalog(database, table, options.catalog_id)
        if catalog.table is None:
            raise UsageError(f"{options.table} is not in the catalog; say where its files lie with --location s3://…")
        location = catalog.table.location
    bucket, prefix = bucket_and_key(table_root(location))
    return Place(names_of(options.table, options.alias), bucket, prefix.rstrip("/"))


def _records(places: Sequence[str], place: Place) -> Iterator[Record]:
    for log in places:
        for name, content in log_files(log):
            try:
                yield from records_of(content, place)
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise UsageError(f"{name}: {error}; a CloudTrail log or an S3 server access log is expected") from None


def _lines(table: str, found: Readers, consumers: int, place: Place) -> Iterator[str]:
    yield f"{len(found.undeclared)} undeclared reader{'' if len(found.undeclared) == 1 else 's'} of {table}"
    for reader in found.undeclared:
        yield from ("", *_block("UNDECLARED", reader))
    for reader in found.declared:
        yield from ("", *_block("declared", reader))
    teams = sorted({reader.team for reader in found.undeclared if reader.team})
    unknown = sum(reader.team is None for reader in found.undeclared)
    yield ""
    if found.undeclared:
        yield f"to talk to: {', '.join(teams) or 'nobody is known'}" + (
            f"; {unknown} of no known team" if unknown else ""
        )
    yield f"{consumers} descriptor{'' if consumers == 1 else 's'} pin{'s' if consumers == 1 else ''} it"
    yield from _limits(found, place)


def _block(label: str, reader: Reader) -> Iterator[str]:
    yield f"{label:<12}{reader.principal}  {reader.team or 'team unknown'}"
    yield f"{'':<12}last read {reader.last:%Y-%m-%d %H:%M}Z, {reader.reads} read{'' if reader.reads == 1 else 's'}"
    yield f"{'':<12}seen in {', '.join(kind.value for kind in reader.kinds)}"
    if reader.note:
        yield f"{'':<12}{reader.note}"


def _limits(found: Readers, place: Place) -> Iterator[str]:
    """What logs cannot say, said."""
    yield ""
    yield "what these logs cannot show:"
    for kind in Kind:
        span = found.spans.get(kind)
        if span is None:
            yield f"  {kind.value}: no record at all; whoever reads that way only is not seen"
        else:
            covered = f"{span.first:%Y-%m-%d %H:%M}Z to {span.last:%Y-%m-%d %H:%M}Z"
            yield f"  {kind.value}: {covered}, nothing before or after"
    yield "  a reader that comes less often than their retention reaches back, and what anybody will need tomorrow"
    yield f"  reads of copies, exports and of files outside s3://{place.bucket}/{place.prefix}/"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m pipeline_runtime readers",
        description="List who read a table according to access logs, minus the job roles of the consumers that declare "
        "it: dashboards, notebooks and ad-hoc SQL that no descriptor speaks for.",
        epilog="exit codes: 0 every reader is declared, 1 some are not, 2 a log, a path or the catalog cannot be used",
        allow_abbrev=False,
    )
    parser.add_argument("table", metavar="database.table", help="the table that is read")
    parser.add_argument("paths", nargs="*", type=Path, metavar="path", help="folders with domains: who declares it")
    parser.add_argument(
        "--access-log",
        action="append",
        required=True,
        metavar="LOG",
        help="CloudTrail logs or S3 server access logs: a file, a folder or an s3:// prefix; may be repeated",
    )
    parser.add_argument(
        "--principals", type=Path, metavar="FILE", help="which team a principal belongs to, a YAML file"
    )
    parser.add_argument(
        "--job-role",
        default="cordata-{domain}-{name}",
        metavar="NAME",
        help="the name of a consumer's job role [cordata-{domain}-{name}, as the Terraform modules make it]",
    )
    parser.add_argument("--location", metavar="S3", help="where the table's files lie [asked of the catalog]")
    parser.add_argument(
        "--alias",
        action="append",
        default=[],
        metavar="DATABASE.TABLE",
        help="another name of the table: a resource link",
    )
    parser.add_argument("--catalog-id", help="the account whose catalog holds the table [the caller's own]")
    return parser
