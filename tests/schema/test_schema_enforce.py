"""Every reader's promise: exactly the pinned columns, and never a value that is not what it was."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from pipeline_runtime.errors import SchemaMismatch
from pipeline_runtime.schema.columns import Column, Schema
from pipeline_runtime.schema.enforce import enforce, schema_of

pytestmark = pytest.mark.spark


def pin(**types: str) -> Schema:
    return Schema(tuple(Column(name, type_) for name, type_ in types.items()))


def frame(spark: Any, ddl: str, *rows: tuple[Any, ...]) -> Any:
    return spark.createDataFrame(list(rows), ddl)


def test_the_pinned_columns_come_in_pinned_order_under_their_pinned_names(spark: Any) -> None:
    held = frame(spark, "ID bigint, extra string, Amount decimal(10,2)", (1, "x", Decimal("1.10")))
    enforced = enforce(held, pin(amount="decimal(10,2)", id="bigint"), "raw.t")
    assert enforced.columns == ["amount", "id"]
    assert [tuple(row) for row in enforced.collect()] == [(Decimal("1.10"), 1)]


@pytest.mark.parametrize(
    ("held", "value", "pinned", "expected"),
    [
        ("int", 2147483647, "bigint", 2147483647),
        ("tinyint", 7, "int", 7),
        ("float", 0.5, "double", 0.5),
        ("decimal(10,2)", Decimal("12345678.90"), "decimal(18,2)", Decimal("12345678.90")),
        ("array<int>", [1, None], "array<bigint>", [1, None]),
        ("struct<A:int,b:float>", (1, 0.5), "struct<a:bigint,B:double>", (1, 0.5)),
        ("string", "abc", "varchar(10)", "abc"),
        ("date", date(1582, 10, 4), "date", date(1582, 10, 4)),
    ],
)
def test_a_widening_keeps_every_value(spark: Any, held: str, value: Any, pinned: str, expected: Any) -> None:
    enforced = enforce(frame(spark, f"x {held}", (value,), (None,)), pin(x=pinned), "raw.t")
    assert [row.x for row in enforced.orderBy(enforced.x.isNull()).collect()] == [expected, None]
    expected_type = "string" if pinned.startswith("varchar") else pinned
    assert enforced.schema["x"].dataType.simpleString() == expected_type


@pytest.mark.parametrize(
    ("held", "pinned"),
    [
        ("bigint", "int"),
        ("double", "float"),
        ("decimal(18,2)", "decimal(10,2)"),
        ("decimal(10,2)", "decimal(18,4)"),
        ("int", "string"),
        ("string", "int"),
        ("string", "date"),
        ("date", "timestamp"),
        ("timestamp", "date"),
        ("double", "decimal(10,2)"),
        ("struct<a:int,b:int>", "struct<b:int,a:int>"),
        ("struct<a:int>", "struct<a:int,b:int>"),
        ("array<string>", "array<int>"),
    ],
)
def test_any_other_type_is_refused_with_both_types_and_the_remedy(spark: Any, held: str, pinned: str) -> None:
    with pytest.raises(SchemaMismatch) as caught:
        enforce(frame(spark, f"x {held}"), pin(x=pinned), "raw.t")
    assert str(caught.value) == (
        f"raw.t: column x is {held} and pinned as {pinned}, which does not hold every value exactly. "
        f"Pin {held} and convert in a step."
    )


@pytest.mark.parametrize(("held", "pinned"), [("timestamp_ntz", "timestamp"), ("timestamp", "timestamp_ntz")])
def test_a_wall_clock_is_never_taken_for_an_instant(spark: Any, held: str, pinned: str) -> None:
    with pytest.raises(SchemaMismatch, match=f"column x is {held} and pinned as {pinned}.*time zone"):
        enforce(frame(spark, f"x {held}"), pin(x=pinned), "raw.t")


def test_a_pinned_column_that_is_missing_is_named_with_the_closest(spark: Any) -> None:
    with pytest.raises(SchemaMismatch, match=r"raw\.t: column amount is pinned .* \(closest: amounts\)"):
        enforce(frame(spark, "id int, amounts int"), pin(id="int", amount="int"), "raw.t")


def test_a_name_that_is_there_twice_in_different_case_is_refused(spark: Any) -> None:
    spark.conf.set("spark.sql.caseSensitive", "true")
    try:
        with pytest.raises(SchemaMismatch, match=r"column id is there 2 times \(id, ID\)"):
            enforce(frame(spark, "id int, ID int"), pin(id="int"), "raw.t")
    finally:
        spark.conf.unset("spark.sql.caseSensitive")


def test_every_column_at_fault_is_reported_at_once(spark: Any) -> None:
    with pytest.raises(SchemaMismatch) as caught:
        enforce(frame(spark, "a bigint, c interval day to second"), pin(a="int", b="int", c="string"), "raw.t")
    lines = str(caught.value).splitlines()
    assert [line.split(" is ")[0] for line in lines] == [f"raw.t: column {name}" for name in "abc"]


def test_names_with_dots_and_backticks_are_names(spark: Any) -> None:
    enforced = enforce(frame(spark, "`a.b` int, `c``d` int", (1, 2)), pin(**{"c`d": "bigint", "a.b": "int"}), "raw.t")
    assert [row.asDict() for row in enforced.collect()] == [{"c`d": 2, "a.b": 1}]


def test_a_pin_that_says_not_null_takes_a_frame_that_does_not_say(spark: Any) -> None:
    pinned = Schema((Column("s", "struct<a:bigint not null>", nullable=False),))
    assert enforce(frame(spark, "s struct<a:int>", ((1,),)), pinned, "raw.t").collect() == [((1,),)]


def test_pruning_and_pushdown_reach_the_files_and_no_job_runs(spark: Any, tmp_path: Any) -> None:
    path = str(tmp_path / "t")
    frame(spark, "id int, amount int, extra string", (1, 2, "x"), (3, 4, "y")).write.parquet(path)
    files = spark.read.schema("id int, amount int, extra string").parquet(path)
    spark.sparkContext.setJobGroup("enforce", "")
    try:
        enforced = enforce(files, pin(ID="bigint", amount="int"), "raw.t")
        assert spark.sparkContext.statusTracker().getJobIdsForGroup("enforce") == []
    finally:
        spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)
    wanted = enforced.where("ID = 3 AND amount > 1").select("ID")
    plan = wanted._jdf.queryExecution().executedPlan().toString()
    assert "ReadSchema: struct<id:int,amount:int>" in plan
    assert "EqualTo(id,3)" in plan
    assert "GreaterThan(amount,1)" in plan
    assert [row.ID for row in wanted.collect()] == [3]


def test_a_frames_schema_is_told_in_canonical_types(spark: Any) -> None:
    held = spark.sql("SELECT 1 AS n, CAST(NULL AS timestamp_ntz) AS t, array(named_struct('a', 1L)) AS xs")
    assert schema_of(held) == Schema(
        (
            Column("n", "int", nullable=False),
            Column("t", "timestamp_ntz", nullable=True),
            Column("xs", "array<struct<a:bigint not null> not null>", nullable=False),
        )
    )


def test_a_column_of_no_storable_type_is_named(spark: Any) -> None:
    with pytest.raises(SchemaMismatch, match="column nothing: unknown type void"):
        schema_of(spark.sql("SELECT NULL AS nothing"))
