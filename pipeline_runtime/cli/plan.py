"""`python -m pipeline_runtime plan`: what a run would change, without doing it. No engine."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from pipeline_runtime.catalog.access import CatalogAccess, open_catalog_access
from pipeline_runtime.catalog.pins import pin_text, resolve_pin
from pipeline_runtime.cli.descriptors import shown
from pipeline_runtime.cli.validate import problems_of
from pipeline_runtime.descriptor.files import named_files, read_text
from pipeline_runtime.descriptor.load import LoadedDescriptor, load
from pipeline_runtime.errors import DescriptorError, PipelineError
from pipeline_runtime.forecast import forecast
from pipeline_runtime.lineage.provenance import provenance
from pipeline_runtime.preflight import resolve_policy, resolve_target
from pipeline_runtime.publish import release_of
from pipeline_runtime.steps.outcome import Outcome, StepText, outcome_of

__all__ = ["main"]

_WIDTH = 12


def main(argv: Sequence[str]) -> int:
    """0 where nothing known stands in the run's way, 1 where something does, 2 for a bad descriptor or no catalog."""
    try:
        options = _parser().parse_args(argv)
    except SystemExit as stop:
        return int(stop.code or 0)
    path = Path(options.descriptor)
    try:
        loaded = load(path, shown_as=shown(path))
        if problems := problems_of(path):
            raise DescriptorError(problems)
        with open_catalog_access(os.environ) as catalog:
            return _plan(loaded, [Path(each) for each in options.consumers], catalog)
    except PipelineError as error:
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
        return error.exit_code


def _plan(loaded: LoadedDescriptor, consumers: Sequence[Path], catalog: CatalogAccess) -> int:
    pipeline = loaded.descriptor
    _print("plan", [f"{loaded.document.shown_as}  {pipeline.metadata.name} ({pipeline.metadata.domain})"])
    source = resolve_pin(pipeline.source, loaded.domain_root, catalog.glue, catalog.s3, catalog.region)
    _print("source", [f"{pipeline.source.fqn} {pin_text(source)}"])
    tags = resolve_policy(pipeline.contract.lf_tags, catalog)
    target = resolve_target(pipeline.target, source.table, catalog)
    outcome = _outcome(loaded, source.pinned.names)
    files = named_files(loaded).all
    release = release_of(provenance(loaded.path, files, domain_root=loaded.domain_root))
    found = forecast(pipeline, target, outcome, tags, release, consumers, catalog)
    for topic, lines in found.topics.items():
        _print(topic, lines)
    _print("run", [f"would fail: {obstacle}" for obstacle in found.obstacles] or ["nothing known stands in its way"])
    return 1 if found.obstacles else 0


def _outcome(loaded: LoadedDescriptor, source: Sequence[str]) -> Outcome:
    texts = {step_id: StepText(read_text(path), shown(path)) for step_id, path in named_files(loaded).sql.items()}
    return outcome_of(loaded.descriptor.steps, texts, source)


def _print(topic: str, lines: Iterable[str]) -> None:
    for position, line in enumerate(lines):
        print(f"{topic if position == 0 else '':<{_WIDTH}}{line}")  # noqa: T201


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m pipeline_runtime plan",
        description="Say what a run would change, without doing it: the target's columns and partitions, its LF-tags, "
        "the registered contract, and what that means for the pipelines that read the target. Reads the catalog; "
        "starts no engine and reads no row.",
        epilog="exit codes: 0 nothing known stands in the run's way, 1 the run would fail, 2 the descriptor, a path or "
        "the catalog cannot be used",
        allow_abbrev=False,
    )
    parser.add_argument("descriptor", help="the descriptor, in <domain root>/pipelines/")
    parser.add_argument(
        "--consumers", nargs="+", default=[], metavar="path", help="folders with descriptors that may read the target"
    )
    return parser
