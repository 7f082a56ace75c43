"""`python -m pipeline_runtime validate`: what a pull request can know without an engine; with --catalog, all of it."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline_runtime.cli.descriptors import find_descriptors, shown
from pipeline_runtime.descriptor.files import FoundFiles, find_files, read_text
from pipeline_runtime.descriptor.load import LoadedDescriptor, load
from pipeline_runtime.errors import DescriptorError, FileProblem, PipelineError, Problem, SuiteError
from pipeline_runtime.quality.suite import Suite, check_columns, load_suite
from pipeline_runtime.schema.recorded import load_recorded, recorded_path
from pipeline_runtime.steps.outcome import Outcome, StepText, outcome_of
from pipeline_runtime.steps.python_module import check_module
from pipeline_runtime.steps.sql_guard import check_sql
from pipeline_runtime.writers.contract import names_problems

if TYPE_CHECKING:
    from pipeline_runtime.catalog_checks import CatalogChecks
    from pipeline_runtime.schema.columns import Schema

__all__ = ["main", "problems_of"]


def main(argv: Sequence[str]) -> int:
    """Checks the descriptors that `argv` names and prints one line each, or their problems. Returns 0 or 2."""
    options = _parser().parse_args(argv)
    descriptors, missing = find_descriptors([Path(path) for path in options.paths])
    failed = 0
    try:
        with _catalog(options.catalog) as catalog:
            for descriptor in descriptors:
                verdict = _judge(descriptor, catalog)
                failed += bool(verdict.problems)
                print("\n".join(map(str, verdict.problems)) or verdict.line)  # noqa: T201
    except PipelineError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)  # noqa: T201
        return 2
    for problem in missing:
        print(problem)  # noqa: T201
    if descriptors:
        checked = f"{len(descriptors)} descriptor{'s' if len(descriptors) > 1 else ''} checked"
        print(f"{checked}, {f'{failed} with problems' if failed else 'no problems'}")  # noqa: T201
    return 2 if failed or missing else 0


def problems_of(path: Path) -> list[Problem]:
    """Everything wrong with the descriptor at `path` and with the files it names, as far as files can tell."""
    return list(_judge(path, None).problems)


@dataclass(frozen=True)
class _Verdict:
    problems: tuple[Problem, ...]
    line: str = ""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m pipeline_runtime validate",
        description="Check descriptors with the SQL, Python modules, suites, baselines and recorded schemas they name, "
        "and whether the columns that the SQL reads, the suite judges and the contract promises are there. Needs no "
        "engine and no AWS; --catalog asks what only AWS knows.",
        epilog="exit codes: 0 no problems, 2 a problem, a path that leads to no descriptor, or no catalog to ask",
        allow_abbrev=False,
    )
    parser.add_argument(
        "paths", nargs="+", metavar="path", help="a descriptor, or a folder: its pipelines/*.yml are read"
    )
    parser.add_argument(
        "--catalog",
        action="store_true",
        help="ask the Glue Data Catalog whether pins are current, and Lake Formation whether it knows the LF-tags "
        "[AWS_REGION, CORDATA_GOVERNANCE_CATALOG]",
    )
    return parser


def _catalog(wanted: bool) -> AbstractContextManager[CatalogChecks | None]:
    if not wanted:
        return nullcontext()
    from pipeline_runtime.catalog_checks import open_catalog_checks

    return open_catalog_checks(os.environ)


def _judge(path: Path, catalog: CatalogChecks | None) -> _Verdict:
    name = shown(path)
    try:
        loaded = load(path, shown_as=name)
    except DescriptorError as error:
        return _Verdict(error.problems)
    metadata = loaded.descriptor.metadata
    problems: list[Problem] = []
    notes: list[str] = []
    source = _recorded(loaded, problems.append)
    if catalog is not None:
        found = catalog.check(loaded)
        problems += found.problems
        source = source or found.pinned
        notes += [found.pin] if found.pin else []
    outcome = _check_files(loaded, source, problems.append)
    if catalog is not None and outcome.columns is None:
        notes.append(f"its columns cannot be told: {outcome.reason}")
    line = "  ".join([f"OK  {name}  {metadata.name} ({metadata.domain})", *notes])
    return _Verdict(tuple(sorted(set(problems))), line)


def _check_files(loaded: LoadedDescriptor, source: Schema | None, report: Callable[[Problem], None]) -> Outcome:
    """Reports what is wrong with the files; returns what is known about the columns that come out."""
    found = find_files(loaded)
    for problem in found.problems:
        report(problem)
    for path in found.modules.values():
        for problem in check_module(read_text(path), shown(path)):
            report(problem)
    texts = _sound_texts(loaded, found, report)
    suite: Suite | None = None
    try:
        suite = load_suite(found.suite, loaded.domain_root, shown(found.suite)) if found.suite else None
    except SuiteError as error:
        for problem in error.problems:
            report(problem)
    outcome = outcome_of(loaded.descriptor.steps, texts, None if source is None else source.names)
    last = loaded.descriptor.steps[-1].id
    for problem in (*outcome.problems, *_problems_of_output(loaded, outcome, suite, texts.get(last))):
        report(problem)
    return outcome


def _sound_texts(loaded: LoadedDescriptor, found: FoundFiles, report: Callable[[Problem], None]) -> dict[str, StepText]:
    """The SQL steps' texts, those that are one plain SELECT; the others are reported."""
    texts = {}
    for step in loaded.descriptor.steps:
        if step.id in found.sql:
            text, shown_as = read_text(found.sql[step.id]), shown(found.sql[step.id])
            problems = check_sql(text, shown_as, step.params)
            for problem in problems:
                report(problem)
            # A param that does not fit changes no column.
            texts[step.id] = StepText(text, shown_as)
    return texts


def _problems_of_output(
    loaded: LoadedDescriptor, outcome: Outcome, suite: Suite | None, last: StepText | None
) -> Iterator[Problem]:
    """Where the output's columns are certain, those that the target, the suite and the contract need are among them."""
    if outcome.columns is None:
        return
    shown_as = loaded.document.shown_as if last is None else last.shown_as
    names = {column.lower() for column in outcome.columns}
    for column in loaded.descriptor.target.partition_by:
        if column not in names:
            selected = ", ".join(outcome.columns)
            yield Problem(
                shown_as, 0, f"selects no {column}, by which the target is partitioned; it selects {selected}"
            )
    if suite is not None:
        yield from check_columns(suite, outcome.columns)
    declared = loaded.descriptor.contract.columns
    for difference in names_problems(outcome.columns, declared) if declared else ():
        message = f"target.contract.columns: the last step's output differs: {difference}"
        yield Problem(loaded.document.shown_as, loaded.contract_line("columns"), message)


def _recorded(loaded: LoadedDescriptor, report: Callable[[Problem], None]) -> Schema | None:
    """The columns that the pin means, as the domain recorded them. None where it did not: the catalog may know."""
    source = loaded.descriptor.source
    recorded = recorded_path(loaded.domain_root, source.database, source.table, source.schema_version)
    try:
        return load_recorded(recorded, shown(recorded)).schema if recorded.exists() else None
    except FileProblem as error:
        for problem in error.problems:
            report(problem)
        return None
