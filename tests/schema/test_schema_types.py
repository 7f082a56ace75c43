"""One spelling for every type, and what counts as the same, wider, or fitting."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline_runtime.schema.types import canonical, fits, from_iceberg, from_spark, same, to_spark, widens

numbers = ["tinyint", "smallint", "int", "bigint", "float", "double"]
others = ["boolean", "string", "varchar(20)", "char(3)", "binary", "date", "timestamp", "timestamp_ntz"]
simple = st.sampled_from([*numbers, *others])
decimals = st.integers(1, 38).flatmap(lambda p: st.integers(0, p).map(lambda s: f"decimal({p},{s})"))
names = st.text("aB_9é :,<>`", max_size=4).map(lambda middle: f"f{middle}z")
nullness = st.sampled_from(["", " not null"])


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def nested(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    fields = st.lists(st.tuples(names, inner, nullness), max_size=3, unique_by=lambda field: field[0].casefold())
    structs = fields.map(lambda fs: "struct<" + ",".join(f"{quoted(n)}:{t}{null}" for n, t, null in fs) + ">")
    arrays = st.builds("array<{}{}>".format, inner, nullness)
    maps = st.builds("map<{},{}{}>".format, inner, inner, nullness)
    return structs | arrays | maps


types = st.recursive(simple | decimals, nested, max_leaves=6)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("INT", "int"),
        ("integer", "int"),
        ("LONG", "bigint"),
        ("  double   precision ", "double"),
        ("Decimal", "decimal(10,0)"),
        ("numeric(12)", "decimal(12,0)"),
        ("DECIMAL( 10 , 2 )", "decimal(10,2)"),
        ("VARCHAR(20)", "varchar(20)"),
        ("character(3)", "char(3)"),
        ("timestamp_ltz", "timestamp"),
        ("Struct< Iban : STRING , tags : Array< varchar(3) > >", "struct<Iban:string,tags:array<varchar(3)>>"),
        ("map<string,struct<a:int NOT  NULL>>", "map<string,struct<a:int not null>>"),
        ("struct<plain name:int,`a:b,c`:date>", "struct<`plain name`:int,`a:b,c`:date>"),
    ],
)
def test_glue_spellings_come_out_in_one_canonical_spelling(written: str, expected: str) -> None:
    assert canonical(written) == expected


@given(types)
def test_a_canonical_spelling_is_its_own_canonical_spelling(type_: str) -> None:
    assert canonical(canonical(type_)) == canonical(type_)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ("strnig", "did you mean string"),
        ("uniontype<int,string>", "unknown type uniontype in uniontype<int,string>"),
        ("array<interval>", "unknown type interval in array<interval>"),
        ("struct<a:int", "the end found"),
        ("int x", "the end expected, 'x' found"),
        ("array<>", "a type expected"),
        ("varchar", "'(' expected"),
        ("varchar(3,4)", "1 numbers expected"),
        ("decimal(39,2)", "precision is 1 to 38"),
        ("decimal(4,5)", "scale is 0 to the precision"),
        ("struct<a:int,A:string>", "field A is there twice"),
        ("", "a type expected"),
    ],
)
def test_an_unknown_or_malformed_type_is_an_error_that_says_what_is_wrong(wrong: str, says: str) -> None:
    with pytest.raises(ValueError, match=re.escape(says)):
        canonical(wrong)


@pytest.mark.parametrize(
    ("iceberg", "expected"),
    [
        ("long", "bigint"),
        ("timestamptz", "timestamp"),
        ("timestamp", "timestamp_ntz"),
        ("uuid", "string"),
        ("fixed[16]", "binary"),
        ("decimal(9, 2)", "decimal(9,2)"),
        (
            {
                "type": "struct",
                "fields": [
                    {"id": 4, "name": "Iban", "required": True, "type": "string"},
                    {"id": 5, "name": "bic", "required": False, "type": "string"},
                ],
            },
            "struct<Iban:string not null,bic:string>",
        ),
        ({"type": "list", "element-id": 3, "element-required": True, "element": "int"}, "array<int not null>"),
        (
            {
                "type": "map",
                "key-id": 6,
                "key": "string",
                "value-id": 7,
                "value-required": False,
                "value": {"type": "list", "element-id": 8, "element-required": False, "element": "date"},
            },
            "map<string,array<date>>",
        ),
    ],
)
def test_iceberg_metadata_types_have_canonical_names_with_their_nested_nullability(
    iceberg: str | dict[str, object], expected: str
) -> None:
    assert from_iceberg(iceberg) == expected


@pytest.mark.parametrize("unreadable", ["time", "timestamp_ns", "variant", "decimal", {"type": "union"}])
def test_an_iceberg_type_that_spark_cannot_read_is_refused_by_name(unreadable: str | dict[str, object]) -> None:
    name = unreadable if isinstance(unreadable, str) else str(unreadable["type"])
    with pytest.raises(ValueError, match=name):
        from_iceberg(unreadable)


def test_spark_types_keep_what_is_never_null_inside_them() -> None:
    spark = {
        "type": "struct",
        "fields": [
            {"name": "n", "type": "long", "nullable": False, "metadata": {}},
            {"name": "xs", "nullable": True, "type": {"type": "array", "elementType": "short", "containsNull": False}},
            {
                "name": "m",
                "nullable": True,
                "type": {"type": "map", "keyType": "string", "valueType": "decimal(9,2)", "valueContainsNull": True},
            },
        ],
    }
    expected = "struct<n:bigint not null,xs:array<smallint not null>,m:map<string,decimal(9,2)>>"
    assert from_spark(spark) == expected
    assert from_spark("integer") == "int"


@pytest.mark.parametrize(
    ("canonical_type", "ddl"),
    [
        ("bigint", "bigint"),
        ("varchar(3)", "string"),
        ("array<int not null>", "array<int>"),
        ("struct<a:int not null,`b c`:char(2)>", "struct<`a`: int, `b c`: string>"),
    ],
)
def test_spark_ddl_is_what_spark_can_cast_to(canonical_type: str, ddl: str) -> None:
    assert to_spark(canonical_type) == ddl


WIDER = [
    ("int", "bigint"),
    ("tinyint", "int"),
    ("float", "double"),
    ("decimal(10,2)", "decimal(18,2)"),
    ("varchar(10)", "varchar(20)"),
    ("varchar(10)", "string"),
    ("struct<a:int>", "struct<A:bigint>"),
    ("array<float not null>", "array<double not null>"),
    ("map<string,int>", "map<string,bigint>"),
]
NOT_WIDER = [
    ("bigint", "int"),
    ("double", "float"),
    ("decimal(18,2)", "decimal(10,2)"),
    ("decimal(10,2)", "decimal(18,4)"),
    ("int", "double"),
    ("int", "decimal(10,0)"),
    ("date", "timestamp"),
    ("timestamp", "timestamp_ntz"),
    ("timestamp_ntz", "timestamp"),
    ("string", "varchar(10)"),
    ("char(2)", "char(3)"),
    ("int", "string"),
    ("struct<a:int>", "struct<a:int,b:int>"),
    ("struct<a:int,b:int>", "struct<b:int,a:int>"),
    ("struct<a:int not null>", "struct<a:bigint>"),
    ("array<int>", "map<int,int>"),
]


@pytest.mark.parametrize(("old", "new"), WIDER)
def test_a_type_that_keeps_every_value_exactly_is_a_widening(old: str, new: str) -> None:
    assert widens(old, new)
    assert not widens(new, old)
    assert fits(old, new)


@pytest.mark.parametrize(("old", "new"), NOT_WIDER)
def test_anything_else_is_no_widening(old: str, new: str) -> None:
    assert not widens(old, new)


@given(types)
def test_no_type_is_wider_than_itself_and_every_type_fits_itself(type_: str) -> None:
    type_ = canonical(type_)
    assert same(type_, type_)
    assert not widens(type_, type_)
    assert fits(type_, type_)


@given(types, types)
def test_two_types_are_never_each_wider_than_the_other(one: str, other: str) -> None:
    assert not (widens(canonical(one), canonical(other)) and widens(canonical(other), canonical(one)))


def test_nested_names_are_the_same_in_any_case_and_their_order_counts() -> None:
    assert same("struct<Iban:string>", "struct<iban:string>")
    assert not same("struct<a:int,b:int>", "struct<b:int,a:int>")


@pytest.mark.parametrize(
    ("frame", "pinned", "outcome"),
    [
        ("string", "varchar(10)", True),
        ("array<string>", "array<char(3)>", True),
        ("array<int not null>", "array<int>", True),
        ("array<int>", "array<int not null>", True),
        ("bigint", "int", False),
        ("timestamp_ntz", "timestamp", False),
        ("binary", "varchar(10)", False),
    ],
)
def test_a_frame_fits_a_pin_only_where_nothing_can_be_lost(frame: str, pinned: str, outcome: bool) -> None:
    assert fits(frame, pinned) is outcome
