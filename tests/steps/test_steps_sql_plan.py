"""One SELECT over `frame` and its own CTEs, judged on Spark's own parse of the text."""

from __future__ import annotations

from typing import Any

import pytest

from pipeline_runtime.errors import SqlRefused
from pipeline_runtime.steps.plan_guard import check_plan

pytestmark = pytest.mark.spark

HONEST = {
    "a projection": "SELECT id, upper(name) AS name FROM frame WHERE amount > 0",
    "FROM first": "FROM frame SELECT id",
    "a trailing semicolon": "SELECT id FROM frame;",
    "comments": "-- DROP TABLE x\nSELECT id /* FROM secret */ FROM frame",
    "marks in a string": "SELECT ':x $ { } ; reflect(1)' AS text, regexp_replace(name, '[$]', '') AS n FROM frame",
    "parameters": "SELECT id, :model_version AS model_version FROM frame WHERE day < date(:nominal_time)",
    "CTEs that build on each other": "WITH a AS (TABLE frame), b AS (TABLE a) SELECT * FROM a JOIN b USING (id)",
    "a CTE in any case": "WITH Settled AS (SELECT * FROM FRAME) SELECT * FROM SETTLED",
    "a CTE that hides the frame": "WITH frame AS (SELECT id FROM frame WHERE id > 1) SELECT * FROM frame",
    "a CTE inside a subquery": "SELECT * FROM (WITH a AS (SELECT id FROM frame) SELECT * FROM a) t",
    "an outer CTE in a subquery": "WITH a AS (SELECT id FROM frame) SELECT * FROM frame WHERE id IN (SELECT id FROM a)",
    "a scalar subquery": "SELECT id, (SELECT max(amount) FROM frame) AS top FROM frame",
    "EXISTS": "SELECT * FROM frame f WHERE EXISTS (SELECT 1 FROM frame g WHERE g.parent = f.id)",
    "a self-join": "SELECT a.id FROM frame a LEFT ANTI JOIN frame b ON a.id = b.parent",
    "windows": "SELECT id, row_number() OVER (PARTITION BY card ORDER BY ts) AS n, sum(amount) OVER w AS s "
    "FROM frame WINDOW w AS (PARTITION BY card ORDER BY ts ROWS BETWEEN 2 PRECEDING AND CURRENT ROW)",
    "LATERAL VIEW": "SELECT id, tag FROM frame LATERAL VIEW OUTER explode(tags) t AS tag",
    "a lateral join": "SELECT f.id, x.n FROM frame f JOIN LATERAL (SELECT f.id + 1 AS n) x",
    "set operations": "SELECT id FROM frame UNION ALL SELECT id FROM frame EXCEPT SELECT 1 INTERSECT SELECT 2",
    "grouping": "SELECT card, count(*) FILTER (WHERE amount > 1), percentile_cont(0.5) WITHIN GROUP (ORDER BY amount) "
    "FROM frame GROUP BY GROUPING SETS ((card), ()) HAVING count(*) > 1 ORDER BY 1 NULLS LAST LIMIT 5 OFFSET 1",
    "PIVOT": "SELECT * FROM frame PIVOT (sum(amount) FOR kind IN ('a', 'b'))",
    "UNPIVOT": "SELECT * FROM frame UNPIVOT (value FOR name IN (a, b))",
    "hints": "SELECT /*+ BROADCAST(b), REPARTITION(3) */ a.id FROM frame a JOIN frame b ON a.id = b.id",
    "lookup values": "SELECT l.label FROM frame f JOIN VALUES (1, 'one'), (2, 'two') AS l(id, label) ON f.id = l.id",
    "lambdas": "SELECT transform(xs, x -> x + 1) AS xs, map_filter(m, (k, v) -> k > v) AS m FROM frame",
    "syntax of its own": "SELECT CASE WHEN a THEN 1 END, a IS NULL, trim(BOTH 'x' FROM b), extract(YEAR FROM ts), "
    "CAST(a AS DECIMAL(10,2)), DATE'2026-01-01', INTERVAL 1 DAY, current_date, xs[0], s.field, struct(*) FROM frame",
    "a sample": "SELECT * FROM frame TABLESAMPLE (10 PERCENT) DISTRIBUTE BY id SORT BY id",
}
ATTACKS = {
    "another table": ("SELECT * FROM secret", "reads secret"),
    "a qualified table": (
        "SELECT * FROM frame JOIN spark_catalog.hr.salaries s ON true",
        "reads spark_catalog.hr.salaries",
    ),
    "a table named like the frame": ("SELECT * FROM hr.frame", "reads hr.frame"),
    "a misspelt frame": ("SELECT * FROM fram", "did you mean frame"),
    "a file": ("SELECT * FROM frame UNION SELECT * FROM text.`/etc/passwd`", "reads text./etc/passwd"),
    "a table in a scalar subquery": ("SELECT (SELECT max(x) FROM secret) FROM frame", "reads secret"),
    "a table in EXISTS": ("SELECT * FROM frame WHERE NOT EXISTS (SELECT 1 FROM secret)", "reads secret"),
    "a table in HAVING": ("SELECT 1 FROM frame GROUP BY id HAVING id IN (SELECT id FROM secret)", "reads secret"),
    "a table in ORDER BY": ("SELECT * FROM frame ORDER BY (SELECT max(x) FROM secret)", "reads secret"),
    "a table in a lateral join": ("SELECT * FROM frame f JOIN LATERAL (SELECT * FROM secret)", "reads secret"),
    "a table in VALUES": ("SELECT * FROM frame JOIN VALUES ((SELECT max(x) FROM secret)) AS v(x)", "reads secret"),
    "a table in a generator": ("SELECT * FROM frame LATERAL VIEW explode((SELECT xs FROM secret)) t", "reads secret"),
    "a CTE of an inner scope": (
        "SELECT * FROM (WITH secret AS (SELECT 1 AS x FROM frame) SELECT * FROM secret) JOIN secret",
        "reads secret",
    ),
    "a CTE of a later line": (
        "WITH a AS (SELECT * FROM secret), secret AS (SELECT 1 FROM frame) SELECT * FROM a",
        "reads secret",
    ),
    "a CTE within itself": ("WITH secret AS (SELECT * FROM secret) SELECT * FROM frame, secret", "reads secret"),
    "a CTE of a WINDOW clause, where Spark takes the name for a table": (
        "WITH secret AS (TABLE frame) SELECT sum(v) OVER w FROM frame WINDOW w AS (ORDER BY (SELECT v FROM secret))",
        "reads secret",
    ),
    "time travel by version": ("SELECT * FROM frame VERSION AS OF 1", "travels in time"),
    "time travel by time": ("SELECT * FROM frame TIMESTAMP AS OF '2026-01-01'", "travels in time"),
    "a table function": ("SELECT * FROM frame, range(10)", "calls a table function"),
    "a lateral table function": ("SELECT * FROM frame, LATERAL explode(array(1)) t", "use LATERAL VIEW"),
    "IDENTIFIER of a table": ("SELECT * FROM IDENTIFIER('secret')", "IDENTIFIER()"),
    "IDENTIFIER of a bound table": ("SELECT * FROM IDENTIFIER(:t)", "IDENTIFIER()"),
    "IDENTIFIER of a function": (
        "SELECT IDENTIFIER('reflect')('java.lang.System', 'getenv') FROM frame",
        "IDENTIFIER()",
    ),
    "TRANSFORM": ("SELECT TRANSFORM(id) USING 'env' FROM frame", "starts a program"),
    "MAP": ("FROM frame MAP id USING 'env' AS x", "starts a program"),
    "reflect": ("SELECT reflect('java.lang.System', 'getenv', 'SECRET') FROM frame", "calls reflect"),
    "REFLECT in backticks": ("SELECT `REFLECT`('java.lang.System', 'getenv', 'SECRET') FROM frame", "calls reflect"),
    "java_method in a WINDOW clause": (
        "SELECT sum(v) OVER w FROM frame WINDOW w AS (PARTITION BY java_method('java.lang.System', 'exit', 1))",
        "calls java_method",
    ),
    "reflect in a lambda": ("SELECT transform(xs, x -> reflect('a', 'b', x)) FROM frame", "calls reflect"),
    "reflect in a CTE that nobody reads": (
        "WITH a AS (SELECT reflect('a', 'b') FROM frame) SELECT * FROM frame",
        "calls reflect",
    ),
    "reflect in a generator": ("SELECT * FROM frame LATERAL VIEW reflect('a', 'b') t", "calls reflect"),
    "reflect in a hint": ("SELECT /*+ REPARTITION(reflect('a', 'b')) */ * FROM frame", "calls reflect"),
    "a function of a catalog": ("SELECT glue_catalog.system.iceberg_version() FROM frame", "a function of a catalog"),
    "a function that Spark lacks": ("SELECT uper(name) FROM frame", "did you mean upper"),
    "an environment variable": ("SELECT '${env:AWS_SECRET_ACCESS_KEY}' FROM frame", "${env:AWS_SECRET_ACCESS_KEY}"),
    "a setting": ("SELECT ${spark.hadoop.fs.s3a.secret.key} FROM frame", "bind a param"),
    "a positional parameter": ("SELECT ? FROM frame", "? parameter"),
    "two statements": ("SELECT * FROM frame; DROP TABLE x", "one statement"),
    "nothing": ("", "one statement"),
    "no SQL": ("SELEC id FROM frame", "one statement"),
    "a SELECT that never reads the frame": ("SELECT 1 AS one", "never reads `frame`"),
    "a CTE instead of the frame": ("WITH frame AS (SELECT 1 AS one) SELECT * FROM frame", "never reads `frame`"),
    "DROP": ("DROP TABLE frame", "DropTable"),
    "INSERT": ("INSERT INTO secret SELECT * FROM frame", "InsertIntoStatement"),
    "a multi-table INSERT": ("FROM frame INSERT INTO a SELECT id INSERT INTO b SELECT id", "InsertIntoStatement"),
    "a CTE before INSERT": ("WITH a AS (SELECT * FROM frame) INSERT INTO b SELECT * FROM a", "InsertIntoStatement"),
    "a directory": ("INSERT OVERWRITE DIRECTORY '/tmp/x' USING parquet SELECT * FROM frame", "InsertIntoDir"),
    "CREATE TABLE AS": ("CREATE TABLE x AS SELECT * FROM frame", "CreateTableAsSelect"),
    "CACHE": ("CACHE TABLE x AS SELECT * FROM frame", "CacheTableAsSelect"),
    "SET": ("SET spark.sql.ansi.enabled = true", "SetCommand"),
    "ADD JAR": ("ADD JAR /tmp/x.jar", "AddJars"),
    "EXPLAIN": ("EXPLAIN SELECT * FROM frame", "ExplainCommand"),
    "a procedure": ("CALL glue_catalog.system.expire_snapshots('a.b')", "Call"),
}


@pytest.mark.parametrize("text", HONEST.values(), ids=HONEST.keys())
def test_honest_sql_may_run(spark: Any, text: str) -> None:
    check_plan(spark, text, "sql/score.sql")


@pytest.mark.parametrize(("text", "says"), ATTACKS.values(), ids=ATTACKS.keys())
def test_anything_else_is_refused_by_name(spark: Any, text: str, says: str) -> None:
    with pytest.raises(SqlRefused) as caught:
        check_plan(spark, text, "sql/score.sql")
    assert says in str(caught.value)
    assert str(caught.value).startswith("sql/score.sql")
    assert "\n\tat " not in str(caught.value)


def test_every_reason_is_reported_with_its_line(spark: Any) -> None:
    text = "SELECT id,\n  reflect('a', 'b'),\n  uper(name)\nFROM frame\nJOIN secret ON true"
    with pytest.raises(SqlRefused) as caught:
        check_plan(spark, text, "sql/score.sql")
    assert [(problem.line, problem.message.split(",")[0].split(";")[0]) for problem in caught.value.problems] == [
        (2, "calls reflect"),
        (3, "calls uper"),
        (5, "reads secret"),
    ]


def test_a_syntax_error_names_its_line(spark: Any) -> None:
    with pytest.raises(SqlRefused) as caught:
        check_plan(spark, "SELECT id\nFROM frame\nWHERE id = = 1", "sql/score.sql")
    (problem,) = caught.value.problems
    assert problem.line == 3
    assert "Syntax error" in problem.message
    assert "== SQL ==" not in problem.message


def test_sql_nested_deeper_than_python_recurses_is_judged_too(spark: Any) -> None:
    deep = " + ".join(["id"] * 700)
    check_plan(spark, f"SELECT {deep} AS total FROM frame", "sql/score.sql")
    with pytest.raises(SqlRefused, match="calls reflect"):
        check_plan(spark, f"SELECT reflect('a', 'b') + {deep} AS total FROM frame", "sql/score.sql")


def test_no_view_of_the_session_can_be_read_but_the_frame(spark: Any) -> None:
    spark.sql("SELECT 42 AS v").createOrReplaceTempView("earlier")
    try:
        with pytest.raises(SqlRefused, match="reads earlier"):
            check_plan(spark, "SELECT * FROM frame JOIN earlier", "sql/score.sql")
    finally:
        spark.catalog.dropTempView("earlier")
