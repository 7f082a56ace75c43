"""Writes the manual's list of errors: `python -m pipeline_runtime.operations.generate docs/operations.md`.

The list lies between two markers; everything else in the file is written by hand.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from pipeline_runtime.errors import PipelineError
from pipeline_runtime.operations.guide import GUIDE

__all__ = ["anchor", "error_classes", "error_list", "error_tree", "main", "parent_of", "with_errors"]

_BEGIN, _END = "<!-- errors: generated -->", "<!-- errors: end -->"


def error_classes(top: type[PipelineError] = PipelineError) -> set[type[PipelineError]]:
    """Every class that a run can end with, as far as imported: not those that only hold code (`_…`)."""
    below = {each for direct in top.__subclasses__() for each in error_classes(direct)}
    return below if top.__name__.startswith("_") else below | {top}


def parent_of(error: type[PipelineError]) -> type[PipelineError] | None:
    """The class above it in the tree, None for the root."""
    above = (each for each in error.__mro__[1:] if issubclass(each, PipelineError))
    return next((each for each in above if not each.__name__.startswith("_")), None)


def error_tree(top: type[PipelineError] = PipelineError, depth: int = 0) -> Iterator[tuple[int, type[PipelineError]]]:
    """The entries of the guide with their depth below the root, each before those below it."""
    yield depth, top
    for error in GUIDE:
        if parent_of(error) is top:
            yield from error_tree(error, depth + 1)


def error_list() -> str:
    """The manual's part on errors, in Markdown: an overview, then a section for each."""
    return "\n\n".join(["\n".join(_overview()), *(_section(error) for _, error in error_tree())])


def with_errors(document: str) -> str:
    """The document with the list as it should be. Raises ValueError where it has no place for one."""
    before, begin, rest = document.partition(_BEGIN)
    _, end, after = rest.partition(_END)
    if not begin or not end:
        raise ValueError(f"the document needs the lines {_BEGIN} and {_END}, in this order")
    return f"{before}{_BEGIN}\n\n{error_list()}\n\n{_END}{after}"


def anchor(heading: str) -> str:
    """The link to a heading of the same page, as GitHub makes it."""
    return "#" + heading.lower().replace(" ", "-")


def main(path: str) -> None:
    """Writes the list into the file."""
    file = Path(path)
    file.write_text(with_errors(file.read_text("utf-8")), "utf-8")


def _overview() -> Iterator[str]:
    yield "| error | exit code | who acts |"
    yield "|---|---|---|"
    for depth, error in error_tree():
        name = f"[{error.__name__}]({anchor(error.__name__)})"
        yield f"| {'&nbsp;' * 4 * depth}{name} | {error.exit_code} | {GUIDE[error].actor.value} |"


def _section(error: type[PipelineError]) -> str:
    advice = GUIDE[error]
    lines = [
        f"### {error.__name__}",
        "",
        f"- **Cause:** {advice.cause}",
        f"- **Who acts:** {advice.actor.value}",
        f"- **What to do:** {advice.remedy}",
    ]
    if advice.runbook is not None:
        lines.append(f"- **Runbook:** [{advice.runbook}]({anchor(advice.runbook)})")
    return "\n".join(lines)


if __name__ == "__main__":
    main(sys.argv[1])
