"""What Spark 4.1 reads in a step's SQL and Spark 3.5 does not: nothing of it gets past the guard, honest SQL apart.

Each text has what is said of it on 4.1; on 3.5 it is refused for not being SQL, or for a function that is not there.
"""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import pytest

from pipeline_runtime.descriptor.blocks import Step
from pipeline_runtime.errors import SqlRefused
from pipeline_runtime.steps.plan_guard import check_plan
from pipeline_runtime.steps.sql import run_sql
from pipeline_runtime.steps.sql_guard import check_sql

pytestmark = pytest.mark.spark

REFUSED = {
    "a table in a pipe's set operation": ("FROM frame |> UNION ALL (TABLE secret)", "reads secret"),
    "a table in a pipe's join": ("FROM frame |> JOIN secret ON true", "reads secret"),
    "a table in a piped subquery": ("SELECT (FROM secret |> SELECT max(id)) AS x FROM frame", "reads secret"),
    "a table in a pipe's condition": ("FROM frame |> WHERE id IN (SELECT id FROM secret)", "reads secret"),
    "reflection in a pipe": ("FROM frame |> SELECT reflect('a', 'b')", "calls reflect"),
    "reflection in a pipe's aggregate": ("FROM frame |> AGGREGATE sum(java_method('a', 'b'))", "calls java_method"),
    "reflection that tries": ("SELECT try_reflect('java.lang.System', 'getenv', 'X') FROM frame", "calls try_reflect"),
    "a script": ("BEGIN SELECT * FROM frame; END", "CompoundBody"),
    "a script with a variable": ("BEGIN DECLARE x INT; SELECT * FROM frame; END", "CompoundBody"),
    "a variable": ("DECLARE v = (SELECT max(x) FROM secret)", "CreateVariable"),
    "a variable that is set": ("SET VAR v = (SELECT max(x) FROM secret)", "SetVariable"),
    "SQL in a text": ("EXECUTE IMMEDIATE 'SELECT * FROM frame'", "UnresolvedExecuteImmediate"),
    "half a name through IDENTIFIER": ("SELECT * FROM IDENTIFIER('hr').salaries", "reads hr.salaries"),
    "half a function's name through IDENTIFIER": ("SELECT IDENTIFIER('hr').f(1) FROM frame", "a function of a catalog"),
    "a table function over the frame": ("SELECT * FROM udtf(TABLE(frame))", "calls a table function"),
    "a table function over a table": ("SELECT * FROM udtf(TABLE(secret))", "calls a table function"),
    "the logs of Python workers": ("SELECT * FROM python_worker_logs()", "calls a table function"),
    "a table in a recursive CTE": (
        "WITH RECURSIVE r AS (SELECT id FROM frame UNION ALL SELECT id FROM secret) SELECT * FROM r",
        "reads secret",
    ),
    "a stream": ("SELECT * FROM STREAM frame", "as a stream or with options"),
    "options of a source": ("SELECT * FROM frame WITH (`path` = '/etc/passwd')", "as a stream or with options"),
    "a Python data source": ("SELECT * FROM frame JOIN my_source.`/x` ON true", "reads my_source./x"),
    "a function in SQL": ("CREATE TEMPORARY FUNCTION f(x INT) RETURNS INT RETURN x", "CreateSQLFunctionCommand"),
    "a session's function": ("SELECT session.f(1) FROM frame", "a function of a catalog"),
    "a built-in by its whole name": ("SELECT system.builtin.reflect('a', 'b') FROM frame", "a function of a catalog"),
}
HONEST = {
    "a recursive CTE": "WITH RECURSIVE r AS (SELECT id FROM frame UNION ALL SELECT id + 1 FROM r WHERE id < 3) "
    "SELECT * FROM r",
    "a collation": "SELECT name COLLATE UNICODE AS name FROM frame",
    "a list of values": "SELECT id, listagg(name, ',') WITHIN GROUP (ORDER BY name) AS names FROM frame GROUP BY id",
    "a variant": "SELECT variant_get(parse_json(name), '$.a', 'int') AS a FROM frame",
}
PIPES = (
    "FROM frame |> SELECT id",
    "SELECT id FROM frame |> WHERE id > 1",
    "SELECT (FROM frame |> SELECT max(id)) AS top FROM frame",
)
BOUND = {
    "quotes": 'it\'s "quoted" `so`',
    "backslashes": "C:\\new\\table 100%\\'",
    "another parameter's mark": ":other ? {name} $1",
    "a substitution": "${env:HOME}",
    "SQL": "' OR 1=1; DROP TABLE frame --",
    "lines": "one\ntwo\r\n\tthree",
    "no ASCII": "Zürich ❄ 東京",
    "nothing": "",
}


def is_4(spark: Any) -> bool:
    return not spark.version.startswith("3.")


@pytest.mark.parametrize(("text", "says"), REFUSED.values(), ids=REFUSED.keys())
def test_what_only_spark_4_reads_is_refused_too(spark: Any, text: str, says: str) -> None:
    with pytest.raises(SqlRefused) as caught:
        check_plan(spark, text, "sql/score.sql")
    if is_4(spark):
        assert says in str(caught.value)


@pytest.mark.parametrize("text", HONEST.values(), ids=HONEST.keys())
def test_honest_sql_of_spark_4_may_run_where_spark_reads_it(spark: Any, text: str) -> None:
    if is_4(spark):
        check_plan(spark, text, "sql/score.sql")
        return
    with pytest.raises(SqlRefused, match=r"Spark cannot parse it as one statement|not one of Spark 3\.5"):
        check_plan(spark, text, "sql/score.sql")


@pytest.mark.parametrize("text", PIPES)
def test_a_pipe_is_refused_without_an_engine_since_not_every_engine_reads_it(text: str) -> None:
    assert check_sql(text, "sql/score.sql", {})


@pytest.mark.parametrize("value", BOUND.values(), ids=BOUND.keys())
def test_a_bound_value_arrives_as_it_is_with_icebergs_extensions_loaded(spark: Any, value: str) -> None:
    assert "Iceberg" in spark.conf.get("spark.sql.extensions")
    frame = spark.createDataFrame([(1, value), (2, "other")], "id int, name string")

    answer = run_sql(
        frame,
        Step(id="score", kind="sql", query_file="sql/score.sql"),
        "WITH same AS (SELECT id, :value AS told FROM frame WHERE name = :value) "
        "SELECT id, told, ':value' AS text FROM same WHERE told IN (SELECT name FROM frame WHERE name = :value)",
        "sql/score.sql",
        {"value": value},
    )

    assert [tuple(row) for row in answer.collect()] == [(1, value, ":value")]


def test_bound_times_and_dates_keep_their_types_with_icebergs_extensions_loaded(spark: Any) -> None:
    at = datetime(2026, 8, 1, 6, 30, 15, 123456, UTC)

    answer = run_sql(
        spark.range(3),
        Step(id="score", kind="sql", query_file="sql/score.sql"),
        "SELECT id, :at AS at, :day AS day, sum(id) OVER (PARTITION BY :day) AS total FROM frame "
        "WHERE :at > TIMESTAMP'2026-08-01 06:30:15Z' GROUP BY id HAVING date(:at) = :day ORDER BY id",
        "sql/score.sql",
        {"at": at, "day": date(2026, 8, 1)},
    )

    assert [field.dataType.typeName() for field in answer.schema][:3] == ["long", "timestamp", "date"]
    assert answer.selectExpr("id", "unix_micros(at)", "day", "total").collect() == [
        (number, int(at.timestamp()) * 1_000_000 + 123456, date(2026, 8, 1), 3) for number in range(3)
    ]
