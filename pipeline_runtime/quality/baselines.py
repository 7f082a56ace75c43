"""Baselines: the distribution that a KL-divergence expectation compares with.

A continuous one has `bins` (edges, rising, one more than weights) and `weights`; a categorical one has
`values` and `weights`. Weights are shares of the non-NULL rows and sum to one; `tail_weights` (two shares,
below and above the bins) count towards that sum.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from pipeline_runtime.descriptor.files import confined
from pipeline_runtime.descriptor.yaml_source import YamlPath, load_yaml
from pipeline_runtime.errors import DescriptorError, Problem
from pipeline_runtime.quality.values import closest, frozen, is_number, shown

__all__ = ["baseline_path", "load_baseline", "partition_problems"]

#: Great Expectations' own tolerance; weights further off fail only once the batch is being judged.
SUM_TOLERANCE = 1e-5

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_KEYS = ("bins", "values", "weights", "tail_weights")

Found = tuple[YamlPath, str]


def baseline_path(name: str, domain_root: Path) -> Path:
    """The file of a named baseline.

    Raises ValueError, whose text is a sentence of its own.
    """
    if not _NAME.fullmatch(name):
        raise ValueError(f"{name!r} is not a baseline's name: letters, digits, _, - and . only")
    try:
        return confined(domain_root, f"baselines/{name}.yml")
    except ValueError as error:
        raise ValueError(f"baselines/{name}.yml {error}") from None


def load_baseline(path: Path, shown_as: str) -> tuple[object, list[Problem]]:
    """The partition object in a baseline file, frozen, and everything wrong with it."""
    try:
        document = load_yaml(path, shown_as)
    except DescriptorError as error:
        return None, list(error.problems)
    content = frozen(document.data)
    found = partition_problems(content)
    return content, [Problem(shown_as, document.line(where), message) for where, message in found]


def partition_problems(partition: object) -> list[Found]:
    """Everything wrong with a partition object, each with the place inside it."""
    if not isinstance(partition, Mapping):
        return [((), f"is {shown(partition)}; a mapping of bins or values, and weights, is expected")]
    if unknown := [key for key in partition if key not in _KEYS]:
        return [((key,), f"{key} is not known; allowed: {', '.join(_KEYS)}.{closest(key, _KEYS)}") for key in unknown]
    if ("bins" in partition) == ("values" in partition):
        return [((), "has either bins (numbers) or values (categories), and exactly one of them")]
    edges = "bins" if "bins" in partition else "values"
    found = _list_problems(partition, edges, _is_edge if edges == "bins" else _is_value)
    found += _list_problems(partition, "weights", _is_weight)
    if "tail_weights" in partition:
        found += _list_problems(partition, "tail_weights", _is_weight)
    return found or _shape_problems(partition, edges)


def _is_edge(value: object) -> bool:
    return is_number(value)


def _is_value(value: object) -> bool:
    return isinstance(value, str | bool) or is_number(value)


def _is_weight(value: object) -> bool:
    return is_number(value) and 0 <= value <= 1


_WANTED = {
    "bins": "numbers",
    "values": "texts, numbers or truth values",
    "weights": "numbers from 0 to 1",
    "tail_weights": "numbers from 0 to 1",
}


def _list_problems(partition: Mapping[str, object], key: str, fits: Callable[[object], bool]) -> list[Found]:
    items = partition.get(key)
    if not isinstance(items, Sequence) or isinstance(items, str) or not items:
        what = "is missing" if key not in partition else f"is {shown(items)}" if items else "is empty"
        return [((key,), f"{key} {what}; a list of {_WANTED[key]} is expected")]
    return [
        ((key, place), f"{key}[{place}] is {shown(item)}; {_WANTED[key]} are expected")
        for place, item in enumerate(items)
        if not fits(item)
    ]


def _shape_problems(partition: Mapping[str, Sequence[float]], edges: str) -> list[Found]:
    weights, tails = partition["weights"], partition.get("tail_weights", ())
    found = _bin_problems(partition) if edges == "bins" else _value_problems(partition)
    if tails and (edges == "values" or len(tails) != 2):
        found.append((("tail_weights",), "tail_weights are two shares, below and above the bins"))
    elif tails and not (math.isfinite(partition["bins"][0]) and math.isfinite(partition["bins"][-1])):
        found.append((("tail_weights",), "tail_weights need finite bins; infinite ones have no tails"))
    total = math.fsum(weights) + math.fsum(tails)
    if abs(total - 1) > SUM_TOLERANCE:
        found.append((("weights",), f"weights sum to {total:.6g}, not to 1; scale them"))
    return found


def _bin_problems(partition: Mapping[str, Sequence[float]]) -> list[Found]:
    bins, weights = partition["bins"], partition["weights"]
    found: list[Found] = []
    if len(bins) != len(weights) + 1:
        found.append((("bins",), f"{len(bins)} bin edges for {len(weights)} weights; one edge more than weights"))
    for place in range(1, len(bins)):
        if bins[place] <= bins[place - 1]:
            found.append((("bins", place), f"bins[{place}] is {bins[place]}, after {bins[place - 1]}; edges rise"))
    return found


def _value_problems(partition: Mapping[str, Sequence[object]]) -> list[Found]:
    values, weights = partition["values"], partition["weights"]
    found: list[Found] = []
    if len(values) != len(weights):
        found.append((("values",), f"{len(values)} values for {len(weights)} weights; as many as weights"))
    if len(set(values)) != len(values):
        found.append((("values",), "a value is given twice"))
    if len({isinstance(value, str) for value in values}) > 1:
        found.append((("values",), "values mix texts with others; a column has one type"))
    return found
