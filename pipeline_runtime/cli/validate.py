"""`python -m pipeline_runtime validate`: what a pull request can know without an engine and without AWS."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pipeline_runtime.cli.descriptors import find_descriptors, shown
from pipeline_runtime.descriptor.files import find_files, read_text
from pipeline_runtime.descriptor.load import LoadedDescriptor, load
from pipeline_runtime.errors import DescriptorError, FileProblem, Problem, SuiteError
from pipeline_runtime.quality.suite import Suite, check_columns, load_suite
from pipeline_runtime.schema.recorded import load_recorded, recorded_path
from pipeline_runtime.steps.python_module import check_module
from pipeline_runtime.steps.sql_guard import check_sql, output_columns

__all__ = ["main", "problems_of"]


def main(argv: Sequence[str]) -> int:
    """Checks the descriptors that `argv` names and prints one line each, or their problems. Returns 0 or 2."""
    paths = [Path(path) for path in _parser().parse_args(argv).paths]
    descriptors, missing = find_descriptors(paths)
    failed = 0
    for descriptor in descriptors:
        verdict = _judge(descriptor)
        failed += bool(verdict.problems)
        print("\n".join(map(str, verdict.problems)) or verdict.line)  # noqa: T201
    for problem in missing:
        print(problem)  # noqa: T201
    if descriptors:
        checked = f"{len(descriptors)} descriptor{'s' if len(descriptors) > 1 else ''} checked"
        print(f"{checked}, {f'{failed} with problems' if failed else 'no problems'}")  # noqa: T201
    return 2 if failed or missing else 0


def problems_of(path: Path) -> list[Problem]:
    """Everything wrong with the descriptor at `path` and with the files it names, as far as files can tell."""
    return list(_judge(path).problems)


@dataclass(frozen=True)
class _Verdict:
    problems: tuple[Problem, ...]
    line: str = ""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m pipeline_runtime validate",
        description="Check descriptors with the SQL, Python modules, suites, baselines and recorded schemas they name. "
        "Needs no engine and no AWS; what only the catalog knows is checked by the run.",
        epilog="exit codes: 0 no problems, 2 a problem, or a path that leads to no descriptor",
        allow_abbrev=False,
    )
    parser.add_argument(
        "paths", nargs="+", metavar="path", help="a descriptor, or a folder: its pipelines/*.yml are read"
    )
    return parser


def _judge(path: Path) -> _Verdict:
    name = shown(path)
    try:
        loaded = load(path, shown_as=name)
    except DescriptorError as error:
        return _Verdict(error.problems)
    metadata = loaded.descriptor.metadata
    problems = tuple(sorted(set(_problems_of_files(loaded))))
    return _Verdict(problems, f"OK  {name}  {metadata.name} ({metadata.domain})")


def _problems_of_files(loaded: LoadedDescriptor) -> Iterator[Problem]:
    found = find_files(loaded)
    sql, suite_file = found.sql, found.suite
    yield from found.problems
    for path in found.modules.values():
        yield from check_module(read_text(path), shown(path))
    texts = {step_id: read_text(path) for step_id, path in sql.items()}
    for step in loaded.descriptor.steps:
        if step.id in texts:
            yield from check_sql(texts[step.id], shown(sql[step.id]), step.params)
    suite: Suite | None = None
    try:
        suite = load_suite(suite_file, loaded.domain_root, shown(suite_file)) if suite_file else None
    except SuiteError as error:
        yield from error.problems
    last = loaded.descriptor.steps[-1]
    if last.id in texts and (columns := output_columns(texts[last.id])) is not None:
        yield from _problems_of_output(loaded, columns, suite, shown(sql[last.id]))
    yield from _problems_of_pin(loaded)


def _problems_of_output(
    loaded: LoadedDescriptor, columns: Sequence[str], suite: Suite | None, shown_as: str
) -> Iterator[Problem]:
    """Where the last step's columns are certain, those that the target and the suite need must be among them."""
    names = {column.lower() for column in columns}
    for column in loaded.descriptor.target.partition_by:
        if column not in names:
            message = f"selects no {column}, by which the target is partitioned; it selects {', '.join(columns)}"
            yield Problem(shown_as, 0, message)
    if suite is not None:
        yield from check_columns(suite, columns)


def _problems_of_pin(loaded: LoadedDescriptor) -> Iterator[Problem]:
    """A recorded schema is optional here: the catalog may know the version. A wrong one is wrong anyway."""
    source = loaded.descriptor.source
    recorded = recorded_path(loaded.domain_root, source.database, source.table, source.schema_version)
    if recorded.exists():
        try:
            load_recorded(recorded, shown(recorded))
        except FileProblem as error:
            yield from error.problems
