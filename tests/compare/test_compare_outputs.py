"""Two outputs hold the same, or where they do not: cells, types, partitions, files."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pipeline_runtime.cli.compare import main

pytestmark = pytest.mark.spark

COLUMNS = "id bigint, amount decimal(10,2), score double, tags map<string,int>, day string"
ROWS = [
    (1, "10.00", 0.1, {"a": 1, "b": 2}, "2026-08-01"),
    (2, "20.00", 0.2, None, "2026-08-01"),
    (3, "30.00", float("nan"), {}, "2026-08-02"),
    (3, "30.00", float("nan"), {}, "2026-08-02"),
    (4, None, None, None, "2026-08-03"),
]

Compare = Callable[..., tuple[int, list[str]]]


@pytest.fixture
def compare(spark: Any, capsys: pytest.CaptureFixture[str], aws: Any) -> Compare:
    """The command on the shared session: its exit code, and its findings or its refusal."""

    def run(*arguments: object) -> tuple[int, list[str]]:
        capsys.readouterr()
        code = main([str(each) for each in arguments], start_spark=lambda _name, _settings: spark)
        out, err = capsys.readouterr()
        return code, (err if code == 2 else out).splitlines()

    return run


@pytest.fixture
def folder(spark: Any, tmp_path: Path) -> Callable[..., Path]:
    """Rows as a folder of parquet files, partitioned by day."""

    def write(name: str, rows: list[tuple[Any, ...]] = ROWS, by: str = "day", files: int = 1, **casts: str) -> Path:
        texts = COLUMNS.replace("decimal(10,2)", "string")
        frame = spark.createDataFrame(rows, texts).withColumns({"amount": _cast(spark, "amount", "decimal(10,2)")})
        for column, type_ in casts.items():
            frame = frame.withColumn(column, frame[column].cast(type_))
        sorted_rows = frame.repartition(files, "id").sortWithinPartitions(by, "id")
        sorted_rows.write.partitionBy(by).parquet(str(tmp_path / name))
        return tmp_path / name

    return write


def _cast(spark: Any, column: str, type_: str) -> Any:
    from pyspark.sql import functions as F  # noqa: N812

    return F.col(column).cast(type_)


def test_the_same_rows_in_other_files_are_the_same_output_and_not_the_same_files(
    compare: Compare, folder: Callable[..., Path]
) -> None:
    first, second = folder("first"), folder("second", list(reversed(ROWS)), files=5)

    assert compare(first, second) == (0, [])
    assert compare(first, second, "--bytes") == (1, ["files: day=2026-08-01: 1 file → 2 files"])
    assert compare(first, folder("again"), "--bytes") == (0, [])


def test_a_changed_cell_is_named(compare: Compare, folder: Callable[..., Path]) -> None:
    first = folder("first")
    changed = [(1, "10.00", 0.1, {"b": 2, "a": 1}, "2026-08-01"), (2, "20.01", 0.2, None, "2026-08-01")]
    second = folder("second", [*changed, *ROWS[2:]])

    assert compare(first, second, "--keys", "ID", "--bytes") == (
        1,
        [
            "rows: 1 only in the first, 1 only in the second",
            "row: id=2: amount 20.00 → 20.01",
            "files: day=2026-08-01: 1 of 1 file differs in its bytes",
        ],
    )
    code, found = compare(first, second)
    assert (code, found[1:]) == (
        1,
        [
            "row: only in the first: id=2, amount=20.00, score=0.2, tags=None, day=2026-08-01",
            "row: only in the second: id=2, amount=20.01, score=0.2, tags=None, day=2026-08-01",
        ],
    )
    assert compare(first, second, "--examples", "0") == (1, ["rows: 1 only in the first, 1 only in the second"])


def test_null_is_not_empty_and_a_map_is_its_entries(compare: Compare, folder: Callable[..., Path]) -> None:
    changed = [*ROWS[:2], *ROWS[2:4], (4, None, None, {}, "2026-08-03")]

    code, found = compare(folder("first"), folder("second", changed), "--keys", "id")

    assert (code, found[1:]) == (1, ["row: id=4: tags None → []"])


def test_a_row_more_often_than_before_counts(compare: Compare, folder: Callable[..., Path]) -> None:
    code, found = compare(folder("first"), folder("second", [*ROWS, *ROWS[2:4]]))

    assert code == 1
    assert found == [
        "partitions: day=2026-08-02: 2 rows → 4 rows",
        "rows: 0 only in the first, 2 only in the second",
        "row: only in the second, 2 times: id=3, amount=30.00, score=nan, tags=[], day=2026-08-02",
    ]


def test_a_changed_type_is_named_and_the_other_columns_are_compared_all_the_same(
    compare: Compare, folder: Callable[..., Path]
) -> None:
    first = folder("first")

    assert compare(first, folder("second", amount="decimal(12,2)")) == (
        1,
        ["schema: ~ amount: decimal(10,2) -> decimal(12,2) (widening)"],
    )
    code, found = compare(first, folder("third", [(9, *ROWS[0][1:]), *ROWS[1:]], amount="double"), "--examples", "0")
    assert (code, len(found)) == (1, 2)
    assert found[1] == "rows: 1 only in the first, 1 only in the second"


def test_a_changed_partition_is_named(compare: Compare, folder: Callable[..., Path]) -> None:
    first = folder("first")
    moved = [(*row[:-1], "2026-08-04" if row[-1] == "2026-08-03" else row[-1]) for row in ROWS]

    code, found = compare(first, folder("second", moved), "--examples", "0", "--bytes")

    assert code == 1
    assert found == [
        "partitions: day=2026-08-03 only in the first, 1 rows",
        "partitions: day=2026-08-04 only in the second, 1 rows",
        "rows: 1 only in the first, 1 only in the second",
        "files: day=2026-08-03: 1 file → 0 files",
        "files: day=2026-08-04: 0 files → 1 file",
    ]


def test_another_partitioning_is_named(compare: Compare, folder: Callable[..., Path]) -> None:
    code, found = compare(folder("first"), folder("second", by="id"), "--examples", "0")

    assert code == 1
    assert "partitions: by day → by id" in found
    assert any(each.startswith("schema: ~ id: bigint -> string") for each in found)


def test_a_partitions_value_is_text(compare: Compare, folder: Callable[..., Path]) -> None:
    numbered = [(*row[:-1], "7") for row in ROWS]
    padded = [(*row[:-1], "007") for row in ROWS]

    code, found = compare(folder("first", numbered), folder("second", padded), "--examples", "0")

    assert code == 1
    assert found[0] == "partitions: day=007 only in the second, 5 rows"


@pytest.fixture
def table(spark: Any, aws: Any) -> Iterator[Callable[[str], str]]:
    """Iceberg tables of two columns; `table(day)` makes one with a row each for two days, given the second day."""
    name = f"compared_{uuid.uuid4().hex[:8]}"
    aws.client("glue").create_database(DatabaseInput={"Name": name, "LocationUri": f"s3://test-lake/{name}"})
    made: list[str] = []

    def create(day: str, by: str = "day") -> str:
        made.append(f"{name}.t{len(made)}")
        spark.sql(
            f"CREATE TABLE glue_catalog.{made[-1]} (id bigint NOT NULL, day date) USING iceberg PARTITIONED BY ({by})"
        )
        values = f"(1, DATE'2026-08-01'), (2, DATE'{day}')"
        spark.sql(f"INSERT INTO glue_catalog.{made[-1]} VALUES {values}")
        return made[-1]

    yield create
    for each in made:
        spark.sql(f"DROP TABLE glue_catalog.{each} PURGE")


def test_iceberg_tables_are_compared_by_what_their_snapshots_show(
    compare: Compare, table: Callable[..., str], spark: Any
) -> None:
    first, second, third = table("2026-08-02"), table("2026-08-02"), table("2026-08-03")

    assert compare(first, second, "--bytes") == (0, [])
    code, found = compare(first, third, "--keys", "id")
    assert code == 1
    assert found == [
        "partitions: day=2026-08-02 only in the first, 1 rows",
        "partitions: day=2026-08-03 only in the second, 1 rows",
        "rows: 1 only in the first, 1 only in the second",
        "row: id=2: day 2026-08-02 → 2026-08-03",
    ]
    monthly = compare(first, table("2026-08-02", by="months(day)"), "--examples", "0")
    assert monthly == (1, ["partitions: by day → by month(day)"])

    before = spark.sql(f"SELECT snapshot_id FROM glue_catalog.{first}.snapshots").collect()[0][0]
    spark.sql(f"DELETE FROM glue_catalog.{first} WHERE id = 2")
    assert compare(f"{first}@{before}", second) == (0, [])
    assert compare(first, second, "--examples", "0")[0] == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("no/such/folder", "FOLDER"), "neither a folder nor"),
        (("no_such.table", "FOLDER"), "no such table"),
        (("EMPTY", "FOLDER"), "cannot be read"),
        (("FOLDER", "FOLDER", "--keys", "uid"), "key uid is no column"),
        (("TABLE@12345", "FOLDER"), "cannot be read"),
    ],
    ids=["path", "table", "empty folder", "key", "snapshot"],
)
def test_what_cannot_be_compared_is_one_clear_refusal(
    compare: Compare,
    folder: Callable[..., Path],
    table: Callable[..., str],
    tmp_path: Path,
    arguments: tuple[str, ...],
    said: str,
) -> None:
    (tmp_path / "empty").mkdir()
    places = {"FOLDER": str(folder("first")), "EMPTY": str(tmp_path / "empty")}
    if any("TABLE" in each for each in arguments):
        places["TABLE"] = table("2026-08-02")

    def placed(text: str) -> str:
        for name, value in places.items():
            text = text.replace(name, value)
        return text

    code, err = compare(*map(placed, arguments))

    assert code == 2
    assert len(err) == 1
    assert said in err[0]
    assert "Traceback" not in err[0]
