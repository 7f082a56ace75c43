"""Reading a real PostgreSQL: every row once, every value in its pinned type, nothing else."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pytest
from postgres import Postgres
from pydantic import SecretStr

from pipeline_runtime.catalog.connections import JdbcEndpoint
from pipeline_runtime.catalog.table import CatalogTable, PinnedSource, TableIdentity
from pipeline_runtime.engine.spark_error import failures, short_message
from pipeline_runtime.errors import CatalogError, SchemaMismatch, StepFailed, TableNotFound
from pipeline_runtime.readers.jdbc import check_filters, read_jdbc, release_snapshot
from pipeline_runtime.readers.jdbc_columns import SourceColumn, land
from pipeline_runtime.schema.columns import Column, Schema
from pipeline_runtime.schema.types import canonical

pytestmark = pytest.mark.spark

_numbers = itertools.count(1)


@dataclass(frozen=True)
class Ledger:
    """A schema of its own in the database, with one table."""

    spark: Any
    postgres: Postgres
    schema: str

    def create(self, script: str) -> None:
        self.postgres.sql(f"SET search_path TO {self.schema}, public; SET TIME ZONE 'UTC'; {script}")

    def source(self, *columns: str, table: str = "payments", **parameters: str) -> PinnedSource:
        """The table pinned with columns such as `id bigint`; `primary_keys='id'` is a Parameter."""
        split = [column.split(" ", 1) for column in columns]
        pinned = Schema(tuple(Column(name, canonical(type_)) for name, type_ in split))
        address = f"{self.postgres.database}.{self.schema}.{table}"
        return PinnedSource(
            CatalogTable(
                identity=TableIdentity("eu-central-1", "111122223333", "raw", "payments"),
                version=3,
                schema=pinned,
                location=address,
                is_iceberg=False,
                parameters={f"cordata.{key}": value for key, value in parameters.items()},
            ),
            pinned,
            3,
            jdbc=JdbcEndpoint(
                host=self.postgres.host,
                port=self.postgres.port,
                database=self.postgres.database,
                schema=self.schema,
                table=table,
                url=self.postgres.url,
                user=self.postgres.user,
                password=SecretStr(self.postgres.password),
            ),
        )

    def read(self, *columns: str, **options: str) -> Any:
        return read_jdbc(self.spark, self.source(*columns, **options), "glue_catalog")


@pytest.fixture
def ledger(spark: Any, postgres: Postgres) -> Iterator[Ledger]:
    name = f"ledger_{next(_numbers)}"
    postgres.sql(f"CREATE SCHEMA {name}")
    yield Ledger(spark, postgres, name)
    release_snapshot()
    postgres.sql(f"DROP SCHEMA {name} CASCADE")


def rows(frame: Any) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in frame.collect()), key=repr)


def failure(frame: Any) -> str:
    """What an action on the frame fails with, as a run would say it."""
    with pytest.raises(failures()) as caught:
        frame.collect()
    return short_message(caught.value)


def test_every_row_is_read_once_whatever_the_ranges(ledger: Ledger) -> None:
    ledger.create(
        "CREATE TABLE payments (id bigint, note text);"
        # A skewed key: most rows in one corner, some far out on both sides, some without a key.
        "INSERT INTO payments SELECT g % 7, 'near' FROM generate_series(1, 500) g;"
        "INSERT INTO payments VALUES (-9223372036854775808, 'least'), (9223372036854775807, 'most');"
        "INSERT INTO payments SELECT NULL, 'no key' FROM generate_series(1, 5)"
    )
    frame = ledger.read("id bigint", "note string", primary_keys="id", jdbc_partitions="5")
    assert frame.rdd.getNumPartitions() == 5
    counts = {row["note"]: row["count"] for row in frame.groupBy("note").count().collect()}
    assert counts == {"near": 500, "least": 1, "most": 1, "no key": 5}


@pytest.mark.parametrize(
    ("declared", "pinned", "values"),
    [
        ("date", "date", ["'2026-01-01'", "'2026-12-31'", "'0044-03-15 BC'", "NULL"]),
        (
            "timestamptz",
            "timestamp",
            ["'2026-01-01 00:00:00+00'", "'2026-01-01 00:00:00.5+00'", "'1900-01-01'", "NULL"],
        ),
        ("timestamp", "timestamp_ntz", ["'2026-01-01 00:00:00'", "'2026-06-01 12:00:00'", "NULL"]),
        ("numeric(12,3)", "decimal(12,3)", ["-1.500", "0", "99999999.999", "NULL"]),
        ("smallint", "smallint", ["-32768", "32767", "0", "NULL"]),
    ],
)
def test_every_kind_of_range_column_loses_nothing(
    ledger: Ledger, declared: str, pinned: str, values: list[str]
) -> None:
    inserted = ", ".join(f"({value}, {at})" for at, value in enumerate(values))
    ledger.create(f"CREATE TABLE payments (at {declared}, n int); INSERT INTO payments VALUES {inserted}")
    frame = ledger.read(f"at {pinned}", "n int", jdbc_partition_column="at", jdbc_partitions="3")
    assert frame.rdd.getNumPartitions() == 3
    assert sorted(row["n"] for row in frame.select("n").collect()) == list(range(len(values)))


def test_the_rows_are_those_of_one_moment_whatever_is_written_meanwhile(ledger: Ledger) -> None:
    ledger.create("CREATE TABLE payments (id int PRIMARY KEY); INSERT INTO payments SELECT generate_series(1, 100)")
    frame = ledger.read("id int", primary_keys="id")
    ledger.create("UPDATE payments SET id = 1000 - id; INSERT INTO payments SELECT generate_series(2001, 2100)")
    for _ in range(2):
        assert [row[0] for row in frame.orderBy("id").collect()] == list(range(1, 101))


def test_a_later_read_ends_the_snapshot_of_the_one_before(ledger: Ledger) -> None:
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE state = 'idle in transaction' AND datname = 'ledger'"
    ledger.create("CREATE TABLE payments (id int); INSERT INTO payments SELECT generate_series(1, 10)")
    for _ in range(2):
        ledger.read("id int", primary_keys="id")
        assert ledger.postgres.sql(waiting) == "1"
    release_snapshot()
    assert ledger.postgres.sql(waiting) == "0"


def test_a_table_without_a_key_is_read_by_a_single_query(ledger: Ledger) -> None:
    ledger.create(
        "CREATE TABLE payments (id uuid); INSERT INTO payments SELECT gen_random_uuid() FROM generate_series(1, 9)"
    )
    frame = ledger.read("id string", primary_keys="id")
    assert frame.rdd.getNumPartitions() == 1
    assert frame.count() == 9


def test_an_empty_table_is_an_empty_frame(ledger: Ledger) -> None:
    ledger.create("CREATE TABLE payments (id int, at timestamp)")
    assert ledger.read("id int", "at timestamp_ntz", primary_keys="id").collect() == []


def test_values_keep_their_types(ledger: Ledger) -> None:
    ledger.create(
        "CREATE TYPE status AS ENUM ('open', 'settled');"
        "CREATE DOMAIN money_amount AS numeric(20,4);"
        "CREATE TABLE payments (id bigint, small smallint, paid boolean, rate double precision, ratio real,"
        " amount numeric(18,2), domained money_amount, ref uuid, doc json, docb jsonb, raw bytea, day date,"
        " at timestamptz, wall timestamp, code char(4), label varchar(9), state status, took interval, addr inet);"
        "INSERT INTO payments VALUES (9007199254740993, 7, true, 0.1, 0.5, 1234567890123456.78, 0.0001,"
        " 'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11', '{\"a\":  1}', '{\"a\":  1}', '\\x00ff', '1582-10-04',"
        " '2026-03-29 02:30:00.123456+02', '2026-03-29 02:30:00.123456', 'DE', 'x', 'settled', '1 day', '10.0.0.1')"
    )
    frame = ledger.read(
        "id bigint", "small smallint", "paid boolean", "rate double", "ratio float", "amount decimal(18,2)",
        "domained decimal(20,4)", "ref string", "doc string", "docb string", "raw binary", "day date", "at timestamp",
        "wall timestamp_ntz", "code string", "label varchar(9)", "state string", "took string", "addr string",
    )  # fmt: skip
    assert frame.where("at = TIMESTAMP '2026-03-29 00:30:00.123456'").count() == 1
    assert rows(frame.drop("at")) == [
        (
            9007199254740993, 7, True, 0.1, 0.5, Decimal("1234567890123456.78"), Decimal("0.0001"),
            "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", '{"a":  1}', '{"a": 1}', bytearray(b"\x00\xff"), date(1582, 10, 4),
            datetime(2026, 3, 29, 2, 30, 0, 123456), "DE", "x", "settled", "1 day", "10.0.0.1/32",  # noqa: DTZ001
        )
    ]  # fmt: skip


def test_arrays_are_read_as_far_as_the_pin_says(ledger: Ledger) -> None:
    ledger.create(
        "CREATE TABLE payments (n int[], s smallint[], f float8[], b boolean[], t text[], d numeric(10,2)[], u uuid[],"
        " whole int[], at timestamptz[]);"
        "INSERT INTO payments VALUES ('{1,NULL,3}', '{4}', '{0.5}', '{t,f}', '{a,NULL,\"b,c\"}', '{1.50,NULL}',"
        " '{A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11}', '{7,8}', '{2026-01-01 00:00:00+00}');"
        "INSERT INTO payments (n) VALUES (NULL), ('{}')"
    )
    frame = ledger.read(
        "n array<int>", "s array<smallint>", "f array<double>", "b array<boolean>", "t array<string>",
        "d array<decimal(10,2)>", "u array<string>", "whole string", "at array<string>",
    )  # fmt: skip
    assert frame.count() == 3
    assert tuple(frame.where("whole IS NOT NULL").first()) == (
        [1, None, 3], [4], [0.5], [True, False], ["a", None, "b,c"], [Decimal("1.50"), None],
        ["a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"], "{7,8}", ["2026-01-01 00:00:00+00"],
    )  # fmt: skip


def test_an_array_of_arrays_fails_and_does_not_become_object_addresses(ledger: Ledger) -> None:
    ledger.create("CREATE TABLE payments (id int, tags text[]); INSERT INTO payments VALUES (1, '{{a,b},{c,d}}')")
    frame = ledger.read("id int", "tags array<string>")
    assert "raw.payments: column tags holds an array of arrays. Make it a string" in failure(frame)
    assert rows(frame.select("id")) == [(1,)]


def test_a_numeric_without_precision_is_read_exactly_as_its_pin_says(ledger: Ledger) -> None:
    ledger.create("CREATE TABLE payments (amount numeric); INSERT INTO payments VALUES (1.5), (-99999999.99), (NULL)")
    frame = ledger.read("amount decimal(10,2)")
    assert rows(frame) == [(Decimal("-99999999.99"),), (Decimal("1.50"),), (None,)]
    assert rows(ledger.read("amount string")) == [("-99999999.99",), ("1.5",), (None,)]


@pytest.mark.parametrize("value", ["1.005", "100000000", "'NaN'", "'Infinity'"])
def test_a_numeric_that_the_pinned_decimal_cannot_hold_is_an_error_not_a_rounded_value(
    ledger: Ledger, value: str
) -> None:
    ledger.create(f"CREATE TABLE payments (amount numeric); INSERT INTO payments VALUES (1), ({value})")
    said = failure(ledger.read("amount decimal(10,2)"))
    assert "raw.payments: column amount holds a value that decimal(10,2), its pinned type, cannot hold exactly" in said


def test_not_a_number_in_a_declared_numeric_is_an_error(ledger: Ledger) -> None:
    ledger.create("CREATE TABLE payments (amount numeric(10,2)); INSERT INTO payments VALUES ('NaN')")
    assert "NaN" in failure(ledger.read("amount decimal(10,2)"))


@pytest.mark.parametrize(
    ("declared", "pinned"), [("date", "date"), ("timestamptz", "timestamp"), ("timestamp", "timestamp_ntz")]
)
def test_infinity_is_an_error_not_the_last_day_of_the_year_9999(ledger: Ledger, declared: str, pinned: str) -> None:
    ledger.create(f"CREATE TABLE payments (till {declared}); INSERT INTO payments VALUES ('infinity'), (NULL)")
    assert "raw.payments: column till holds infinity, which Spark's types cannot" in failure(
        ledger.read(f"till {pinned}")
    )
    assert rows(ledger.read("till string")) == [("infinity",), (None,)]


def test_times_do_not_move_where_the_jvm_observes_daylight_saving(ledger: Ledger) -> None:
    ledger.create(
        "CREATE TABLE payments (id int, wall timestamp, at timestamptz, day date);"
        # The wall clock is in Berlin's gap; the instants are the two half past two of one night.
        "INSERT INTO payments VALUES (1, '2026-03-29 02:30:00', '2026-10-25 00:30:00+00', '2026-03-29'),"
        " (2, '1969-12-31 23:59:59.999999', '2026-10-25 01:30:00+00', '1899-12-31')"
    )
    zones = ledger.spark._jvm.java.util.TimeZone
    before = zones.getDefault()
    zones.setDefault(zones.getTimeZone("Europe/Berlin"))
    try:
        frame = ledger.read("id int", "wall timestamp_ntz", "at timestamp", "day date")
        found = rows(frame.selectExpr("id", "CAST(wall AS string)", "CAST(at AS string)", "CAST(day AS string)"))
        later = rows(frame.where("at > TIMESTAMP '2026-10-25 01:00:00'").select("id"))
    finally:
        zones.setDefault(before)
    assert found == [
        (1, "2026-03-29 02:30:00", "2026-10-25 00:30:00", "2026-03-29"),
        (2, "1969-12-31 23:59:59.999999", "2026-10-25 01:30:00", "1899-12-31"),
    ]
    assert later == [(2,)]


def test_only_what_later_steps_need_leaves_the_database(ledger: Ledger) -> None:
    ledger.create(
        "CREATE TABLE payments (id int, amount numeric(10,2), wide text, unpinned text);"
        "INSERT INTO payments VALUES (1, 1.10, 'w', 'u'), (2, 2.20, 'w', 'u')"
    )
    frame = ledger.read("id int", "amount decimal(10,2)", "wide string", primary_keys="id").where("id = 2")
    plan = frame.select("amount")._jdf.queryExecution().executedPlan().toString()
    assert "ReadSchema: struct<amount:decimal(10,2)>" in plan
    assert "EqualTo(id,2)" in plan.split("PushedFilters")[1]
    assert "unpinned" not in plan
    assert rows(frame.select("amount")) == [(Decimal("2.20"),)]


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("at > TIMESTAMP '2026-01-02 00:00:00'", [2, 3]),
        ("wall >= TIMESTAMP_NTZ '2026-01-02 00:00:00'", [2, 3]),
        ("day = DATE '2026-01-02'", [2]),
        ("amount < 2.5", [1, 2]),
        ("paid", [1]),
        ("note > 'Z'", [1, 3, 4]),
        ("startswith(note, 'a_')", [3]),
        ('note = "it\'s"', [4]),
        ("note IS NULL OR note IN ('B', 'ab')", [1, 2, 5]),
        ("ref = 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'", [1]),
        ("array_contains(tags, 'x')", [1]),
        ("note IS NULL OR note <> 'B'", [1, 3, 4, 5]),
        ("note <=> 'B' OR amount > 2.49", [2, 3]),
        ("NOT (amount BETWEEN 2 AND 3 AND note = 'B')", [1, 3, 4]),
    ],
)
def test_a_filter_finds_the_rows_that_spark_itself_would_find(
    ledger: Ledger, condition: str, expected: list[int]
) -> None:
    ledger.create(
        "CREATE TABLE payments (id int, at timestamptz, wall timestamp, day date, amount numeric(10,2), paid boolean,"
        " note text, ref uuid, tags text[]);"
        "INSERT INTO payments VALUES"
        " (1, '2026-01-01 00:00:00+00', '2026-01-01', '2026-01-01', 1, true, 'ab',"
        " 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '{x}'),"
        " (2, '2026-01-02 00:00:00.000001+00', '2026-01-02', '2026-01-02', 2.49, false, 'B', NULL, '{}'),"
        " (3, '2026-01-03 00:00:00+00', '2026-01-03', '2026-01-03', 2.5, NULL, 'a_b', NULL, NULL),"
        " (4, NULL, NULL, NULL, NULL, NULL, 'it''s', NULL, NULL), (5, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)"
    )
    frame = ledger.read(
        "id int", "at timestamp", "wall timestamp_ntz", "day date", "amount decimal(10,2)", "paid boolean",
        "note string", "ref string", "tags array<string>", primary_keys="id", jdbc_partitions="2",
    )  # fmt: skip
    found = sorted(row["id"] for row in frame.where(condition).collect())
    kept = ledger.spark.createDataFrame(frame.collect(), frame.schema)
    assert found == sorted(row["id"] for row in kept.where(condition).collect())
    assert found == expected


@pytest.mark.parametrize("condition", ["NOT (note <=> 'B')", "note IS DISTINCT FROM 'B'"])
def test_a_filter_that_would_lose_rows_with_null_is_refused(ledger: Ledger, condition: str) -> None:
    ledger.create("CREATE TABLE payments (id int, note text); INSERT INTO payments VALUES (1, 'B'), (2, NULL)")
    frame = ledger.read("id int", "note string", primary_keys="id")
    check_filters(frame.where("note <=> 'B'"))
    with pytest.raises(StepFailed, match=r"IS DISTINCT FROM .*loses the rows with NULL. Write \(a IS NULL OR a <> b\)"):
        check_filters(frame.where(condition).groupBy("note").count())


def test_text_compares_byte_by_byte_whatever_the_collation_of_the_column(postgres: Postgres) -> None:
    found = [SourceColumn("plain", "text", "text"), SourceColumn("collated", "text", "text")]
    pinned = Schema(tuple(Column(column.name, "string") for column in found))
    plain, collated = (landing.expression for landing in land(pinned, found, "raw.payments"))
    table = "CREATE TEMP TABLE t (plain text, collated text COLLATE unicode); INSERT INTO t VALUES ('é', 'é€😀');"
    asked = f"SELECT pg_collation_for(c), c FROM (SELECT {plain} AS c FROM t UNION ALL SELECT {collated} FROM t) AS s"
    assert postgres.sql(table + asked).splitlines() == ['"C"|é', '"C"|é€😀']


def test_columns_that_ignore_case_compare_as_spark_does(ledger: Ledger) -> None:
    ledger.create(
        "CREATE EXTENSION IF NOT EXISTS citext SCHEMA public; CREATE TABLE payments (note public.citext, code char(4));"
        "INSERT INTO payments VALUES ('ABC', 'x'), ('abc', 'x')"
    )
    frame = ledger.read("note string", "code char(4)")
    assert frame.where("note = 'abc'").count() == 1
    assert frame.where("length(code) = 1").count() == 2


def test_names_in_mixed_case_are_found(ledger: Ledger) -> None:
    ledger.create(
        'CREATE TABLE "Payments" ("CustomerId" int, "odd ""name" text); INSERT INTO "Payments" VALUES (1, \'x\')'
    )
    frame = ledger.read("customerid int", table="payments", primary_keys="customerid")
    assert frame.columns == ["customerid"]
    assert rows(frame) == [(1,)]


def test_a_view_is_read_like_a_table(ledger: Ledger) -> None:
    ledger.create("CREATE TABLE t (id int); INSERT INTO t VALUES (1); CREATE VIEW payments AS SELECT id FROM t")
    assert rows(ledger.read("id int", primary_keys="id")) == [(1,)]


@pytest.mark.parametrize(
    ("declared", "pinned", "message"),
    [
        (
            "timestamp",
            "timestamp",
            "column c is timestamp without time zone in the database, a wall clock, and pinned as",
        ),
        ("uuid", "bigint", "column c is uuid in the database, for which Spark has no type. Make it a string"),
        ("numeric", "bigint", "column c is numeric in the database, of any precision; make it decimal"),
        ("numeric(12,2)", "decimal(10,2)", r"column c is decimal\(12,2\) and pinned as decimal\(10,2\)"),
        ("int", "smallint", "column c is int and pinned as smallint"),
        ("int[]", "bigint", r"column c is integer\[\] in the database. Make it array<…>"),
        ("timestamptz[]", "array<timestamp>", "whose elements cannot be read as they are. Make it array<string>"),
        ("int", "timestamp", "column c is int and pinned as timestamp"),
    ],
)
def test_a_column_that_does_not_fit_its_pin_is_an_error_before_any_row(
    ledger: Ledger, declared: str, pinned: str, message: str
) -> None:
    ledger.create(f"CREATE TABLE payments (c {declared})")
    with pytest.raises(SchemaMismatch, match=f"raw.payments: .*{message}"):
        ledger.read(f"c {pinned}")


def test_every_column_that_is_missing_is_named_with_the_closest(ledger: Ledger) -> None:
    ledger.create("CREATE TABLE payments (merchant_id int)")
    with pytest.raises(SchemaMismatch) as caught:
        ledger.read("merchantid int", "zone string")
    assert str(caught.value).splitlines() == [
        "raw.payments: column merchantid is pinned and is not in the database's table (closest: merchant_id)",
        "raw.payments: column zone is pinned and is not in the database's table",
    ]


def test_a_table_that_is_not_there_is_an_error_that_names_the_database(ledger: Ledger) -> None:
    with pytest.raises(TableNotFound, match=rf"no table or view {ledger.schema}\.payments in the database ledger on"):
        ledger.read("id int")


def test_a_wrong_password_is_an_error_that_does_not_tell_it(ledger: Ledger) -> None:
    source = ledger.source("id int")
    assert source.jdbc is not None
    wrong = replace(source, jdbc=replace(source.jdbc, password=SecretStr("hunter2-hunter2")))
    with pytest.raises(CatalogError) as caught:
        read_jdbc(ledger.spark, wrong, "glue_catalog")
    assert 'password authentication failed for user "app"' in str(caught.value)
    assert "hunter2" not in str(caught.value)
    assert "hunter2" not in repr(caught.value.__context__) + repr(wrong)


def test_reported_ol_10_no_plan_shows_the_password(ledger: Ledger) -> None:
    ledger.create("CREATE TABLE payments (id int); INSERT INTO payments VALUES (1)")
    frame = ledger.read("id int", primary_keys="id")
    frame.collect()
    assert ledger.postgres.password not in frame._jdf.queryExecution().toString()
