"""The same SQL has the same answers, and the same errors, on the Spark of every Glue version."""

from __future__ import annotations

import logging.handlers
from typing import Any

import pytest

from pipeline_runtime.engine.spark_error import failures, short_message

pytestmark = pytest.mark.spark

#: SQL → its answer; ANSI mode, which Spark 4 starts in, would fail on each.
ANSWERS = {
    "1 / 0": None,
    "CAST('many' AS INT)": None,
    "2147483647 + 1": -2147483648,
    "array(1, 2)[5]": None,
    "to_timestamp('no time')": None,
}


@pytest.mark.parametrize(("text", "answer"), ANSWERS.items())
def test_what_has_no_answer_is_null_or_wraps_and_never_fails(spark: Any, text: str, answer: object) -> None:
    assert spark.sql(f"SELECT {text} AS x").first()[0] == answer


def test_a_date_that_older_sparks_read_otherwise_is_an_error_and_no_silent_null(spark: Any) -> None:
    with pytest.raises(failures(), match="INCONSISTENT_BEHAVIOR_CROSS_VERSION"):
        spark.sql("SELECT to_date('2026-8-1', 'yyyy-MM-dd')").collect()


def test_an_error_of_a_query_is_raised_and_not_logged_too(spark: Any) -> None:
    logger, logged = logging.getLogger("SQLQueryContextLogger"), logging.handlers.BufferingHandler(capacity=10)
    logger.addHandler(logged)
    try:
        with pytest.raises(failures()) as caught:
            spark.sql("SELECT nobody FROM range(1)")
    finally:
        logger.removeHandler(logged)
    assert logged.buffer == []
    assert short_message(caught.value).startswith("[UNRESOLVED_COLUMN.WITH_SUGGESTION]")
    assert "SQLSTATE" not in short_message(caught.value)
