"""Whether two outputs are made of the same files, byte for byte."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

from pipeline_runtime.compare.findings import Finding

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["compare_files"]


def compare_files(spark: SparkSession, first: Mapping[str, str], second: Mapping[str, str]) -> list[Finding]:
    """`first` and `second` are each file's partition by its address. Names do not count: Spark draws a number for
    each write and puts it in there. What must agree is the contents, one for one, in each partition.
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
    """SHA-256 by address, computed where the files are read. Each is read whole: 2 GB at most."""
    from pyspark.sql import functions as F  # noqa: N812

    if not files:
        return {}
    # Addresses are taken as they are, no character of theirs is a pattern.
    read = spark.read.format("binaryFile").option("__globPaths__", "false").load(sorted(set(files)))
    found = {
        row["path"]: row["digest"] for row in read.select("path", F.sha2("content", 256).alias("digest")).collect()
    }
    # Hadoop spells `file:/` where others write `file:///`.
    by_path = {_plain(path): digest for path, digest in found.items()}
    return {file: by_path[_plain(file)] for file in files}


def _plain(address: str) -> str:
    scheme, _, path = address.partition(":")
    return f"{scheme}:{path.lstrip('/')}"


def _count(files: int) -> str:
    return f"{files} file{'' if files == 1 else 's'}"
