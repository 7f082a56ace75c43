"""Columns through SQL without an engine: what comes out, and what a typo reads."""

from __future__ import annotations

from typing import Any

import pytest

from pipeline_runtime.steps.column_flow import column_flow

FRAME = ("id", "amount", "status", "day", "tags", "card")


#: SQL with names that nothing explains, each with its line.
TYPOS = [
    ("SELECT id,\n  amout FROM frame", [(2, "amout")]),
    ("SELECT id FROM frame\nWHERE statuss = 'x' AND\n day > 1 AND dy > 2", [(2, "statuss"), (3, "dy")]),
    ("SELECT nope AS nope, nope AS other FROM frame", [(1, "nope")]),
    ("SELECT f.idd FROM frame f", [(1, "f.idd")]),
    ("WITH c AS (SELECT id FROM frame)\nSELECT id, amount FROM c", [(2, "amount")]),
    ("WITH c AS (SELECT idd AS id FROM frame) SELECT id FROM c", [(1, "idd")]),
    ("SELECT s.amount FROM (SELECT id FROM frame) s", [(1, "s.amount")]),
    (
        "SELECT id FROM frame a WHERE EXISTS (SELECT 1 FROM (SELECT id AS k FROM frame) b WHERE b.kk = a.id)",
        [(1, "b.kk")],
    ),
    ("SELECT max(amout) OVER (PARTITION BY idd) AS m FROM frame", [(1, "amout"), (1, "idd")]),
    ("SELECT transform(tags, x -> x || statu) AS t FROM frame", [(1, "statu")]),
]

#: SQL that Spark runs over such a frame.
RUNS = [
    "SELECT ID, Amount FROM FRAME WHERE `Day` > DATE'2026-01-01'",
    "SELECT card.iban, frame.card.bank.name FROM frame",
    "SELECT amount * 2 AS twice, twice + 1 AS more FROM frame GROUP BY twice HAVING more > 1 ORDER BY more",
    "SELECT transform(tags, x -> x || status), aggregate(tags, '', (acc, x) -> acc || x, acc -> upper(acc)) FROM frame",
    "SELECT timestampadd(HOUR, 1, day), extract(DAY FROM day), date_add(MONTH, 1, day) FROM frame",
    "SELECT current_date, current_timestamp, current_user FROM frame WHERE :nominal_time > day",
    "SELECT id FROM frame a WHERE EXISTS (SELECT 1 FROM frame b WHERE b.id = a.id AND amount > 0)",
    "SELECT id, item, pos FROM frame LATERAL VIEW OUTER posexplode(tags) t AS pos, item",
    "SELECT k, v FROM frame LATERAL VIEW explode(map('a', 1)) m AS k, v",
    "SELECT col FROM frame LATERAL VIEW explode(tags) t",
    "SELECT z FROM frame JOIN (VALUES (1), (2)) AS v(z) ON z = id",
    "SELECT a, b FROM frame PIVOT (sum(amount) FOR status IN ('x' AS a, 'y' AS b))",
    "SELECT id, sum(amount) OVER w AS s FROM frame WINDOW w AS (PARTITION BY status ORDER BY day)",
    "SELECT named_struct('a', id).a, struct(id AS q).q, map('x', 1)['x'], tags[0] FROM frame",
    "SELECT count(*) AS n, CASE WHEN status = 'x' THEN 1 END AS c FROM frame GROUP BY ALL",
    "SELECT id FROM frame WHERE (id, day) IN (SELECT id, max(day) FROM frame GROUP BY id)",
    "SELECT /*+ BROADCAST(b) */ a.id FROM frame a JOIN frame b ON a.id = b.id",
    "SELECT CAST(amount AS DECIMAL(10, 2)), INTERVAL 1 DAY FROM frame",
    "SELECT stack(2, 'a', id, 'b', id) AS (k, v) FROM frame",
    "FROM frame SELECT id WHERE amount > 0",
    "SELECT id FROM frame DISTRIBUTE BY id SORT BY day",
    "SELECT first_value(amount) FILTER (WHERE status = 'x') FROM frame TABLESAMPLE (10 PERCENT)",
    "SELECT id FROM frame DISTRIBUTE BY id",
    "SELECT from_json(status, 'a INT, b STRING').a FROM frame",
    "SELECT grouping_id() AS g, status FROM frame GROUP BY GROUPING SETS ((status), ())",
]

#: What a later Spark runs as well.
NOT_IN_SPARK_3_5 = [
    "SELECT id, row_number() OVER (PARTITION BY id ORDER BY day) AS rn FROM frame QUALIFY rn = 1",
    "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < 5) SELECT n, id FROM t, frame",
]


def out(text: str, frame=FRAME):
    return column_flow(text, frame).columns


def unknown(text: str, frame=FRAME):
    return [(each.line, each.name) for each in column_flow(text, frame).unknown]


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("SELECT id, amount AS a, card.iban, day FROM frame", ("id", "a", "iban", "day")),
        ("SELECT * FROM frame", FRAME),
        ("SELECT *, amount * 2 AS twice FROM frame", (*FRAME, "twice")),
        ("SELECT f.*, 1 AS one FROM frame AS f", (*FRAME, "one")),
        ("SELECT * EXCEPT (tags, Card) FROM frame", ("id", "amount", "status", "day")),
        ("WITH c AS (SELECT id, day FROM frame) SELECT *, 1 AS n FROM c", ("id", "day", "n")),
        ("WITH c(a, b) AS (SELECT id, day FROM frame) SELECT * FROM c", ("a", "b")),
        ("WITH a AS (SELECT id FROM frame), b AS (SELECT day FROM frame) SELECT * FROM b", ("day",)),
        ("SELECT * FROM (SELECT id, day FROM frame) AS s", ("id", "day")),
        ("SELECT id FROM frame UNION ALL SELECT amount FROM frame", ("id",)),
        ("(SELECT id FROM frame) UNION SELECT amount FROM frame", ("id",)),
        ("SELECT a.id, b.* FROM frame a JOIN (SELECT id AS k, day FROM frame) b ON a.id = b.k", ("id", "k", "day")),
        ("SELECT * FROM frame JOIN (SELECT id, 1 AS n FROM frame) b USING (id)", (*FRAME, "n")),
        ("SELECT *  FROM frame LATERAL VIEW explode(tags) t AS tag", (*FRAME, "tag")),
        ("SELECT explode(m) AS (k, v), id FROM frame", ("k", "v", "id")),
    ],
)
def test_the_columns_that_come_out_are_told(text, columns):
    assert out(text) == columns
    assert unknown(text.replace("explode(m)", "explode(tags)")) == []


@pytest.mark.parametrize(
    "text",
    [
        "SELECT id, count(*) FROM frame GROUP BY id",
        "SELECT inline(tags) FROM frame",
        "SELECT * FROM frame PIVOT (sum(amount) FOR status IN ('a', 'b'))",
        "SELECT * FROM frame JOIN (VALUES (1)) ON true",
        "SELECT 1 +",
        "",
    ],
)
def test_what_the_text_does_not_tell_is_said_to_be_unknown(text):
    assert out(text) is None


def test_without_the_frames_columns_named_ones_are_still_told_and_none_is_called_unknown():
    assert out("SELECT id, nope AS n FROM frame", None) == ("id", "n")
    assert out("SELECT *, 1 AS n FROM frame", None) is None
    assert unknown("SELECT nope FROM frame", None) == []


@pytest.mark.parametrize(("text", "found"), TYPOS)
def test_a_name_that_nothing_explains_is_found_with_its_line(text, found):
    assert sorted(unknown(text)) == sorted(found)


@pytest.mark.parametrize("text", [*RUNS, *NOT_IN_SPARK_3_5])
def test_what_spark_runs_is_never_called_unknown(text):
    assert unknown(text) == []


@pytest.fixture(scope="module")
def analysed(spark: Any) -> Any:
    """Spark's own analyser over a frame of these columns."""
    types = "id BIGINT, amount DECIMAL(10, 2), status STRING, day DATE, tags ARRAY<STRING>"
    card = "card STRUCT<iban: STRING, bank: STRUCT<name: STRING>>"
    spark.createDataFrame([], f"{types}, {card}").createOrReplaceTempView("frame")
    yield lambda text: spark.sql(text.replace(":nominal_time", "current_timestamp()")).columns
    spark.catalog.dropTempView("frame")


@pytest.mark.spark
def test_spark_itself_agrees_about_what_runs_and_what_comes_out(analysed):
    for text in RUNS:
        columns = analysed(text)
        told = out(text)
        assert told is None or [name.lower() for name in told] == [name.lower() for name in columns], text


@pytest.mark.spark
def test_spark_itself_refuses_the_names_that_nothing_explains(analysed):
    from pyspark.errors import AnalysisException

    for text, found in TYPOS:
        with pytest.raises(AnalysisException) as caught:
            analysed(text)
        assert "[UNRESOLVED_COLUMN" in str(caught.value), (text, found)
