"""Row counts that come with the one pass over the data, never from a job of their own.

They are for people (the trace, the events' statistics): where Spark does not tell, the answer is None.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from pipeline_runtime.engine.spark_error import failures

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Observation, SparkSession

__all__ = ["count_rows", "observed", "scan_rows", "unnamed_scan_rows"]

_DRAIN_MILLISECONDS = 10_000
_SCAN_METRIC = "number of output rows"


def count_rows(frame: DataFrame, name: str) -> tuple[DataFrame, Callable[[], int | None]]:
    """The frame, observed, and the number of rows that its first action let through.

    `name` is unique among the observations of one query. The count is None until an action has run, and
    where Spark knew the result without computing the frame; of a failed action it is what came through so far.
    """
    from pyspark.sql import Observation
    from pyspark.sql import functions as F  # noqa: N812

    observation = Observation(name)
    counted = frame.observe(observation, F.count(F.lit(1)).alias("rows"))
    return counted, lambda: observed(frame.sparkSession, observation, "rows")


def observed(spark: SparkSession, observation: Observation, metric: str) -> int | None:
    """What the first action on an observed frame found; None until one has run. No Spark job."""
    _drain(spark)
    found = _within(1.0, lambda: _told(observation))
    return None if found is None else found.get(metric)


def scan_rows(spark: SparkSession, table_name: str) -> int | None:
    """Rows that the newest finished query took out of a table, as its scan delivered them.

    `table_name` is `<catalog>.<database>.<table>`, unquoted. A table that is scanned more than once in the
    query counts once, with its largest scan. Filters that the table's format applied are already applied.
    """

    return _newest(spark, lambda name: name == f"BatchScan {table_name}", max)


def unnamed_scan_rows(spark: SparkSession) -> int | None:
    """Rows that the newest query with a counted frame took out of files or a database, over all of its scans.

    Spark names such scans after their kind, not after the table. Folders read in several groups are one source;
    what reads the written files back, to judge them, counts nothing (`count_rows`) and so is none.
    """
    return _newest(spark, lambda name: name.startswith("Scan "), sum, beside="CollectMetrics")


def _newest(
    spark: SparkSession,
    is_scan: Callable[[str], bool],
    combined: Callable[[list[int]], int],
    beside: str | None = None,
) -> int | None:
    """The rows of the newest query that has such scans, combined; with `beside`, only where it has that node too."""
    from py4j.protocol import Py4JError

    try:
        _drain(spark)
        counts = next(_scans(spark, is_scan, beside), None)
    except Py4JError:
        return None
    return None if counts is None else combined(counts)


def _scans(spark: SparkSession, is_scan: Callable[[str], bool], beside: str | None) -> Iterator[list[int]]:
    """Rows of each such scan of each query that has one, the newest query first."""
    store = spark._jsparkSession.sharedState().statusStore()
    executions = store.executionsList()
    for position in range(executions.size() - 1, -1, -1):
        query = executions.apply(position).executionId()
        nodes = [(node.name().strip(), node) for node in _items(store.planGraph(query).allNodes())]
        scans = [node for name, node in nodes if is_scan(name)]
        if not scans or (beside is not None and beside not in {name for name, _ in nodes}):
            continue
        values = store.executionMetrics(query)
        counts = [_number(values.get(metric.accumulatorId())) for node in scans for metric in _row_metrics(node)]
        known = [count for count in counts if count is not None]
        if known:
            yield known


def _row_metrics(node: Any) -> Iterator[Any]:
    return (metric for metric in _items(node.metrics()) if metric.name() == _SCAN_METRIC)


def _items(sequence: Any) -> Iterator[Any]:
    return (sequence.apply(position) for position in range(sequence.size()))


def _number(found: Any) -> int | None:
    """The store keeps a metric as it is shown: `1,234,567`."""
    digits = found.get().replace(",", "") if found.isDefined() else ""
    return int(digits) if digits.isdigit() else None


def _drain(spark: SparkSession) -> None:
    """Wait until Spark's listeners have heard of everything that happened; go on without them after a while."""
    from py4j.protocol import Py4JError

    try:
        spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty(_DRAIN_MILLISECONDS)
    except Py4JError:
        return


def _told(observation: Observation) -> dict[str, Any]:
    """Its metrics; none where Spark had no need to compute the frame, which PySpark 4.1 fails to say."""
    try:
        return observation.get
    except failures():
        return {}


def _within(seconds: float, ask: Callable[[], dict[str, Any]]) -> dict[str, Any] | None:
    """The answer, or None when it does not come: an Observation without an action blocks for ever."""
    answers: list[dict[str, Any]] = []
    thread = threading.Thread(target=lambda: answers.append(ask()), daemon=True)
    thread.start()
    thread.join(seconds)
    return answers[0] if answers else None
