"""Row counts that come with the one pass over the data, never from a job of their own.

They are for people (the trace, the events' statistics): where Spark does not tell, the answer is None.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["count_rows", "scan_rows"]

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
    observed = frame.observe(observation, F.count(F.lit(1)).alias("rows"))

    def rows() -> int | None:
        _drain(frame.sparkSession)
        found = _within(1.0, lambda: observation.get)
        return None if found is None else found.get("rows")

    return observed, rows


def scan_rows(spark: SparkSession, table_name: str) -> int | None:
    """Rows that the newest finished query took out of a table, as its scan delivered them.

    `table_name` is `<catalog>.<database>.<table>`, unquoted. A table that is scanned more than once in the
    query counts once, with its largest scan. Filters that the table's format applied are already applied.
    """
    from py4j.protocol import Py4JError

    try:
        _drain(spark)
        return next(_scans(spark, f"BatchScan {table_name}"), None)
    except Py4JError:
        return None


def _scans(spark: SparkSession, node_name: str) -> Iterator[int]:
    """Rows of that scan in each query that has one, the newest query first."""
    store = spark._jsparkSession.sharedState().statusStore()
    executions = store.executionsList()
    for position in range(executions.size() - 1, -1, -1):
        query = executions.apply(position).executionId()
        scans = [node for node in _items(store.planGraph(query).allNodes()) if node.name().strip() == node_name]
        if not scans:
            continue
        values = store.executionMetrics(query)
        counts = [_number(values.get(metric.accumulatorId())) for node in scans for metric in _row_metrics(node)]
        known = [count for count in counts if count is not None]
        if known:
            yield max(known)


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


def _within(seconds: float, ask: Callable[[], dict[str, Any]]) -> dict[str, Any] | None:
    """The answer, or None when it does not come: an Observation without an action blocks for ever."""
    answers: list[dict[str, Any]] = []
    thread = threading.Thread(target=lambda: answers.append(ask()), daemon=True)
    thread.start()
    thread.join(seconds)
    return answers[0] if answers else None
