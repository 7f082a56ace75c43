"""The command line: one module a command, imported only when it is asked for."""

from __future__ import annotations

import importlib
import io
import sys
from collections.abc import Sequence

from pipeline_runtime import __version__

__all__ = ["main"]

#: Command → module in this package; each has `main(argv) -> int`. Anything else is a descriptor to run.
COMMANDS = {
    "run": "run",
    "validate": "validate",
    "backfill": "backfill",
    "ingest": "ingest",
    "replay": "replay",
    "lineage": "lineage",
    "release": "release",
    "baseline": "baseline",
    "sync": "sync",
    "migrate": "migrate",
    "pin": "pin",
    "plan": "plan",
    "schema": "schema",
    "compare": "compare",
    "consumers": "consumers",
    "publish-schema": "publish_schema",
    "deprecate": "deprecate",
    "readers": "readers",
    "verify": "verify",
    "ropa": "ropa",
    "quality": "quality",
    "freshness": "freshness",
}

USAGE = """\
python -m pipeline_runtime <descriptor> [options]   run a pipeline (see `run --help`)
python -m pipeline_runtime validate <path…>         check descriptors, SQL and suites, without an engine
python -m pipeline_runtime backfill <descriptor> …  a run for every nominal period of the past
python -m pipeline_runtime ingest --task <arn> …    follow a DMS replication, and tell of its batch as a run
python -m pipeline_runtime replay [run id…]         deliver lineage that could not be delivered
python -m pipeline_runtime lineage status <run id>  has DataZone processed a run's events?
python -m pipeline_runtime release <run id> --by …  publish a quarantined batch after review
python -m pipeline_runtime baseline <db.table> …    compute a baseline from a table's column
python -m pipeline_runtime migrate <file…>          rewrite v1 descriptors to v2, comments and order kept
python -m pipeline_runtime pin <descriptor>         pin the source's current version and record its columns
python -m pipeline_runtime plan <descriptor>        what a run would change, and for whom, without doing it
python -m pipeline_runtime schema [name]            the JSON Schema of descriptors, suites, pins, proposals
python -m pipeline_runtime compare <one> <other> …  say what differs between two outputs, and two events
python -m pipeline_runtime verify <event | run id>  compare a run's event with its commit and signature
python -m pipeline_runtime ropa <folder | s3://…>   the record of processing (Art. 30 GDPR), from events
python -m pipeline_runtime quality <dataset>        the assertion history, and the rule of three failures a week
python -m pipeline_runtime freshness [path…]        is every product as fresh as promised? tells its owner
python -m pipeline_runtime consumers <proposal> …   which pipelines a producer's next version would break
python -m pipeline_runtime publish-schema <prop.> … publish that version of the table, once the check has passed
python -m pipeline_runtime deprecate <db.table> …   until when a version of a table stays readable
python -m pipeline_runtime readers <db.table> …     who reads a table without declaring it, from access logs
python -m pipeline_runtime sync <domain> s3://…     put a domain's declarations where its jobs read them
python -m pipeline_runtime --version"""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code (design decision D9)."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    for stream in (sys.stdout, sys.stderr):
        # An author's text may hold what the terminal's encoding does not; that is no reason to fail.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    if not arguments or arguments[0] in {"-h", "--help"}:
        print(USAGE)  # noqa: T201
        return 0 if arguments else 2
    if arguments[0] == "--version":
        print(f"pipeline-runtime {__version__}")  # noqa: T201
        return 0
    command = COMMANDS.get(arguments[0])
    if command is None:
        command = "run"
    else:
        arguments = arguments[1:]
    module = importlib.import_module(f"pipeline_runtime.cli.{command}")
    return int(module.main(arguments))
