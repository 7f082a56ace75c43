"""What differs between the columns and the partitions of two outputs. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pipeline_runtime.compare.findings import Finding
from pipeline_runtime.schema.columns import Schema
from pipeline_runtime.schema.diff import diff

__all__ = ["compare_partitions", "compare_schemas"]


def compare_schemas(first: Schema, second: Schema) -> list[Finding]:
    """Columns added, removed, retyped, of other nullness; then those in another order or spelling."""
    findings = [Finding("schema", str(change)) for change in diff(first, second)]
    shared = [[column.name for column in side if other.find(column.name)] for side, other in _both_ways(first, second)]
    if shared[0] != shared[1]:
        findings.append(Finding("schema", f"columns {', '.join(shared[0])} → {', '.join(shared[1])}"))
    return findings


def compare_partitions(
    first: tuple[Sequence[str], Mapping[str, int]], second: tuple[Sequence[str], Mapping[str, int]]
) -> list[Finding]:
    """`first` and `second` are what an output is partitioned by, and its rows by partition."""
    return list(_partition_findings(*first, *second))


def _partition_findings(
    columns: Sequence[str], rows: Mapping[str, int], other_columns: Sequence[str], other_rows: Mapping[str, int]
) -> Iterator[Finding]:
    if list(columns) != list(other_columns):
        yield Finding(
            "partitions", f"by {', '.join(columns) or 'nothing'} → by {', '.join(other_columns) or 'nothing'}"
        )
        return
    for name in sorted({*rows, *other_rows}):
        if name not in other_rows:
            yield Finding("partitions", f"{name} only in the first, {rows[name]:,} rows")
        elif name not in rows:
            yield Finding("partitions", f"{name} only in the second, {other_rows[name]:,} rows")
        elif rows[name] != other_rows[name]:
            yield Finding("partitions", f"{name}: {rows[name]:,} rows → {other_rows[name]:,} rows")


def _both_ways(first: Schema, second: Schema) -> tuple[tuple[Schema, Schema], tuple[Schema, Schema]]:
    return (first, second), (second, first)
