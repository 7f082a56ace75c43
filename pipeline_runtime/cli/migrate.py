"""`python -m pipeline_runtime migrate`: rewrites v1 descriptors to v2, comments and order kept."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from pipeline_runtime.cli.descriptors import changes, find_descriptors, replace_file, shown
from pipeline_runtime.descriptor.load import ANY_KINDS, load
from pipeline_runtime.descriptor.rewrite import V1, V2, migrated
from pipeline_runtime.errors import UsageError

__all__ = ["main"]


def main(argv: Sequence[str]) -> int:
    """Shows what would change, and with --write changes it. 0, with --check 1 where a file is v1, 2 for a bad path."""
    try:
        options = _parser().parse_args(argv)
    except SystemExit as stop:
        return int(stop.code or 0)
    paths, missing = find_descriptors([Path(path) for path in options.paths])
    for problem in missing:
        print(problem, file=sys.stderr)  # noqa: T201
    old = wrong = 0
    for path in paths:
        try:
            old += _migrate(path, write=options.write)
        except UsageError as error:
            wrong += 1
            print(error, file=sys.stderr)  # noqa: T201
    print(_summary(old, len(paths) - old - wrong, wrong, options))  # noqa: T201
    if wrong or missing:
        return 2
    return 1 if options.check and old else 0


def _migrate(path: Path, *, write: bool) -> bool:
    """Whether the file was of v1; prints its diff then. Raises DescriptorError, UsageError."""
    loaded = load(path, ANY_KINDS, shown(path))
    if loaded.descriptor.apiVersion != V1:
        return False
    before = path.read_bytes()
    after = migrated(loaded, before)
    print(changes(before, after, shown(path)))  # noqa: T201
    if write:
        replace_file(path, after)
    return True


def _summary(old: int, others: int, wrong: int, options: argparse.Namespace) -> str:
    done = "rewritten to" if options.write else "would become"
    parts = [f"{old} {'file' if old == 1 else 'files'} {done} {V2}"]
    parts += [f"{others} left alone"] if others else []
    parts += [f"{wrong} with problems"] if wrong else []
    hint = "; --write rewrites them" if old and not options.write and not options.check else ""
    return ", ".join(parts) + hint


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m pipeline_runtime migrate",
        description="Rewrite descriptors of cordata.tech/v1 to cordata.tech/v2 and show the difference. Comments, "
        "order and everything else stay as they are. v1 files keep running; nothing has to be rewritten.",
        epilog="exit codes: 0 done, 1 --check found a v1 file, 2 a file cannot be read or rewritten",
        allow_abbrev=False,
    )
    parser.add_argument("paths", nargs="+", metavar="file", help="a descriptor, or a folder: its pipelines/*.yml")
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument("--write", action="store_true", help="change the files")
    choice.add_argument("--check", action="store_true", help="change nothing; end with 1 where a file is v1")
    return parser
