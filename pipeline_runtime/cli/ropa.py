"""`ropa`: the record of processing activities (Art. 30 GDPR), projected from the events that runs leave."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence

from pipeline_runtime.errors import EvidenceFailed, UsageError
from pipeline_runtime.evidence.event_files import EventFolder, open_event_folder
from pipeline_runtime.evidence.event_reading import NoRunEvent, RunEvent, Unusable, events_in
from pipeline_runtime.evidence.ropa.as_json import as_json
from pipeline_runtime.evidence.ropa.collect import collected
from pipeline_runtime.evidence.ropa.markdown import as_markdown
from pipeline_runtime.evidence.ropa.project import record_of

__all__ = ["main"]


def main(argv: Sequence[str]) -> int:
    """0 with the record, 1 where it lacks what some files would say, 2 where there is nothing to make it from."""
    try:
        options = _parser().parse_args(argv)
    except SystemExit as stop:
        return int(stop.code or 0)
    try:
        folder = open_event_folder(options.events)
        seen = collected(_events(folder))
        if not seen.events:
            raise UsageError(f"{folder.where}: holds no run event{_why(seen.unusable)}")
    except (UsageError, EvidenceFailed) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    record = record_of(seen, folder.where)
    sys.stdout.write(as_json(record) if options.format == "json" else as_markdown(record))
    for problem in record.scope.unusable:
        sys.stderr.write(f"not in the record: {problem}\n")
    return 1 if record.scope.unusable else 0


def _events(folder: EventFolder) -> Iterator[RunEvent | Unusable | NoRunEvent]:
    for file, body in folder.read(folder.files()):
        yield from events_in(file.name, body)


def _why(unusable: Sequence[Unusable]) -> str:
    return f"; {unusable[0].where} {unusable[0].reason}" if unusable else ""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m pipeline_runtime ropa",
        description="Writes the record of processing activities that OpenLineage run events evidence: an activity a "
        "job, with the run, the time and the commit behind each value.",
        epilog="exit codes: 0 the record is whole; 1 some files could not be read, the record says which; 2 there is "
        "nothing to make it from",
        allow_abbrev=False,
    )
    parser.add_argument("events", metavar="folder | s3://bucket/prefix", help="where the events are, at any depth")
    parser.add_argument("--format", choices=("markdown", "json"), default="markdown")
    return parser
