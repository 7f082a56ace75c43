"""`python -m pipeline_runtime schema`: prints the JSON Schema of a kind of file, for editors and other tools."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from pipeline_runtime.json_schemas import NAMES, schema_text

__all__ = ["main"]


def main(argv: Sequence[str]) -> int:
    """Prints the schema, or without a name what there is. 2 for a name that is none."""
    try:
        name = _parser().parse_args(argv).name
    except SystemExit as stop:
        return int(stop.code or 0)
    if name is None:
        print("\n".join(f"{name:<15}{what}" for name, what in NAMES.items()))  # noqa: T201
    else:
        sys.stdout.write(schema_text(name))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m pipeline_runtime schema",
        description="Print the JSON Schema of a kind of file. An editor that is shown it completes and checks such "
        "files while they are written: write `# yaml-language-server: $schema=<path or address>` as the first line.",
        allow_abbrev=False,
    )
    parser.add_argument("name", nargs="?", choices=tuple(NAMES), help="the kind of file; without one, all are listed")
    return parser
