"""A domain's own readers: entry points of the group `pipeline_runtime.readers`, in whatever is installed.

For a source that nobody else reads, and no other: a reader that others need belongs to the executor. In the
domain's package:

    [project.entry-points."pipeline_runtime.readers"]
    ledger_tape = "cordata_fraud.tape:read_tape"

`read_tape(spark, source, spark_catalog)` is called as the executor's own readers are, and its frame goes through
`enforce` like theirs. The name alone makes the kind known; the package is imported when a descriptor names it and
not before, so what is wrong with it shows only then.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Collection
from functools import wraps
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any, Final

from pipeline_runtime.errors import PipelineError, ReaderUnusable
from pipeline_runtime.schema.enforce import enforce

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from pipeline_runtime.catalog.table import PinnedSource

__all__ = ["GROUP", "plugin_kinds", "plugin_reader", "refuse_shadow"]

GROUP: Final = "pipeline_runtime.readers"


def plugin_kinds() -> frozenset[str]:
    """The kinds that installed distributions bring, by name: metadata is read, nothing is imported."""
    return frozenset(point.name for point in entry_points(group=GROUP))


def refuse_shadow(kind: str) -> None:
    """Raises ReaderUnusable where an installed distribution claims the name of a built-in kind."""
    claims = _claims(kind)
    if claims:
        raise ReaderUnusable(
            f"source kind {kind} is built in, and {_shown(claims[0])} claims its name: which of the two is meant? "
            "Rename the entry point, or uninstall the distribution."
        )


def plugin_reader(kind: str, known: Collection[str]) -> Callable[[SparkSession, PinnedSource, str], DataFrame]:
    """The reader that one installed distribution brings for `kind`, imported now.

    Raises ReaderUnusable, naming the distribution, the entry point and the cause, where it cannot be loaded, is
    none, or is there twice; `known` are the kinds to list where nobody brings it.
    """
    claims = _claims(kind)
    if not claims:
        raise ReaderUnusable(f"no reader for source kind {kind}; there is: {', '.join(sorted(known))}")
    if len(claims) > 1:
        raise ReaderUnusable(
            f"source kind {kind} is claimed {len(claims)} times: {'; '.join(map(_shown, claims))}. "
            "Uninstall all but one."
        )
    point = claims[0]
    try:
        reader = point.load()
    except (Exception, SystemExit) as error:
        raise ReaderUnusable(f"source kind {kind}: {_shown(point)} cannot be loaded: {_cause(error)}") from error
    if not callable(reader):
        raise ReaderUnusable(
            f"source kind {kind}: {_shown(point)} is a {type(reader).__name__}; it must be a function "
            "(spark, source, spark_catalog) that returns a frame"
        )
    return _enforced(reader, kind, point)


def _enforced(reader: Callable[..., Any], kind: str, point: EntryPoint) -> Callable[..., DataFrame]:
    """The reader under the promise of every reader: the pinned columns, or an error of ours."""

    @wraps(reader)
    def read(spark: SparkSession, source: PinnedSource, spark_catalog: str) -> DataFrame:
        from pyspark.sql import DataFrame

        try:
            frame = reader(spark, source, spark_catalog)
        except PipelineError:
            raise
        except Exception as error:
            raise ReaderUnusable(f"source kind {kind}: {_shown(point)} failed: {_cause(error)}") from error
        if not isinstance(frame, DataFrame):
            raise ReaderUnusable(
                f"source kind {kind}: {_shown(point)} returned {type(frame).__name__}; it must return a Spark DataFrame"
            )
        return enforce(frame, source.pinned, source.table.identity.fqn)

    return read


def _claims(kind: str) -> list[EntryPoint]:
    # The same entry point comes once for each time that its distribution is on the path.
    found = {(_distribution(point), point.value): point for point in entry_points(group=GROUP, name=kind)}
    return [found[key] for key in sorted(found)]


def _distribution(point: EntryPoint) -> str:
    return f"{point.dist.name} {point.dist.version}" if point.dist is not None else "an unnamed distribution"


def _shown(point: EntryPoint) -> str:
    return f"entry point {point.name} = {point.value} of {_distribution(point)}"


def _cause(error: BaseException) -> str:
    """The error with the plugin's own line: the last one that is not the import machinery's."""
    message = f"{type(error).__name__}: {error}".rstrip(": ")
    own = [frame for frame in traceback.extract_tb(error.__traceback__) if not _is_machinery(frame.filename)]
    if isinstance(error, SyntaxError) or not own:
        return message
    return f"{message} ({own[-1].filename.rpartition('/')[2]}, line {own[-1].lineno})"


def _is_machinery(filename: str) -> bool:
    return filename.startswith("<frozen") or filename == __file__ or "/importlib/" in filename
