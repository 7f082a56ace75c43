"""Spark's failures in its own words, and nothing else."""

from __future__ import annotations

import subprocess
import sys
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


STOPPED = """
import threading, time
from pyspark.sql import SparkSession
from pipeline_runtime.engine.spark_error import failures, short_message

spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
context = spark.sparkContext

def stop_under_the_job():
    tracker = context.statusTracker()
    while not any(tracker.getStageInfo(stage).numActiveTasks for stage in tracker.getActiveStageIds()):
        time.sleep(0.05)
    context._jsc.sc().stop()

threading.Thread(target=stop_under_the_job).start()
for call in (
    spark.sql("SELECT java_method('java.lang.Thread', 'sleep', 600000L + id) FROM range(1)").collect,
    spark.range(3).collect,
):
    try:
        call()
    except failures() as failure:
        print(short_message(failure))
"""


def test_an_engine_that_ends_says_so_to_the_job_under_way_and_to_the_call_that_comes_too_late() -> None:
    done = subprocess.run([sys.executable, "-c", STOPPED], capture_output=True, text=True, timeout=120, check=False)
    told = done.stdout.splitlines()
    assert len(told) == 2, done.stderr
    assert all(line.startswith("Spark was shut down: it was stopped from outside (SIGTERM): ") for line in told)


KILLED = """
import os, signal, threading, time
from pyspark.sql import SparkSession
from pipeline_runtime.engine.spark_error import failures, short_message

spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
process = spark.sparkContext._gateway.proc
threading.Timer(1, lambda: os.kill(process.pid, signal.SIGKILL)).start()
try:
    spark.sql("SELECT java_method('java.lang.Thread', 'sleep', 600000L + id) FROM range(1)").collect()
except (*failures(), ConnectionError) as failure:
    print(short_message(failure))
"""


def test_an_engine_that_never_answers_is_said_to_be_gone() -> None:
    done = subprocess.run([sys.executable, "-c", KILLED], capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout.startswith("Spark's JVM is gone: it was stopped from outside (SIGTERM), "), done.stderr
