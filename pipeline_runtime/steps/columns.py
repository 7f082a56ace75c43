"""What holds for the columns of every step's answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline_runtime.errors import OutputRefused

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["refuse_columns_given_twice"]


def refuse_columns_given_twice(answer: DataFrame, step_id: str, shown_as: str) -> None:
    """Raises OutputRefused where two columns have one name, but for its case: no table could hold both."""
    spellings: dict[str, list[str]] = {}
    for column in answer.columns:
        spellings.setdefault(column.casefold(), []).append(column)
    twice = [names for names in spellings.values() if len(names) > 1]
    if twice:
        listed = "; ".join(f"{names[0]} ({', '.join(names)})" for names in twice)
        raise OutputRefused(
            f"step {step_id} ({shown_as}) returns columns more than once, case does not count: {listed}. "
            "Select each once, or give the other a name of its own with AS."
        )
