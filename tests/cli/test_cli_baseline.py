"""`python -m pipeline_runtime baseline`: a column's distribution as a file that can be reviewed and compared with."""

from __future__ import annotations

import math
import re
import uuid
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline_runtime.cli.baseline import main
from pipeline_runtime.quality.baselines import load_baseline
from pipeline_runtime.quality.measured import Unmeasurable, shares


@given(st.lists(st.integers(0, 10**9), min_size=1, max_size=60).filter(any))
def test_shares_sum_to_one_and_nothing_that_is_there_vanishes(counts):
    found = shares(counts)
    assert math.fsum(found) == pytest.approx(1, abs=1e-9)
    assert all((share > 0) == (count > 0) for share, count in zip(found, counts, strict=True))
    assert all(len(repr(share).partition(".")[2]) <= 6 or "e" in repr(share) for share in found)
    total = sum(counts)
    assert all(abs(share - count / total) <= 1e-6 * len(counts) for share, count in zip(found, counts, strict=True))


def test_nothing_has_no_shares():
    with pytest.raises(Unmeasurable, match="no values"):
        shares([0, 0])


@pytest.fixture(scope="module")
def table(spark: Any, aws: Any) -> str:
    """A thousand rows: scores from 0 to 0.999, NULLs and a NaN beside them."""
    database = f"b_{uuid.uuid4().hex[:8]}"
    aws.client("glue").create_database(DatabaseInput={"Name": database})
    rows = spark.range(1000).selectExpr(
        "CASE WHEN id = 7 THEN double('NaN') WHEN id < 10 THEN NULL ELSE id / 1000 END AS score",
        "CAST(id AS decimal(10,2)) AS amount",
        "CASE WHEN id < 250 THEN 'offen: ja' WHEN id < 1000 THEN \"it's\" END AS status",
        "id < 100 AS urgent",
        "CAST(id % 4 AS int) AS code",
        "DATE'2026-08-01' AS day",
        "1 AS one",
    )
    location = f"s3://test-lake/{database}/t"
    rows.writeTo(f"glue_catalog.{database}.t").using("iceberg").tableProperty("location", location).create()
    return f"{database}.t"


@pytest.fixture
def measure(spark, table, tmp_path, capsys):
    """Runs the command on the table; returns the exit code, what it said, and the file's content."""

    def run(*arguments: str) -> tuple[int, str, Any]:
        file = tmp_path / "baselines" / "b.yml"
        code = main([table, *arguments, "--out", str(file)], start_spark=lambda _name, _settings: spark)
        said = capsys.readouterr()
        content, problems = load_baseline(file, "b.yml") if file.exists() else (None, [])
        assert problems == []
        return code, said.out + said.err, content

    return run


def lines_of(tmp_path: Path) -> list[str]:
    return (tmp_path / "baselines" / "b.yml").read_text("utf-8").splitlines()


@pytest.mark.spark
def test_a_number_is_put_into_bins_that_are_about_equally_full(measure, table, tmp_path):
    code, said, found = measure("--column", "Score", "--bins", "4")

    assert code == 0
    assert "4 bins from 990 values, 10 NULLs not counted: written" in said
    assert found["bins"] == (0.01, 0.257, 0.504, 0.752, 0.999)
    assert math.fsum(found["weights"]) == pytest.approx(1, abs=1e-9)
    assert all(weight == pytest.approx(0.25, abs=0.005) for weight in found["weights"])
    assert lines_of(tmp_path)[:4] == [
        f"# {table}, column Score: the share of each bin, of 990 values.",
        "# 10 NULLs not counted.",
        "bins:",
        "  - 0.01",
    ]


@pytest.mark.spark
def test_measuring_again_changes_nothing_and_other_bins_show_as_a_diff(measure, tmp_path):
    measure("--column", "amount", "--bins", "4")
    before = lines_of(tmp_path)
    assert "unchanged" in measure("--column", "amount", "--bins", "4")[1]
    assert lines_of(tmp_path) == before

    _, said, found = measure("--column", "amount", "--bins", "4", "--equal-width")

    assert "changed; review its diff" in said
    assert found["bins"] == (0, 250, 500, 749, 999)


@pytest.mark.spark
def test_given_breaks_are_kept_and_what_lies_outside_is_in_the_tails(measure):
    code, said, found = measure("--column", "amount", "--breaks", "100,100.5,300,500")
    assert code == 0
    assert found["bins"] == (100, 100.5, 300, 500)
    assert (found["weights"], found["tail_weights"]) == ((0.001, 0.199, 0.201), (0.1, 0.499))
    assert "empty" not in said

    assert "1 bins are empty" in measure("--column", "amount", "--breaks", "0.1,0.9,999")[1]


@pytest.mark.spark
@pytest.mark.parametrize(
    ("arguments", "values", "weights"),
    [
        (("--column", "status"), ("it's", "offen: ja"), (0.75, 0.25)),
        (("--column", "urgent"), (False, True), (0.9, 0.1)),
        (("--column", "code", "--values"), (0, 1, 2, 3), (0.25,) * 4),
    ],
)
def test_categories_have_a_share_each(measure, arguments, values, weights):
    code, _, found = measure(*arguments)
    assert code == 0
    assert (found["values"], found["weights"]) == (values, weights)


@pytest.mark.spark
@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("--column", "scor"), 2, "there is no column scor; there are score, amount, .* Did you mean score\\?"),
        (("--column", "day"), 2, "column day is date; a distribution of this kind needs numbers, text or truth"),
        (("--column", "amount", "--values"), 2, "column amount is decimal\\(10,2\\); .* needs whole numbers, text"),
        (("--column", "status", "--equal-width"), 2, "has values, no bins"),
        (("--column", "one"), 1, "column one has one value only, 1"),
        (("--column", "amount", "--breaks", "3,2"), 1, "edges rise, and there are at least two: 3.0, 2.0"),
        (("--column", "amount", "--bins", "1"), 2, "1 is not from 2 to 1000"),
        (("--column", "amount", "--bins", "5", "--breaks", "1,2"), 2, "not allowed with argument"),
    ],
)
def test_what_has_no_such_distribution_is_told_why_and_nothing_is_written(measure, arguments, code, message, tmp_path):
    found, said, _ = measure(*arguments)
    assert found == code
    assert re.search(message, said)
    assert not (tmp_path / "baselines").exists()


def test_a_table_that_is_not_there_is_told_without_an_engine(aws, tmp_path, capsys):
    def never(*_):
        raise AssertionError("Spark was started")

    out = ["--column", "x", "--out", str(tmp_path / "b.yml")]
    assert main(["nowhere.t", *out], start_spark=never) == 1
    assert main(["t", *out], start_spark=never) == 2
    said = capsys.readouterr().err
    assert "nowhere.t: " in said
    assert "t: a table is named <database>.<table>" in said
