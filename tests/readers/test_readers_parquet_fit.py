"""Which differences between files and pin are kept exactly, and how the others are told."""

from __future__ import annotations

import pytest

from pipeline_runtime.errors import SchemaMismatch
from pipeline_runtime.readers.parquet_fit import check_files, keeps, read_types
from pipeline_runtime.readers.parquet_footers import FileGroup, PhysicalColumn
from pipeline_runtime.readers.parquet_listing import ParquetFile, folder_values, is_hidden
from pipeline_runtime.readers.parquet_partitions import told_by_folders
from pipeline_runtime.schema.columns import Column


def group(columns: dict[str, str | None], *names: str, parquet: str = "int64") -> FileGroup:
    held = tuple(PhysicalColumn(name, type_, parquet) for name, type_ in columns.items())
    return FileGroup(held, tuple(ParquetFile(f"s3://lake/t/{name}", 1, name) for name in names or ("a.parquet",)))


def told(*groups: FileGroup, pinned: list[Column], **options: bool) -> str:
    with pytest.raises(SchemaMismatch) as caught:
        check_files(groups, pinned, "raw.t", **options)
    return str(caught.value)


@pytest.mark.parametrize(
    ("held", "wanted", "kept"),
    [
        ("int", "bigint", True),
        ("bigint", "int", False),
        ("float", "double", True),
        ("double", "float", False),
        ("decimal(10,2)", "decimal(12,4)", True),
        ("decimal(10,2)", "decimal(11,4)", False),
        ("decimal(12,4)", "decimal(12,2)", False),
        ("bigint", "timestamp", False),
        ("int", "date", False),
        ("bigint", "double", False),
        ("string", "varchar(3)", True),
        ("timestamp_ntz", "timestamp", False),
        ("struct<a:int>", "struct<a:bigint>", True),
        ("struct<a:int,b:int>", "struct<a:int>", False),
    ],
)
def test_a_type_is_read_as_the_pinned_one_only_if_every_value_is_kept(held: str, wanted: str, kept: bool) -> None:
    assert keeps(held, wanted) is kept


def test_one_error_names_every_difference_with_its_column_its_types_and_a_file() -> None:
    message = told(
        group({"id": "bigint", "at": "timestamp_ntz"}, "b.parquet", "c.parquet"),
        group({"id": "int", "at": "bigint"}, "a.parquet"),
        pinned=[Column("id", "int"), Column("at", "timestamp")],
    )
    width, clock, number = message.splitlines()
    assert width == (
        "raw.t: column id is bigint (int64) in s3://lake/t/b.parquet and 1 more file and pinned as int. "
        "int does not hold every bigint. Publish and pin one type that holds the values of all files."
    )
    assert clock == (
        "raw.t: column at is timestamp_ntz (int64) in s3://lake/t/b.parquet and 1 more file and pinned as timestamp. "
        "One is a wall clock and the other an instant, and reading one as the other shifts it by the session's "
        "time zone. Publish and pin timestamp_ntz, and convert in a step that names the zone (to_utc_timestamp)."
    )
    assert number == (
        "raw.t: column at is bigint (int64) in s3://lake/t/a.parquet and pinned as timestamp. "
        "The file does not say in what unit. Publish and pin bigint, and convert in a step; or write timestamps."
    )


def test_a_file_without_a_pinned_column_is_an_error_only_where_the_pin_says_not_null() -> None:
    for nullable in (True, None):
        check_files([group({"id": "int"})], [Column("id", "int"), Column("mail", "string", nullable)], "raw.t")
    message = told(
        group({"id": "int", "e_mail": "string"}), pinned=[Column("id", "int"), Column("mail", "string", False)]
    )
    assert "column mail is pinned as string not null and is not in s3://lake/t/a.parquet (closest: e_mail)" in message


def test_a_column_that_the_pin_has_not_is_an_error_unless_it_is_to_be_ignored() -> None:
    files, pinned = group({"id": "int", "mcc": "string"}), [Column("id", "int")]
    assert told(files, pinned=pinned).startswith("raw.t: column mcc (string) is in s3://lake/t/a.parquet and not in")
    check_files([files], pinned, "raw.t", refuse_unpinned=False)
    check_files([files], pinned, "raw.t", allowed=frozenset({"mcc"}))


def test_names_that_differ_in_case_are_one_column_and_two_of_them_in_a_file_an_error() -> None:
    check_files([group({"ID": "int"})], [Column("id", "bigint")], "raw.t")
    assert "column id is 2 times in s3://lake/t/a.parquet (id, ID)" in told(
        group({"id": "int", "ID": "int"}), pinned=[Column("id", "int")]
    )


def test_a_type_that_spark_does_not_read_is_an_error_only_for_a_pinned_column() -> None:
    files = group({"id": None}, parquet="int64 (TIMESTAMP(NANOS,true))")
    message = told(files, pinned=[Column("id", "timestamp")])
    assert "column id is int64 (TIMESTAMP(NANOS,true)) in s3://lake/t/a.parquet and pinned as timestamp" in message
    assert "Have the producer write microseconds." in message
    check_files([files], [], "raw.t", refuse_unpinned=False)


def test_a_thousand_differences_are_a_message_that_can_be_read() -> None:
    message = told(group({f"c{number}": "string" for number in range(1000)}), pinned=[])
    assert len(message.splitlines()) == 21
    assert message.endswith("and 980 more differences")


def test_files_are_read_with_their_own_types_and_a_missing_column_with_the_pinned_one() -> None:
    pinned = [Column("id", "bigint"), Column("mail", "string")]
    assert read_types(group({"ID": "int"}).columns, pinned) == ("int", "string")


# -- paths -----------------------------------------------------------------------------------------


def at(relative: str, *values: str | None) -> ParquetFile:
    return ParquetFile(f"s3://lake/t/{relative}", 1, relative, values)


@pytest.mark.parametrize("hidden", ["_SUCCESS", ".a.parquet.crc", "_temporary/0/a.parquet", "x._COPYING_", "dt=1/_x"])
def test_marker_and_unfinished_files_are_no_data(hidden: str) -> None:
    assert is_hidden(at(hidden))


@pytest.mark.parametrize("data", ["a.parquet", "_dt=1/a.parquet", "2024/01/part_0"])
def test_other_names_are_data(data: str) -> None:
    assert not is_hidden(at(data))


def test_folders_give_values_as_text_with_hives_escapes_and_its_null() -> None:
    file = at("DT=01/place=a%2Fb/kind=__HIVE_DEFAULT_PARTITION__/run/a.parquet")
    assert folder_values(file, ("dt", "place", "kind"), "raw.t") == ("01", "a/b", None)


def test_a_file_outside_every_partitions_folder_is_an_error_that_names_it() -> None:
    with pytest.raises(SchemaMismatch, match=r"raw\.t: s3://lake/t/a\.parquet lies in no folder dt=…"):
        folder_values(at("a.parquet"), ("dt",), "raw.t")


@pytest.mark.parametrize(
    ("file", "plain"),
    [
        (at("_runs/7/dt=01/a", "01"), True),
        (at("dt=01/run/a", "01"), True),
        (at("dt=__HIVE_DEFAULT_PARTITION__/a", None), True),
        (at("dt=01/a", "1"), False),  # the catalog's word counts
        (at("2024/a", "01"), False),
        (at("dt=a%20b/a", "a b"), False),
        (at("dt=01/dt=02/a", "02"), True),
    ],
)
def test_a_folder_tells_the_value_only_where_it_is_the_catalogs(file: ParquetFile, plain: bool) -> None:
    assert told_by_folders(file, ("dt",)) is plain
