"""The output's columns are judged before anything is written."""

from __future__ import annotations

import subprocess
import sys

import pytest
from pyspark.sql import types as t

from pipeline_runtime.catalog.table import TableIdentity
from pipeline_runtime.errors import OutputRefused
from pipeline_runtime.schema.columns import Column, Schema
from pipeline_runtime.writers.output import check_output, output_schema
from pipeline_runtime.writers.plan import TargetPlan


def plan(*partition_by: str) -> TargetPlan:
    identity = TableIdentity("eu-central-1", "111122223333", "fraud", "scored")
    return TargetPlan(identity, "glue_catalog", "iceberg", "s3://lake/fraud/scored", partition_by, None)


def columns(**types: str) -> Schema:
    return Schema(tuple(Column(name, type_) for name, type_ in types.items()))


def frame(*fields: tuple[str, t.DataType]) -> t.StructType:
    return t.StructType([t.StructField(name, type_) for name, type_ in fields])


def test_the_output_of_a_query_is_described_in_canonical_types() -> None:
    output = output_schema(frame(("id", t.LongType()), ("amount", t.DecimalType(18, 2))), plan("id"))

    assert [str(column) for column in output] == ["id (bigint, nullable)", "amount (decimal(18,2), nullable)"]


def test_a_column_selected_twice_is_refused_whatever_its_case() -> None:
    with pytest.raises(OutputRefused, match=r"fraud\.scored: column amount is in the output 2 times"):
        output_schema(frame(("id", t.LongType()), ("amount", t.LongType()), ("Amount", t.LongType())), plan())


def test_a_missing_partition_column_is_refused_with_the_closest_name() -> None:
    with pytest.raises(
        OutputRefused, match=r"partition column business_date is missing \(did you mean busines_date\?\)"
    ):
        output_schema(frame(("id", t.LongType()), ("busines_date", t.DateType())), plan("business_date"))


@pytest.mark.parametrize("type_", [t.ArrayType(t.LongType()), t.BinaryType()], ids=["array", "binary"])
def test_a_column_without_plain_values_cannot_partition(type_: t.DataType) -> None:
    with pytest.raises(OutputRefused, match=r"partition column k is .*, which cannot partition a table"):
        output_schema(frame(("k", type_)), plan("k"))


def test_a_null_without_a_type_is_refused_with_the_remedy() -> None:
    with pytest.raises(OutputRefused, match=r"column note is a NULL without a type: .*CAST\(NULL AS string\)"):
        output_schema(frame(("id", t.LongType()), ("note", t.NullType())), plan())


def test_a_type_that_no_table_holds_is_refused_by_name() -> None:
    with pytest.raises(OutputRefused, match="column took: unknown type interval"):
        output_schema(frame(("took", t.DayTimeIntervalType())), plan())


def test_all_that_is_wrong_with_the_output_is_said_at_once() -> None:
    with pytest.raises(OutputRefused) as refused:
        output_schema(frame(("a", t.NullType()), ("b", t.LongType()), ("B", t.LongType())), plan("day"))

    assert all(part in str(refused.value) for part in ("column b", "column a", "partition column day"))


@pytest.mark.parametrize(
    ("output", "table"),
    [
        ("int", "bigint"),
        ("float", "double"),
        ("decimal(10,2)", "decimal(18,2)"),
        ("timestamp", "timestamp"),
        ("struct<a:int not null>", "struct<A:bigint>"),
    ],
)
def test_an_output_type_may_be_narrower_than_the_tables(output: str, table: str) -> None:
    check_output(columns(v=output), columns(V=table), plan())


@pytest.mark.parametrize(
    ("output", "table"),
    [
        ("bigint", "int"),
        ("double", "float"),
        ("decimal(18,2)", "decimal(10,2)"),
        ("decimal(10,4)", "decimal(10,2)"),
        ("date", "timestamp"),
        ("string", "bigint"),
        ("bigint", "string"),
        ("struct<a:int>", "struct<b:int>"),
    ],
)
def test_reported_an_output_type_that_the_table_cannot_hold_exactly_is_refused(output: str, table: str) -> None:
    with pytest.raises(OutputRefused, match=r"~ v: .* does not fit .* without loss"):
        check_output(columns(v=output), columns(v=table), plan())


@pytest.mark.parametrize(("output", "table"), [("timestamp_ntz", "timestamp"), ("timestamp", "timestamp_ntz")])
def test_reported_a_wall_clock_never_becomes_an_instant_by_itself(output: str, table: str) -> None:
    with pytest.raises(OutputRefused, match="a wall clock is no instant until a zone is named: to_utc_timestamp"):
        check_output(columns(at=output), columns(at=table), plan())


def test_reported_added_removed_and_renamed_columns_are_refused_together() -> None:
    with pytest.raises(OutputRefused) as refused:
        check_output(columns(id="bigint", scores="double", extra="date"), columns(id="bigint", score="double"), plan())

    message = str(refused.value)
    assert "+ scores (double), not in the table (did you mean score?)" in message
    assert "+ extra (date), not in the table;" in message
    assert "- score (double), not in the output" in message
    assert "Nothing was written." in message


def test_the_order_and_the_case_of_columns_do_not_matter() -> None:
    check_output(columns(B="string", a="bigint"), columns(A="bigint", b="string"), plan())


def test_the_writers_are_known_without_an_engine() -> None:
    script = (
        "import sys, pipeline_runtime.writers; "
        "print([name for name in ('pyspark', 'py4j', 'boto3', 'great_expectations') if name in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout == "[]\n"
