"""`publish-schema`: makes a proposal the table's next version, once no consumer breaks."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from pipeline_runtime.contracts.check import Report, judge
from pipeline_runtime.contracts.proposal import Proposal, load_proposal
from pipeline_runtime.contracts.publish_schema import Published, publish_schema
from pipeline_runtime.contracts.references import open_catalog
from pipeline_runtime.contracts.report import as_text, way_out
from pipeline_runtime.contracts.scan import scan, shown
from pipeline_runtime.errors import PipelineError

__all__ = ["main"]


def main(argv: Sequence[str]) -> int:
    """0 where the version is published, 1 where a consumer breaks or the catalog refuses, 2 as for `consumers`."""
    options = _parser().parse_args(argv)
    try:
        proposal = load_proposal(options.proposal, shown(options.proposal)).proposal
        report = _checked(proposal, options)
        sys.stdout.write(as_text(report))
        sys.stdout.flush()
        if report.exit_code:
            sys.stderr.write(f"{way_out(report)}nothing was published\n")
            return report.exit_code
        published = publish_schema(proposal)
    except PipelineError as error:
        sys.stderr.write(f"{type(error).__name__}: {error}\nnothing was published\n")
        return error.exit_code
    sys.stdout.write(_said(proposal, published))
    return 0


def _checked(proposal: Proposal, options: argparse.Namespace) -> Report:
    tables = {proposal.fqn, *(name.lower() for name in options.alias)}
    scanned = scan(options.check, tables)
    catalog = open_catalog(proposal.database, proposal.table)
    return judge(proposal, scanned, catalog, only_used=options.only_used)


def _said(proposal: Proposal, published: Published) -> str:
    by = f"{proposal.producer} release {proposal.release}"
    if not published.changed:
        return f"\n{published.fqn} is at v{published.version} and says all of it already; nothing was published\n"
    what = f"columns {published.changes}" if published.changes else "the same columns"
    number, note = published.version, ""
    if number != proposal.schema_version:
        # The catalog counts every change of a table, an Iceberg table's appends too.
        note = f"the catalog's number for it is v{number}, not v{proposal.schema_version}: that is the one to pin\n"
    return f"\npublished {published.fqn} v{number} by {by}: {what}\n{note}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m pipeline_runtime publish-schema",
        description="Publish the proposed version of a table: check its consumers, then change the columns and say "
        "who published them, in one update of the catalog. The version before stays in the catalog's archive.",
        epilog="exit codes: 0 published, or said by the catalog already; 1 a consumer breaks, cannot be read or pins "
        "an unknown version, or the table cannot become that version; 2 the proposal or a path cannot be used",
        allow_abbrev=False,
    )
    parser.add_argument("proposal", type=Path, help="the version to publish, a YAML file")
    parser.add_argument(
        "--check",
        nargs="+",
        type=Path,
        required=True,
        metavar="path",
        help="folders with domains that may read the table",
    )
    parser.add_argument(
        "--only-used", action="store_true", help="refuse only where a consumer really reads the changed column"
    )
    parser.add_argument(
        "--alias",
        action="append",
        default=[],
        metavar="DATABASE.TABLE",
        help="another name of the table: a resource link",
    )
    return parser
