"""Holding an output to the columns that the target's contract declares: its shape before anything is written, its
NULLs before anything is published.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pipeline_runtime.engine.catalogs import quoted
from pipeline_runtime.errors import ContractBroken
from pipeline_runtime.schema.columns import Schema
from pipeline_runtime.schema.types import loosened, same

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from pipeline_runtime.schema.meaning import DeclaredColumn

__all__ = ["check_declared", "check_not_null", "names_problems"]


def check_declared(output: Schema, declared: Sequence[DeclaredColumn], fqn: str) -> None:
    """Raises ContractBroken, with every difference, unless the output has exactly the declared columns and types.

    Order, case and `not null` inside a type do not count. Nothing is declared where `declared` is empty.
    """
    if not declared:
        return
    problems = [*names_problems(output.names, declared), *_retyped(output, declared)]
    if problems:
        raise ContractBroken(
            f"{fqn}: the output is not what target.contract.columns declares. Diff: {'; '.join(problems)}. Nothing was "
            "written. Correct the last step's SELECT, or the declaration, which consumers rely on."
        )


def names_problems(output: Sequence[str], declared: Sequence[DeclaredColumn]) -> Iterator[str]:
    """What the output has too much or too little, by name alone."""
    wanted = {column.name.casefold(): column for column in declared}
    held = {name.casefold() for name in output}
    missing = [column for name, column in wanted.items() if name not in held]
    for name in output:
        if name.casefold() not in wanted:
            near = difflib.get_close_matches(name.casefold(), [column.name for column in missing], n=1)
            yield f"+ {name}, not declared" + (f" (did you mean {near[0]}?)" if near else "")
    yield from (f"- {column.name} ({column.type}), not in the output" for column in missing)


def check_not_null(rows: DataFrame, declared: Sequence[DeclaredColumn], fqn: str) -> None:
    """Raises ContractBroken for NULLs in columns that the contract says have none: one aggregate over the batch."""
    from pyspark.sql import functions as F  # noqa: N812

    required = [column.name for column in declared if not column.nullable]
    if not required:
        return
    counts = rows.agg(F.count("*"), *(F.count(quoted(name)) for name in required)).collect()[0]
    broken = [
        f"{name} is NULL in {counts[0] - filled:,} of {counts[0]:,} rows"
        for name, filled in zip(required, counts[1:], strict=True)
        if filled < counts[0]
    ]
    if broken:
        raise ContractBroken(
            f"{fqn}: target.contract.columns says nullable: false, and {'; '.join(broken)}. Nothing was published. "
            "Filter or fill these rows in a step, or declare the column nullable, which breaks its consumers."
        )


def _retyped(output: Schema, declared: Sequence[DeclaredColumn]) -> Iterator[str]:
    for column in declared:
        held = output.find(column.name)
        if held is not None and not same(loosened(held.type), loosened(column.type)):
            yield f"~ {column.name}: the output's {held.type} is declared as {column.type}"
