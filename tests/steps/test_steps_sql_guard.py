"""What a pull request hears about a step's SQL, without an engine."""

from __future__ import annotations

import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline_runtime.steps.sql_guard import check_sql, output_columns, used_parameters


def refusals(text: str, **params: str) -> list[str]:
    return [str(problem) for problem in check_sql(text, "step.sql", params)]


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM frame",
        "select a from FRAME;",
        "SELECT a FROM frame; -- done",
        "(SELECT a FROM frame)",
        "FROM frame SELECT a",
        "SELECT a FROM frame UNION ALL SELECT b FROM frame EXCEPT SELECT 1 FROM frame",
        "WITH x AS (SELECT a FROM frame), y AS (SELECT * FROM x) SELECT * FROM y JOIN X ON x.a = y.a",
        "WITH x AS (SELECT * FROM frame) SELECT a FROM x WHERE a IN (SELECT a FROM x WHERE EXISTS (SELECT 1 FROM x))",
        "SELECT a FROM (WITH x AS (SELECT a FROM frame) SELECT a FROM x) AS inner_query",
        "SELECT a, b FROM frame LATERAL VIEW OUTER explode(c) t AS b",
        "SELECT explode(m) AS (k, v) FROM frame",
        "SELECT * FROM frame, LATERAL (SELECT b FROM frame AS other)",
        "SELECT /*+ REPARTITION(3), BROADCAST(f) */ * FROM frame AS f",
        "SELECT *, row_number() OVER w AS n FROM frame WINDOW w AS (PARTITION BY a ORDER BY b DESC NULLS LAST)",
        "SELECT * FROM frame PIVOT (sum(a) FOR b IN (1, 2))",
        "SELECT f.a, codes.label FROM frame AS f JOIN VALUES (1, 'x') AS codes(code, label) ON f.code = codes.code",
        "SELECT transform(c, x -> x + 1) AS plus FROM frame TABLESAMPLE (10 PERCENT)",
        "SELECT CAST(a AS STRUCT<b: INT>) AS s, a.b.c, m['k'] AS v FROM frame",
        "SELECT a FROM frame WHERE a RLIKE '^x{2}$' -- not a param: :x",
        "SELECT ':y' AS text, `:z` /* :w ? */ FROM frame",
        "SELECT a FROM frame WHERE day = :nominal_date AND at < :nominal_time",
    ],
)
def test_one_select_over_the_frame_and_its_own_ctes_is_fine(text):
    assert refusals(text) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # not one statement
        ("", "step.sql: holds no statement"),
        (" ;; -- nothing\n", "step.sql: holds no statement"),
        ("SELECT a FROM frame;\nSELECT b FROM frame", "step.sql:2: a second statement starts at 'SELECT'"),
        ("SELECT a FROM frame;\n\nDROP TABLE x", "step.sql:3: a second statement starts at 'DROP'"),
        # not SQL
        ("SELECT a\nFROM", "step.sql:2: is not SQL that Spark reads: unexpected at 'FROM'"),
        ("SELECT (a FROM frame", "step.sql:1: is not SQL that Spark reads: ) is expected at 'FROM'"),
        ("SELECT CASE WHEN FROM frame", "step.sql:1: is not SQL that Spark reads: something is missing"),
        ("SELECT\n'abc FROM frame", "step.sql:2: is not SQL: a quote or a comment is never closed"),
        ("SELECT a /* FROM frame", "step.sql: is not SQL: a quote or a comment is never closed"),
        # not a SELECT
        ("DROP TABLE frame", "step.sql:1: is not a SELECT but DROP; a step is one plain SELECT"),
        ("\nDELETE FROM frame", "step.sql:2: is not a SELECT but DELETE"),
        ("VALUES (1)", "step.sql:1: is not a SELECT but VALUES"),
        ("TABLE frame", "step.sql:1: is not a SELECT but TABLE"),
        ("SET x = 1", "step.sql:1: is not a SELECT but SET"),
        ("EXPLAIN SELECT a FROM frame", "step.sql:1: is not a SELECT"),
        ("CREATE TABLE x AS SELECT * FROM frame", "step.sql:1: is not a SELECT"),
        ("CACHE TABLE x AS SELECT * FROM frame", "step.sql:1: is not a SELECT"),
        ("INSERT INTO x SELECT * FROM frame", "step.sql:1: is not a SELECT"),
        ("WITH x AS (SELECT 1) INSERT INTO y SELECT * FROM x", "step.sql:1: is not a SELECT"),
        ("FROM frame INSERT INTO x SELECT a", "step.sql:1: is not a SELECT"),
        ("WITH x AS (DELETE FROM t) SELECT * FROM frame", "step.sql:1: DELETE is refused"),
        ("SELECT a INTO b FROM frame", "step.sql:1: INTO is refused"),
        ("SELECT a FROM frame FOR UPDATE", "step.sql:1: LOCK is refused"),
        ("FROM frame |> SELECT a", "step.sql:1: the pipe |> is refused"),
        # other tables
        ("SELECT a\nFROM frme", "step.sql:2: reads frme; a step reads frame and nothing else; did you mean frame?"),
        ("SELECT * FROM frame\nJOIN raw.orders USING (id)", "step.sql:2: reads raw.orders; a step reads frame and"),
        ("SELECT * FROM spark_catalog.default.frame", "step.sql:1: reads spark_catalog.default.frame"),
        ("SELECT * FROM parquet.`s3://other/x`", "step.sql:1: reads parquet.s3://other/x"),
        ("SELECT * FROM `/etc/passwd`", "step.sql:1: reads /etc/passwd"),
        ("SELECT a FROM frame WHERE a IN (\nSELECT a FROM other)", "step.sql:2: reads other"),
        ("SELECT (SELECT max(a) FROM other) AS m FROM frame", "step.sql:1: reads other"),
        ("SELECT a FROM frame UNION SELECT a FROM other", "step.sql:1: reads other"),
        ("WITH x AS (SELECT * FROM frame) SELECT * FROM xx", "step.sql:1: reads xx; a step reads frame, x and nothing"),
        ("WITH y AS (SELECT * FROM x), x AS (SELECT 1 FROM frame) SELECT * FROM y", "step.sql:1: reads x;"),
        ("WITH x AS (SELECT * FROM x) SELECT * FROM x, frame", "step.sql:1: reads x;"),
        ("SELECT * FROM (WITH x AS (SELECT a FROM frame) SELECT a FROM x) t, x", "step.sql:1: reads x;"),
        ("WITH frame AS (SELECT 1 AS a) SELECT * FROM frame", "step.sql:1: a CTE called frame would hide"),
        ("SELECT 1 AS a", "step.sql:1: never reads frame, the previous step's result"),
        # tables that are none
        ("SELECT * FROM frame, range(10)", "step.sql:1: the table function range() is refused"),
        ("SELECT * FROM explode(array(1)), frame", "step.sql:1: "),
        ("SELECT * FROM frame, LATERAL explode(a)", "step.sql:1: a table function is refused; write LATERAL VIEW"),
        ("SELECT * FROM frame VERSION AS OF 1", "step.sql:1: time travel is refused"),
        ("SELECT * FROM frame TIMESTAMP AS OF '2024-01-01'", "step.sql:1: time travel is refused"),
        ("SELECT * FROM frame FOR SYSTEM_TIME AS OF '2024-01-01'", "step.sql:1: time travel is refused"),
        ("SELECT * FROM IDENTIFIER('x')", "step.sql:1: IDENTIFIER() is refused"),
        ("SELECT IDENTIFIER(:c) FROM frame", "step.sql:1: IDENTIFIER() is refused"),
        ("SELECT `identifier`('reflect')('x') FROM frame", "step.sql:1: IDENTIFIER() is refused"),
        # code
        ("SELECT reflect('java.lang.System', 'getenv', 'X') FROM frame", "step.sql:1: reflect() is refused: it runs"),
        ("SELECT\n`Reflect` ('x') FROM frame", "step.sql:2: reflect() is refused"),
        ("SELECT java_method('x') FROM frame", "step.sql:1: java_method() is refused"),
        ("SELECT try_reflect('x') FROM frame", "step.sql:1: try_reflect() is refused"),
        ("SELECT a FROM frame LATERAL VIEW java_method('x') t AS b", "step.sql:1: java_method() is refused"),
        ("SELECT from_protobuf(a, 'M', '/etc/d') FROM frame", "step.sql:1: from_protobuf() is refused"),
        ("SELECT TRANSFORM(a) USING 'cat' AS (b) FROM frame", "step.sql:1: USING with a script is refused"),
        ("SELECT a FROM (MAP a USING 'cat' AS b FROM frame)", "step.sql:1: USING with a script is refused"),
        ("SELECT raw.udf(a) AS b FROM frame", "step.sql:1: udf() is called out of a catalog, which is refused"),
        ("SELECT glue.db.f(a) AS b FROM frame", "step.sql:1: f() is called out of a catalog"),
        ("SELECT a,\n'${env:SECRET}' AS b FROM frame", "step.sql:2: ${env:SECRET} is refused: Spark would fill it"),
        ("SELECT a FROM frame -- ${spark.x}", "step.sql:1: ${spark.x} is refused"),
        # parameters of other kinds
        ("SELECT ? AS a FROM frame", "step.sql:1: a parameter without a name is refused; write :name"),
        ("SELECT {x} AS a FROM frame", "step.sql:1: a parameter without a name is refused"),
        ("SELECT $x AS a FROM frame", "step.sql:1: $ and @ make no parameters in Spark"),
        # columns
        ("SELECT a, b, A FROM frame", "step.sql:1: selects the column a twice"),
        ("SELECT *, x.a, a FROM frame AS x", "step.sql:1: selects the column a twice"),
        ("SELECT a, b AS a FROM frame UNION ALL SELECT 1, 2", "step.sql:1: selects the column a twice"),
        ("SELECT explode(m) AS (k, K) FROM frame", "step.sql:1: selects the column k twice"),
    ],
)
def test_anything_else_is_refused_with_its_line(text, expected):
    problems = refusals(text)
    assert any(problem.startswith(expected) for problem in problems), problems
    assert all("\n" not in problem for problem in problems)


def test_a_refused_table_is_not_also_a_frame_that_is_never_read():
    assert len(refusals("SELECT * FROM other")) == 1


def test_every_offence_of_a_statement_is_named_at_once():
    text = "SELECT :x AS a\nFROM frame\nJOIN one ON true\nJOIN two ON true\n"
    assert [problem.split(" ")[0] for problem in refusals(text, y="1")] == [
        "step.sql:",
        "step.sql:1:",
        "step.sql:3:",
        "step.sql:4:",
    ]


def test_reported_a_missing_parameter_is_refused_where_it_is_used():
    unused, missing = refusals("SELECT a,\n  :modle_version AS v\nFROM frame", model_version="7")
    assert unused == "step.sql: never takes :model_version, which the step's params give; use it, or drop the param"
    assert missing == (
        "step.sql:2: takes :modle_version, which the step's params do not give "
        "(there are model_version, nominal_date, nominal_time); did you mean model_version?"
    )


def test_reported_an_unused_parameter_is_refused():
    (problem,) = refusals("SELECT a FROM frame", unused="1")
    assert problem.startswith("step.sql: never takes :unused")


def test_reported_a_parameter_in_text_or_in_a_comment_is_none():
    assert used_parameters("SELECT ':x', \":y\" /* :z */ FROM frame -- :w") == set()
    (problem,) = refusals("SELECT ':x' AS a /* :x */ FROM frame", x="1")
    assert problem.startswith("step.sql: never takes :x")


def test_a_parameter_is_found_wherever_a_value_may_stand():
    text = "SELECT a[:i], CASE WHEN a = :x THEN 1 END FROM frame WHERE b IN (:y, : z) ORDER BY a LIMIT :n"
    assert used_parameters(text) == {"i", "x", "y", "z", "n"}


def test_parameters_of_the_executor_need_not_be_used():
    assert refusals("SELECT a FROM frame") == []
    assert used_parameters("SELECT :nominal_date AS d FROM frame") == {"nominal_date"}


def test_the_case_of_a_parameter_counts_as_it_does_for_spark():
    assert any("takes :Model" in problem for problem in refusals("SELECT :Model AS m FROM frame", model="1"))


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("SELECT a, b AS c, x.d, s.t.e, `f g`, 1 AS one FROM frame AS x", ["a", "c", "d", "e", "f g", "one"]),
        ("SELECT explode(m) AS (k, v), a FROM frame", ["k", "v", "a"]),
        ("(SELECT a FROM frame) UNION ALL (SELECT b FROM frame)", ["a"]),
        ("WITH x AS (SELECT * FROM frame) SELECT a FROM x", ["a"]),
        ("SELECT * FROM frame", None),
        ("SELECT x.*, a FROM frame AS x", None),
        ("SELECT a, count(*) FROM frame GROUP BY a", None),
        ("SELECT a + 1 FROM frame", None),
        ("DROP TABLE x", None),
        ("not sql (", None),
        ("", None),
    ],
)
def test_the_columns_of_an_answer_are_told_only_where_they_are_certain(text, columns):
    assert output_columns(text) == columns


def test_what_sqlglot_would_log_is_not_heard(caplog):
    with caplog.at_level(logging.DEBUG):
        refusals("SHOW GRANTS ON frame")
        refusals("SELECT a FROM frame WHERE ALTER SESSION x")
    assert caplog.records == []
    assert logging.getLogger("sqlglot").disabled is False


def test_deeply_nested_sql_is_refused_and_not_a_crash():
    assert refusals("(" * 3000 + "SELECT 1" + ")" * 3000) == ["step.sql: is nested too deeply"]


_SQL = (
    "SELECT FROM frame WITH x AS ( ) , a :p ? ; * JOIN ON UNION ' \" ` -- /* */ |> ${env:A} range( VALUES LATERAL VIEW "
    "explode OVER WHERE IN NOT CASE WHEN END 1 1.5 = < [ ] { } . @v1 $ \\ INSERT INTO TABLE \n é"
)
_WORDS = st.sampled_from(_SQL.split(" "))


@given(text=st.one_of(st.text(max_size=60), st.lists(_WORDS, max_size=25).map(" ".join)))
def test_whatever_the_text_the_guard_answers(text):
    problems = check_sql(text, "step.sql", {"p": "1"})
    # A carriage return ends a line too, alone or before a line feed.
    lines = text.replace("\r\n", "\n").replace("\r", "\n").count("\n") + 1
    assert all(0 <= problem.line <= lines for problem in problems)
    if output_columns(text) is None and not problems:
        assert used_parameters(text) <= {"p", "nominal_date", "nominal_time"}
