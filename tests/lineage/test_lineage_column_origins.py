"""What Spark's own plans say a column is made of, where the listener names no input of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from pipeline_runtime.lineage.column_origins import Origin, OriginKind, column_origins

pytestmark = pytest.mark.spark

CONSTANT, ROWS, MOMENT = Origin(OriginKind.CONSTANT), Origin(OriginKind.ROWS), Origin(OriginKind.MOMENT)


def columns(*names: str) -> Origin:
    return Origin(OriginKind.COLUMNS, names)


#: One query of a WITH clause used twice.
TWICE = """
WITH one AS (SELECT b, 'x' AS k FROM origins), two AS (SELECT *, b + 1 AS d FROM one)
SELECT x.k, y.d FROM two AS x JOIN two AS y ON x.b = y.b
"""


@pytest.fixture(scope="module")
def frame(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Files with three columns, and the view `origins` on them."""
    path = f"file://{tmp_path_factory.mktemp('origins')}/rows"
    spark.range(6).selectExpr("id", "id * 2 AS b", "string(id % 2) AS c").write.parquet(path)
    rows = spark.read.schema("id bigint, b bigint, c string").parquet(path)
    rows.createOrReplaceTempView("origins")
    yield rows
    spark.catalog.dropTempView("origins")


def origins(answer: Any) -> dict[str, Origin]:
    return column_origins(answer._jdf.queryExecution().analyzed().toJSON())


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT 'x' AS k, 1 + 1 AS two, NULL AS n FROM origins", {"k": CONSTANT, "two": CONSTANT, "n": CONSTANT}),
        ("SELECT id, b + id AS s FROM origins", {"id": columns("id"), "s": columns("b", "id")}),
        ("SELECT current_timestamp() AS t, rand() AS r, uuid() AS u", {"t": MOMENT, "r": MOMENT, "u": MOMENT}),
        ("SELECT count(*) AS n, max(b) AS m FROM origins GROUP BY c", {"n": ROWS, "m": columns("b")}),
        (
            "SELECT row_number() OVER (ORDER BY b) AS r, count(*) OVER () AS n FROM origins",
            {"r": columns("b"), "n": ROWS},
        ),
        (TWICE, {"k": CONSTANT, "d": columns("b")}),
        ("SELECT 'a' AS s FROM origins UNION ALL SELECT c FROM origins", {"s": columns("c")}),
        ("SELECT 'a' AS s FROM origins UNION ALL SELECT 'b' FROM origins", {"s": CONSTANT}),
        ("SELECT x FROM origins LATERAL VIEW explode(array(b, 1)) AS x", {"x": columns("b")}),
        ("SELECT x FROM origins LATERAL VIEW explode(array(1, 2)) AS x", {"x": CONSTANT}),
        (
            "SELECT (SELECT max(b) FROM origins) AS m, EXISTS (SELECT 1 FROM origins WHERE c = '1') AS e FROM origins",
            {"m": columns("b"), "e": ROWS},
        ),
        (
            "SELECT c, grouping(c) AS g, sum(b) AS s FROM origins GROUP BY ROLLUP (c)",
            {"c": columns("c"), "g": ROWS, "s": columns("b")},
        ),
        ("SELECT o.id FROM origins AS o LEFT SEMI JOIN origins AS p ON o.id = p.b", {"id": columns("id")}),
        (
            "SELECT transform(array(1, 2), e -> e + 1) AS k, transform(array(b), e -> e) AS b FROM origins",
            {"k": CONSTANT, "b": columns("b")},
        ),
        ("SELECT a FROM VALUES (1), (2) AS v(a)", {"a": Origin(OriginKind.INLINE)}),
        ("SELECT id AS `Größe`, 1 AS `SUM` FROM origins", {"grösse": columns("id"), "sum": CONSTANT}),
    ],
)
def test_a_querys_columns_are_told_apart(spark: Any, frame: Any, query: str, expected: dict[str, Origin]) -> None:
    assert origins(spark.sql(query)) == expected


def test_what_code_makes_is_no_constant(spark: Any, frame: Any) -> None:
    from pyspark.sql import functions as F  # noqa: N812

    shout = F.udf(lambda text: text.upper())
    made = frame.select("id", shout("c").alias("loud"), F.length(shout("c")).alias("size"))
    assert origins(made) == {
        "id": columns("id"),
        "loud": Origin(OriginKind.CODE, ("c",)),
        "size": Origin(OriginKind.CODE, ("c",)),
    }
    assert origins(frame.select("id").localCheckpoint())["id"].kind is OriginKind.DATA
    assert origins(spark.createDataFrame(frame.rdd, frame.schema))["id"].kind is OriginKind.DATA
    assert origins(frame.mapInPandas(lambda parts: parts, "id bigint"))["id"].kind is OriginKind.DATA


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", "[1]", '[{"class": "a"}]', '[{"class": 1, "num-children": 9}]'])
def test_what_is_no_plan_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        column_origins(text)
