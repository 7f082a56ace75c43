"""`python -m pipeline_runtime.consumers`: would a proposed version of a table break any pipeline that reads it?"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from pipeline_runtime.contracts.check import Report, judge
from pipeline_runtime.contracts.proposal import LoadedProposal, load_proposal
from pipeline_runtime.contracts.references import CatalogView, open_catalog
from pipeline_runtime.contracts.report import FORMATS, way_out
from pipeline_runtime.contracts.scan import scan, shown
from pipeline_runtime.errors import CatalogError, PipelineError, UsageError

__all__ = ["main"]


def main(argv: Sequence[str]) -> int:
    """0 compatible, 1 a consumer breaks, cannot be read or pins an unknown version, 2 nothing could be judged."""
    options = _parser().parse_args(argv)
    try:
        loaded = load_proposal(Path(options.proposal), shown(Path(options.proposal)))
        report, without = _checked(loaded, options)
        sys.stdout.write(FORMATS[options.format](report, loaded))
        sys.stdout.flush()
        sys.stderr.write(way_out(report))
        if without is not None:
            raise without
    except (UsageError, CatalogError) as error:
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
        return 2
    return report.exit_code


def _checked(loaded: LoadedProposal, options: argparse.Namespace) -> tuple[Report, PipelineError | None]:
    """The report, and why it was made without the catalog although that was to be asked."""
    proposal = loaded.proposal
    tables = {proposal.fqn, *(name.lower() for name in options.alias)}
    scanned = scan([Path(path) for path in options.paths], tables)
    without: PipelineError | None = None
    catalog: CatalogView | None = None
    if not options.no_catalog:
        try:
            catalog = open_catalog(proposal.database, proposal.table, options.catalog_id)
        except (UsageError, CatalogError) as error:
            without = type(error)(
                f"{error}\nJudged by recorded schemas only, which is no pass: give the build access to the catalog, or "
                "say --no-catalog where every pin has its recorded file."
            )
    return judge(proposal, scanned, catalog, only_used=options.only_used), without


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m pipeline_runtime.consumers",
        description="Which pipelines would break if an application published the proposed version of a table. The "
        "consumers are the descriptors below the paths that pin the table; each is judged on the version it pins.",
        epilog="exit codes: 0 compatible (pins to bump are listed); 1 a consumer breaks, cannot be read or pins an "
        "unknown version; 2 the proposal, a path or the catalog cannot be used",
        allow_abbrev=False,
    )
    parser.add_argument("proposal", help="the version that the release intends to publish, a YAML file")
    parser.add_argument("paths", nargs="+", metavar="path", help="a folder with domains, or a descriptor")
    parser.add_argument(
        "--only-used", action="store_true", help="fail only where a consumer really reads the changed column"
    )
    parser.add_argument(
        "--format", choices=sorted(FORMATS), default="text", help="text, json, or text with GitHub annotations"
    )
    parser.add_argument(
        "--alias",
        action="append",
        default=[],
        metavar="DATABASE.TABLE",
        help="another name of the table: a resource link in a consumer's account",
    )
    parser.add_argument("--catalog-id", help="the account whose catalog holds the table [the caller's own]")
    parser.add_argument(
        "--no-catalog", action="store_true", help="ask no catalog; every pin then needs its recorded schema file"
    )
    return parser
