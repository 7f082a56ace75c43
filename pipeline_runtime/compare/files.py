"""Whether two outputs are made of the same files, byte for byte."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

from pipeline_runtime.compare.findings import Finding
from pipeline_runtime.compare.footers import meaning

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["compare_files"]

#: A parquet file ends with its footer, the footer's size as a little-endian number of four bytes, and a mark.
_IS_PARQUET = "substring(content, length(content) - 3, 4) = CAST('PAR1' AS binary) AND pages > 0"
_SIZE = "hex(substring(content, length(content) - 7, 4))"
_FOOTER_SIZE = (
    f"CAST(conv(concat_ws('', {', '.join(f'substring({_SIZE}, {at}, 2)' for at in (7, 5, 3, 1))}), 16, 10) AS int)"
)


def compare_files(spark: SparkSession, first: Mapping[str, str], second: Mapping[str, str]) -> list[Finding]:
    """`first` and `second` are each file's partition by its address. Names do not count: Spark draws a number for
    each write and puts it in there. What must agree is the contents, one for one, in each partition; of a parquet
    footer not the order in which it lists a column's encodings (`footers`).
    """
    digests = _digests(spark, [*first, *second])
    sides = [_by_partition(files, digests) for files in (first, second)]
    findings = []
    for name in sorted({*sides[0], *sides[1]}):
        before, after = (side.get(name, Counter()) for side in sides)
        if before == after:
            continue
        where = f"{name}: " if name else ""
        if before.total() != after.total():
            findings.append(Finding("files", f"{where}{_count(before.total())} → {_count(after.total())}"))
        else:
            different = (before - after).total()
            differ = "differs in its bytes" if different == 1 else "differ in their bytes"
            findings.append(Finding("files", f"{where}{different} of {_count(before.total())} {differ}"))
    return findings


def _by_partition(files: Mapping[str, str], digests: Mapping[str, str]) -> dict[str, Counter[str]]:
    found: dict[str, Counter[str]] = {}
    for file, partition in files.items():
        found.setdefault(partition, Counter())[digests[file]] += 1
    return found


def _digests(spark: SparkSession, files: list[str]) -> dict[str, str]:
    """By address, what tells contents apart, computed where the files are read. Each is read whole: 2 GB at most."""
    if not files:
        return {}
    # Addresses are taken as they are, no character of theirs is a pattern.
    read = spark.read.format("binaryFile").option("__globPaths__", "false").load(sorted(set(files)))
    parts = read.selectExpr("path", "content", f"length(content) - 8 - {_FOOTER_SIZE} AS pages").selectExpr(
        "path",
        f"CASE WHEN {_IS_PARQUET} THEN sha2(substring(content, 1, pages), 256) ELSE sha2(content, 256) END AS before",
        f"CASE WHEN {_IS_PARQUET} THEN substring(content, pages + 1, length(content) - pages - 8) END AS footer",
    )
    # Hadoop spells `file:/` where others write `file:///`.
    by_path = {_plain(row["path"]): _digest(row["before"], row["footer"]) for row in parts.collect()}
    # Spark passes over files without a byte.
    return {file: by_path.get(_plain(file), "") for file in files}


def _digest(before: str, footer: bytearray | None) -> str:
    """Of a parquet file: its pages byte for byte, and all that its footer says. Of any other: its bytes."""
    if footer is None:
        return before
    try:
        said = repr(meaning(bytes(footer))).encode()
    except ValueError:
        said = bytes(footer)
    return f"{before} {hashlib.sha256(said).hexdigest()}"


def _plain(address: str) -> str:
    scheme, _, path = address.partition(":")
    return f"{scheme}:{path.lstrip('/')}"


def _count(files: int) -> str:
    return f"{files} file{'' if files == 1 else 's'}"
