"""A SQL step: `frame` in, the bound query's answer out."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import pytest

from pipeline_runtime.descriptor.blocks import Step
from pipeline_runtime.errors import OutputRefused, SqlRefused, StepFailed
from pipeline_runtime.steps.sql import bindings_for, run_sql

spark_test = pytest.mark.spark


def step(**params: str) -> Step:
    return Step(id="score", kind="sql", query_file="sql/score.sql", params=params)


@pytest.fixture
def frame(spark: Any) -> Any:
    return spark.createDataFrame([(1, "a"), (2, "b")], "id int, name string")


def run(frame: Any, text: str, **bindings: object) -> Any:
    return run_sql(frame, step(), text, "sql/score.sql", bindings)


def rows(frame: Any) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in frame.collect())


@spark_test
def test_the_previous_frame_is_called_frame(frame: Any) -> None:
    assert rows(run(frame, "SELECT id * 10 AS id FROM frame WHERE name <> 'a'")) == [(20,)]


@spark_test
def test_steps_build_on_each_other(frame: Any) -> None:
    first = run(frame, "SELECT id + 1 AS id FROM frame")
    second = run(first, "WITH big AS (SELECT * FROM frame WHERE id > 2) SELECT big.id, f.id AS other FROM big, frame f")
    assert rows(second) == [(3, 2), (3, 3)]
    assert rows(first) == [(2,), (3,)]


@spark_test
def test_the_frame_is_visible_to_the_steps_query_only(spark: Any, frame: Any) -> None:
    answer = run(frame, "SELECT id FROM frame")
    assert not spark.catalog.tableExists("frame")
    with pytest.raises(StepFailed):
        run(frame, "SELECT nope FROM frame")
    assert not spark.catalog.tableExists("frame")
    assert rows(answer) == [(1,), (2,)]


@spark_test
def test_a_cached_frame_stays_cached(frame: Any) -> None:
    cached = frame.selectExpr("id", "rand() AS r").persist()
    try:
        before = rows(cached)
        assert rows(run(cached, "SELECT * FROM frame")) == before
        assert rows(run(cached, "SELECT * FROM frame")) == before
        assert cached.storageLevel.useMemory
    finally:
        cached.unpersist()


@spark_test
def test_a_view_that_another_step_called_frame_is_not_what_a_step_reads(spark: Any, frame: Any) -> None:
    spark.sql("SELECT 42 AS id").createOrReplaceTempView("frame")
    assert rows(run(frame, "SELECT id FROM frame")) == [(1,), (2,)]


@spark_test
def test_analysing_a_step_runs_no_job(spark: Any, frame: Any) -> None:
    spark.sparkContext.setJobGroup("analysis", "")
    try:
        run(frame, "SELECT name, count(*) AS n FROM frame GROUP BY name")
        assert spark.sparkContext.statusTracker().getJobIdsForGroup("analysis") == []
    finally:
        spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)


@spark_test
@pytest.mark.parametrize(
    "value", ["1' OR '1'='1", "'; DROP TABLE x; --", "{frame}", "${env:HOME}", ":other", "\\' OR 1=1", ""]
)
def test_a_param_is_text_and_never_becomes_sql(frame: Any, value: str) -> None:
    answer = run(frame, "SELECT :x AS x FROM frame WHERE id = 1 AND name <> :x", x=value)
    assert rows(answer) == [(value,)]
    assert answer.schema["x"].dataType.simpleString() == "string"


@spark_test
def test_marks_in_strings_and_comments_are_not_parameters(frame: Any) -> None:
    text = "SELECT ':x {frame} %s' AS t /* :y */ FROM frame -- :z\nWHERE id = 1"
    assert rows(run(frame, text)) == [(":x {frame} %s",)]


@spark_test
def test_a_parameter_that_is_not_bound_fails_before_anything_is_read(frame: Any) -> None:
    with pytest.raises(StepFailed, match=r"score \(sql/score\.sql:1\).*unbound parameter: x"):
        run(frame, "SELECT :x AS x FROM frame")


@spark_test
def test_the_nominal_time_is_a_timestamp_and_the_nominal_date_a_date(frame: Any) -> None:
    night_in_madrid = datetime(2026, 3, 29, 1, 30, 0, 250_000, tzinfo=timezone(timedelta(hours=2)))
    bound = bindings_for(step(), {"nominal_time", "nominal_date"}, night_in_madrid, "sql/score.sql")
    text = (
        "SELECT typeof(:nominal_time) AS a, typeof(:nominal_date) AS b, CAST(:nominal_time AS STRING) AS c, "
        "CAST(:nominal_date AS STRING) AS d, unix_micros(:nominal_time) AS e FROM frame WHERE id = 1"
    )
    micros = int(night_in_madrid.timestamp()) * 1_000_000 + 250_000
    assert rows(run(frame, text, **bound)) == [
        ("timestamp", "date", "2026-03-28 23:30:00.25", "2026-03-28", micros),
    ]


@spark_test
@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("SELECT id,\n  nme\nFROM frame", 2, "Did you mean one of the following? [`name`, `id`]"),
        ("SELECT id\nFROM frame\nWHERE sum(id) > 1", 1, "WHERE condition"),
        ("SELECT id + array(1) AS x FROM frame", 1, 'incompatible types ("INT" and "ARRAY<INT>")'),
        ("SELECT a.id\nFROM frame a JOIN frame b\nON id = b.id", 3, "ambiguous"),
        ("SELECT upper() AS x FROM frame", 1, "requires 1 parameters"),
    ],
)
def test_an_analysis_error_is_sparks_own_words_with_file_and_line(frame: Any, text: str, line: int, says: str) -> None:
    with pytest.raises(StepFailed) as caught:
        run(frame, text)
    message = str(caught.value)
    assert message.startswith(f"step score (sql/score.sql:{line}): ")
    assert says in message
    for noise in ("Project", "SubqueryAlias", "JVM", "\tat ", "\n", "pos "):
        assert noise not in message


@spark_test
def test_a_column_that_comes_out_twice_is_refused_whatever_its_case(frame: Any) -> None:
    with pytest.raises(OutputRefused) as caught:
        run(frame, "SELECT id, name, upper(name) AS NAME, id FROM frame")
    assert str(caught.value) == (
        "step score (sql/score.sql) returns columns more than once, case does not count: "
        "id (id, id); name (name, NAME). Select each once, or give the other a name of its own with AS."
    )


def test_declared_params_are_bound_as_the_text_they_are() -> None:
    assert bindings_for(step(code="007", flag="NO"), {"code", "flag"}, None, "s.sql") == {"code": "007", "flag": "NO"}


def test_the_nominal_time_is_bound_only_where_the_sql_uses_it() -> None:
    noon = datetime(2026, 7, 1, 12, tzinfo=UTC)
    assert bindings_for(step(), set(), noon, "s.sql") == {}
    assert bindings_for(step(), {"nominal_date"}, noon, "s.sql") == {"nominal_date": date(2026, 7, 1)}


def test_sql_that_takes_the_nominal_time_of_a_run_without_one_is_refused() -> None:
    with pytest.raises(SqlRefused) as caught:
        bindings_for(step(), {"nominal_time", "nominal_date"}, None, "sql/score.sql")
    assert str(caught.value) == (
        "sql/score.sql: takes :nominal_date and :nominal_time, and the run has no nominal time; pass --nominal-time"
    )
