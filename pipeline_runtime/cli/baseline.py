"""`baseline`: computes a baseline from a table's column, for a KL-divergence expectation to compare with."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline_runtime.catalog.locations import bucket_root
from pipeline_runtime.engine.catalogs import catalog_name
from pipeline_runtime.engine.session import build_session, session_settings
from pipeline_runtime.engine.spark_error import failures, short_message
from pipeline_runtime.errors import PipelineError, UsageError
from pipeline_runtime.quality.measured import (
    Distribution,
    Unmeasurable,
    equal_width,
    in_bins,
    of_values,
    quantile_breaks,
)
from pipeline_runtime.quality.values import closest

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from pipeline_runtime.catalog.table import PinnedSource
    from pipeline_runtime.deployment import SparkStarter

__all__ = ["main"]

_CATEGORIES = ("string", "boolean")
_WHOLE_NUMBERS = ("tinyint", "smallint", "int", "bigint")
_NUMBERS = (*_WHOLE_NUMBERS, "float", "double", "decimal")


def main(argv: Sequence[str], *, start_spark: SparkStarter = build_session) -> int:
    """0 where the baseline is written, 1 where the column has none, 2 where the command line cannot be used."""
    try:
        options = _parser().parse_args(argv)
    except SystemExit as stop:
        return int(stop.code or 0)
    try:
        found = _measured(options, start_spark)
    except (PipelineError, Unmeasurable) as error:
        sys.stderr.write(f"{options.table}: {error}\n")
        return error.exit_code if isinstance(error, PipelineError) else 1
    except failures() as error:
        sys.stderr.write(f"{options.table}: Spark failed: {short_message(error)}\n")
        return 1
    return _written(options.out, found.text(f"{options.table}, column {options.column}"), found)


def _measured(options: argparse.Namespace, start_spark: SparkStarter) -> Distribution:
    source, account = _source(options.table)
    identity = source.table.identity
    known = {column.name.casefold(): column for column in source.table.schema}
    column = known.get(options.column.casefold())
    if column is None:
        names = [each.name for each in source.table.schema]
        raise UsageError(
            f"there is no column {options.column}; there are {', '.join(names)}.{closest(options.column, names)}"
        )
    family = column.type.partition("(")[0]
    categorical = options.values or family in _CATEGORIES
    if family not in ((*_CATEGORIES, *_WHOLE_NUMBERS) if categorical else _NUMBERS):
        wanted = "whole numbers, text or truth values" if categorical else "numbers, text or truth values"
        raise UsageError(f"column {column.name} is {column.type}; a distribution of this kind needs {wanted}")
    if categorical and (options.breaks or options.equal_width):
        raise UsageError(f"column {column.name} is {column.type} and has values, no bins; leave --breaks and the like")
    settings = session_settings(
        warehouse=bucket_root(source.table.location),
        foreign_accounts=(identity.account,) if identity.account != account else (),
        endpoint=os.environ.get("AWS_ENDPOINT_URL"),
    )
    spark = start_spark(f"baseline of {identity.fqn}", settings)
    from pipeline_runtime.readers.glue_table import read_glue_table

    frame = read_glue_table(spark, source, catalog_name(identity, account))
    return of_values(frame, column.name) if categorical else _in_bins(frame, column.name, options)


def _in_bins(frame: DataFrame, column: str, options: argparse.Namespace) -> Distribution:
    if options.breaks:
        return in_bins(frame, column, options.breaks)
    choose = equal_width if options.equal_width else quantile_breaks
    return in_bins(frame, column, choose(frame, column, options.bins))


def _source(name: str) -> tuple[PinnedSource, str]:
    """The table as it is now, and the job's own account. Raises UsageError, CatalogError."""
    from pipeline_runtime.readers.unpinned import current_source

    database, _, table = name.partition(".")
    if not database or not table:
        raise UsageError("a table is named <database>.<table>")
    return current_source(database, table, os.environ)


def _written(path: Path, text: str, found: Distribution) -> int:
    try:
        before = path.read_text("utf-8") if path.exists() else None
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    except OSError as error:
        sys.stderr.write(f"{path}: {error.strerror or error}\n")
        return 2
    what = f"{len(found.counts)} {'bins' if found.edges else 'values'} from {found.counted:,} values"
    state = "written" if before is None else "unchanged" if before == text else "changed; review its diff"
    print(f"{path}: {what}, {found.nulls:,} NULLs not counted: {state}")  # noqa: T201
    if found.empty:
        print(f"{found.empty} bins are empty: one value there makes the divergence infinite; join them")  # noqa: T201
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m pipeline_runtime baseline",
        description="Computes the distribution of a column, as the file that a suite's partition_object names. Text "
        "and truth values are categories; numbers are put into bins, which hold about equally many values each.",
        epilog="exit codes: 0 written, 1 the table or the column has no such distribution, 2 the command line cannot "
        "be used. Review the file like any other change: it says which distribution is fine.",
        allow_abbrev=False,
    )
    parser.add_argument("table", metavar="database.table", help="a table in the Glue Data Catalog")
    parser.add_argument("--column", required=True, help="whose values are measured")
    parser.add_argument("--out", type=Path, required=True, help="where to write it: baselines/<name>.yml")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--bins", type=_count, default=10, help="how many bins [10]")
    how.add_argument("--breaks", type=_numbers, help="the edges of the bins instead, such as 0,0.5,1")
    parser.add_argument("--equal-width", action="store_true", help="bins are equally wide instead of equally full")
    parser.add_argument("--values", action="store_true", help="numbers are categories too: codes, not amounts")
    return parser


def _count(text: str) -> int:
    number = int(text)
    if not 2 <= number <= 1000:
        raise argparse.ArgumentTypeError(f"{text} is not from 2 to 1000")
    return number


def _numbers(text: str) -> list[float]:
    return [float(part) for part in text.split(",")]
