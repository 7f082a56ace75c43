"""Spark's failures in its own words, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from pipeline_runtime.engine.spark_error import failures, short_message

pytestmark = pytest.mark.spark


def message_of(call: Any) -> str:
    with pytest.raises(failures()) as caught:
        call()
    return short_message(caught.value)


def test_a_job_that_fails_says_what_failed_and_not_that_a_job_was_aborted(spark: Any) -> None:
    message = message_of(spark.sql("SELECT raise_error(concat('no ', id)) FROM range(1)").collect)
    assert "no 0" in message
    assert "aborted" not in message
    assert "\tat" not in message


def test_an_error_in_the_jvm_is_named_by_its_innermost_cause(spark: Any) -> None:
    message = message_of(lambda: spark.sparkContext._jvm.java.lang.Class.forName("no.such.Thing"))
    assert message == "ClassNotFoundException: no.such.Thing"


def test_an_analysis_error_comes_without_its_plan(spark: Any) -> None:
    message = message_of(lambda: spark.sql("SELECT idd FROM range(1)"))
    assert message.endswith("Did you mean one of the following? [`id`].; line 1 pos 7")


def test_a_syntax_error_comes_without_the_text(spark: Any) -> None:
    assert "== SQL ==" not in message_of(lambda: spark.sql("SELEC 1"))


def test_a_long_message_is_cut(spark: Any) -> None:
    message = message_of(spark.sql("SELECT raise_error(repeat('long ', 500))").collect)
    assert len(message) == 600
    assert message.endswith("…")
