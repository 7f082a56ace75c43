"""Measuring a baseline: how a column's values are distributed, written so that a change of it can be reviewed.

The same data give the same text: edges are rounded to what tells bins apart, shares to six decimals that sum to
exactly one, one number a line.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from pipeline_runtime.engine.catalogs import quoted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = [
    "MAX_VALUES",
    "Distribution",
    "Unmeasurable",
    "equal_width",
    "in_bins",
    "of_values",
    "quantile_breaks",
    "shares",
]

#: More different values than this are no categories.
MAX_VALUES = 100
#: A share is a whole number of these.
_UNITS = 1_000_000
#: How finely Spark's quantiles are computed: a rank is off by at most one in this many.
_ACCURACY = 100_000


class Unmeasurable(ValueError):
    """The column has no distribution of the kind that was asked for; the text says why."""


@dataclass(frozen=True)
class Distribution:
    """How many values of a column are where.

    Continuous: `edges` rise, and `counts` has one for each bin [edge, next edge), the last bin closed; `tails` are
    the counts below and above. Categorical: `values`, sorted, and a count each. `nulls` were not counted, NULL and
    NaN alike.
    """

    counts: tuple[int, ...]
    nulls: int
    edges: tuple[float, ...] = ()
    values: tuple[str | int | bool, ...] = ()
    tails: tuple[int, int] = (0, 0)

    @property
    def counted(self) -> int:
        return sum(self.counts) + sum(self.tails)

    @property
    def empty(self) -> int:
        """Bins without a value: a single value there would make the divergence infinite."""
        return self.counts.count(0)

    def text(self, subject: str) -> str:
        """The baseline file: YAML, one number a line, what was measured in the comment above."""
        weights = shares([*self.counts, *self.tails])
        kind = "bin" if self.edges else "value"
        lines = [
            f"# {subject}: the share of each {kind}, of {self.counted:,} values.",
            f"# {self.nulls:,} NULL{'' if self.nulls == 1 else 's'} not counted.",
        ]
        lines += _listed("bins", self.edges) if self.edges else _listed("values", self.values)
        lines += _listed("weights", weights[: len(self.counts)])
        if any(self.tails):
            lines += _listed("tail_weights", weights[len(self.counts) :])
        return "\n".join(lines) + "\n"


def shares(counts: Sequence[int]) -> tuple[float, ...]:
    """Shares of one in six decimals. They sum to one, and what is there keeps a share, however rare it is.

    Raises Unmeasurable where there is nothing to share.
    """
    total = sum(counts)
    if not total:
        raise Unmeasurable("there are no values")
    units = [count * _UNITS // total for count in counts]
    # What rounding down left over goes to those that it cost most; of equals, to the first.
    by_loss = sorted(range(len(counts)), key=lambda place: -(counts[place] * _UNITS % total))
    for place in by_loss[: _UNITS - sum(units)]:
        units[place] += 1
    for place, count in enumerate(counts):
        if count and not units[place]:
            units[place] += 1
            units[units.index(max(units))] -= 1
    return tuple(unit / _UNITS for unit in units)


def quantile_breaks(frame: DataFrame, column: str, bins: int) -> tuple[float, ...]:
    """Edges between which about equally many values lie; fewer than asked for where values repeat that much."""
    from pyspark.sql import functions as F  # noqa: N812

    low, high = _extremes(frame, column)
    ranks = [place / bins for place in range(1, bins)]
    row = frame.where(_known(column)).select(F.percentile_approx(_number(column), ranks, _ACCURACY)).first()
    assert row is not None  # noqa: S101
    return _edges([low, *row[0], high], bins)


def equal_width(frame: DataFrame, column: str, bins: int) -> tuple[float, ...]:
    """Edges that are equally far apart, from the lowest value to the highest."""
    low, high = _extremes(frame, column)
    return _edges([low + (high - low) * place / bins for place in range(bins + 1)], bins)


def in_bins(frame: DataFrame, column: str, edges: Sequence[float]) -> Distribution:
    """How many values lie in each bin, in one pass. Raises Unmeasurable for edges that do not rise."""
    from pyspark.sql import functions as F  # noqa: N812

    if len(edges) < 2 or any(high <= low for low, high in pairwise(edges)):
        raise Unmeasurable(f"edges rise, and there are at least two: {', '.join(map(str, edges))}")
    value, known = _number(column), _known(column)
    last = len(edges) - 2
    within = [
        (value >= low) & ((value <= high) if place == last else (value < high))
        for place, (low, high) in enumerate(pairwise(edges))
    ]
    conditions = [*within, value < edges[0], value > edges[-1], F.lit(True)]
    counted = frame.select(
        *(F.count(F.when(known & condition, 1)) for condition in conditions), F.count(F.lit(1))
    ).first()
    assert counted is not None  # noqa: S101
    *counts, below, above, all_known, rows = counted
    return Distribution(tuple(counts), nulls=rows - all_known, edges=tuple(map(float, edges)), tails=(below, above))


def of_values(frame: DataFrame, column: str) -> Distribution:
    """How often each value occurs. Raises Unmeasurable for more than 100 different ones."""
    from pyspark.sql import functions as F  # noqa: N812

    found = frame.groupBy(F.col(quoted(column)).alias("value")).agg(F.count(F.lit(1)).alias("n"))
    counts = {row.value: row.n for row in found.limit(MAX_VALUES + 2).collect()}
    nulls = counts.pop(None, 0)
    if len(counts) > MAX_VALUES:
        raise Unmeasurable(f"column {column} has more than {MAX_VALUES} different values; those are no categories")
    values = sorted(counts)
    return Distribution(tuple(counts[value] for value in values), nulls=nulls, values=tuple(values))


def _number(column: str) -> Any:
    from pyspark.sql import functions as F  # noqa: N812

    return F.col(quoted(column)).cast("double")


def _known(column: str) -> Any:
    from pyspark.sql import functions as F  # noqa: N812

    return _number(column).isNotNull() & ~F.isnan(_number(column))


def _extremes(frame: DataFrame, column: str) -> tuple[float, float]:
    from pyspark.sql import functions as F  # noqa: N812

    row = frame.where(_known(column)).select(F.min(_number(column)), F.max(_number(column))).first()
    assert row is not None  # noqa: S101
    low, high = row
    if low is None:
        raise Unmeasurable(f"column {column} has no values")
    if low == high:
        raise Unmeasurable(f"column {column} has one value only, {low:g}; that is no distribution")
    return low, high


def _edges(points: Sequence[float], bins: int) -> tuple[float, ...]:
    """The points, rounded to a hundredth of a bin's average width, outwards at both ends, each once."""
    exact = [Decimal(repr(float(point))) for point in points]
    width = (exact[-1] - exact[0]) / bins
    step = Decimal(1).scaleb(width.adjusted() - 2)
    rounded = [
        (exact[0] / step).to_integral_value(ROUND_FLOOR),
        *((point / step).to_integral_value(ROUND_HALF_EVEN) for point in exact[1:-1]),
        (exact[-1] / step).to_integral_value(ROUND_CEILING),
    ]
    return tuple(float(edge * step) for edge in sorted(set(rounded)))


def _listed(key: str, items: Sequence[object]) -> list[str]:
    # JSON's text and truth values are YAML's, and read back as what they are.
    return [f"{key}:", *(f"  - {json.dumps(item, ensure_ascii=False)}" for item in items)]
