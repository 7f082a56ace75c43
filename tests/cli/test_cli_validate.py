"""`python -m pipeline_runtime validate`: what a pull request is told."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline_runtime.cli.validate import main

ROOT = Path(__file__).resolve().parents[2]

DESCRIPTOR = """\
apiVersion: cordata.tech/v1
kind: TransformPipeline
metadata: {name: orders-daily, domain: shop, owner: shop@example.com}
source: {kind: glue_table, database: shop_raw, table: orders, schema_version: 3}
steps:
  - id: clean
    kind: sql
    query_file: sql/clean.sql
    params: {model: "7"}
target:
  kind: iceberg
  database: shop_curated
  table: orders_scored
  partition_by: [order_date]
  location: s3://shop-curated/orders_scored/
contract:
  freshness_sla: PT4H
  lf_tags: {sensitivity: high}
expectations:
  suite: expectations/orders.yml
  on_failure: warn
processing: {purpose: orders, legal_basis: contract}
"""

SUITE = """\
suite_name: orders
expectations:
  - type: expect_column_values_to_not_be_null
    kwargs: {column: order_id}
"""


def make_domain(root: Path) -> Path:
    for folder in ("pipelines", "sql", "expectations", "schemas", "baselines"):
        (root / folder).mkdir(parents=True)
    (root / "pipelines" / "orders.yml").write_text(DESCRIPTOR)
    (root / "sql" / "clean.sql").write_text("SELECT order_id, order_date, :model AS model\nFROM frame\n")
    (root / "expectations" / "orders.yml").write_text(SUITE)
    return root


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A valid domain at ./domains/shop."""
    monkeypatch.chdir(tmp_path)
    return make_domain(tmp_path / "domains" / "shop")


@pytest.fixture
def validate(shop, capsys):
    """Runs the command; returns its exit code and the lines it printed."""

    def run(*paths: str | Path) -> tuple[int, list[str]]:
        code = main([str(path) for path in paths])
        return code, capsys.readouterr().out.splitlines()

    return run


def change(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert text.count(old) == 1
    path.write_text(text.replace(old, new))


@pytest.mark.parametrize(
    "path",
    ["domains", "domains/shop", "domains/shop/pipelines", "domains/shop/pipelines/orders.yml", "."],
)
def test_a_file_or_a_tree_without_problems_is_one_line_each_and_exit_code_0(validate, path):
    assert validate(path) == (
        0,
        ["OK  domains/shop/pipelines/orders.yml  orders-daily (shop)", "1 descriptor checked, no problems"],
    )


def test_from_within_pipelines_the_folder_is_known_by_its_real_name(validate, shop, monkeypatch):
    monkeypatch.chdir(shop / "pipelines")
    assert validate(".") == (0, ["OK  orders.yml  orders-daily (shop)", "1 descriptor checked, no problems"])


def test_a_domain_elsewhere_is_shown_by_its_full_path(validate, shop, monkeypatch, tmp_path_factory):
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    code, lines = validate(shop)
    assert code == 0
    assert lines[0] == f"OK  {shop}/pipelines/orders.yml  orders-daily (shop)"


def test_every_descriptor_of_a_tree_is_found_once_and_nothing_else(validate, shop):
    make_domain(shop.parent / "deep" / "er" / "shop2")
    make_domain(shop.parent / ".hidden" / "shop3")
    (shop / "pipelines" / "second.yaml").write_text(DESCRIPTOR)
    (shop / "pipelines" / ".draft.yml").write_text("not: one")
    (shop / "pipelines" / "notes.md").write_text("not one")
    (shop / "pipelines" / "archive").mkdir()
    (shop / "pipelines" / "archive" / "old.yml").write_text("not: one")
    (shop / "loop").symlink_to(shop)
    code, lines = validate("domains", "domains/shop", "domains/shop/pipelines/orders.yml")
    assert code == 0
    assert [line.split("  ")[1] for line in lines[:-1]] == [
        "domains/deep/er/shop2/pipelines/orders.yml",
        "domains/shop/pipelines/orders.yml",
        "domains/shop/pipelines/second.yaml",
    ]
    assert lines[-1] == "3 descriptors checked, no problems"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("nowhere", "nowhere: does not exist"),
        ("nowhere.yml", "nowhere.yml: does not exist"),
        ("domains/shop/sql", "domains/shop/sql: holds no descriptor: no pipelines/*.yml at any depth"),
        ("domains/shop/sql/clean.sql", "domains/shop/sql/clean.sql:"),
    ],
)
def test_a_path_that_leads_to_no_descriptor_is_an_error(validate, path, expected):
    code, lines = validate("domains", path)
    assert code == 2
    assert any(line.startswith(expected) for line in lines), lines
    assert lines[0].startswith("OK  domains/shop/pipelines/orders.yml"), "the other paths are still checked"


def test_a_broken_descriptor_does_not_hide_the_others(validate, shop):
    (shop / "pipelines" / "broken.yml").write_text("apiVersion: cordata.tech/v1\nkind: [a\nb\n")
    code, lines = validate("domains")
    assert code == 2
    assert lines[0].startswith("domains/shop/pipelines/broken.yml:2: is not valid YAML")
    assert lines[1:] == [
        "OK  domains/shop/pipelines/orders.yml  orders-daily (shop)",
        "2 descriptors checked, 1 with problems",
    ]


@pytest.mark.parametrize(
    ("file", "old", "new", "expected"),
    [
        ("pipelines/orders.yml", "kind: iceberg", "kind: icebrg", "pipelines/orders.yml:11: target.kind: 'icebrg' is"),
        (
            "pipelines/orders.yml",
            "clean.sql",
            "claen.sql",
            "pipelines/orders.yml:8: steps[0].query_file: 'sql/claen.sql'",
        ),
        (
            "pipelines/orders.yml",
            "/orders.yml",
            "/x.yml",
            "pipelines/orders.yml:20: expectations.suite: 'expectations/x.yml'",
        ),
        (
            "sql/clean.sql",
            "FROM frame",
            "FROM raw.t",
            "sql/clean.sql:2: reads raw.t; a step reads frame and nothing else",
        ),
        ("sql/clean.sql", ":model", ":modle", "sql/clean.sql:1: takes :modle, which the step's params do not give"),
        (
            "sql/clean.sql",
            "order_date, ",
            "",
            "sql/clean.sql: selects no order_date, by which the target is partitioned",
        ),
        (
            "sql/clean.sql",
            "order_id, ",
            "",
            "expectations/orders.yml:3: expect_column_values_to_not_be_null: the output has no",
        ),
        (
            "expectations/orders.yml",
            "_not_be_null",
            "_not_be_nul",
            "expectations/orders.yml:3: expect_column_values_to_not_be",
        ),
        (
            "expectations/orders.yml",
            "column:",
            "colum:",
            "expectations/orders.yml:4: expect_column_values_to_not_be_null:",
        ),
        ("expectations/orders.yml", "expectations:", "expectation:", "expectations/orders.yml:"),
    ],
)
def test_what_a_descriptor_names_is_checked_with_it(validate, shop, file, old, new, expected):
    change(shop / file, old, new)
    code, lines = validate("domains")
    assert code == 2
    assert any(line.startswith(f"domains/shop/{expected}") for line in lines), lines
    assert lines[-1] == "1 descriptor checked, 1 with problems"


def test_a_missing_baseline_is_a_problem_of_the_suite(validate, shop):
    change(
        shop / "expectations" / "orders.yml",
        "  - type: expect_column_values_to_not_be_null\n",
        "  - type: expect_column_kl_divergence_to_be_less_than\n"
        "    kwargs: {column: model, partition_object: baseline_model, threshold: 0.1}\n"
        "  - type: expect_column_values_to_not_be_null\n",
    )
    code, lines = validate("domains")
    assert code == 2
    assert "baseline_model" in lines[0]
    assert lines[0].startswith("domains/shop/expectations/orders.yml:4: ")


def test_a_recorded_schema_that_cannot_be_read_is_a_problem(validate, shop):
    recorded = shop / "schemas" / "shop_raw.orders.v3.yml"
    recorded.write_text("database: shop_raw\ntable: orders\nschema_version: 3\ncolumns: []\n")
    code, lines = validate("domains")
    assert code == 2
    assert lines[0].startswith("domains/shop/schemas/shop_raw.orders.v3.yml:4: columns: ")


def test_all_problems_of_a_pipeline_come_at_once(validate, shop):
    change(shop / "sql" / "clean.sql", "FROM frame", "FROM frame JOIN other")
    change(shop / "expectations" / "orders.yml", "_not_be_null", "_not_be_nul")
    _, lines = validate("domains")
    assert [line.split(":")[0] for line in lines[:-1]] == [
        "domains/shop/expectations/orders.yml",
        "domains/shop/sql/clean.sql",
    ]


def test_a_missing_file_does_not_hide_what_is_wrong_with_the_others(validate, shop):
    (shop / "expectations" / "orders.yml").unlink()
    change(shop / "sql" / "clean.sql", "FROM frame", "FROM frame JOIN other")
    _, lines = validate("domains")
    assert [line.split(": ")[0] for line in lines[:-1]] == [
        "domains/shop/pipelines/orders.yml:20",
        "domains/shop/sql/clean.sql:2",
    ]


def test_an_output_whose_columns_are_not_certain_is_left_to_the_run(validate, shop):
    (shop / "sql" / "clean.sql").write_text("SELECT *, :model AS model FROM frame\n")
    assert validate("domains")[0] == 0


def test_a_byte_order_mark_in_the_sql_is_no_problem(validate, shop):
    path = shop / "sql" / "clean.sql"
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert validate("domains")[0] == 0


def test_without_a_path_the_usage_is_shown(capsys):
    with pytest.raises(SystemExit) as caught:
        main([])
    assert caught.value.code == 2
    assert "usage: python -m pipeline_runtime validate" in capsys.readouterr().err


def test_the_help_says_what_it_does_and_how_it_ends(capsys):
    with pytest.raises(SystemExit) as caught:
        main(["--help"])
    assert caught.value.code == 0
    shown = re.sub(r"\s+", " ", capsys.readouterr().out)
    assert "Needs no engine and no AWS" in shown
    assert "exit codes: 0 no problems, 2 a problem" in shown


def test_the_sample_domains_are_without_problems(monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    code = main(["domains"])
    assert (code, capsys.readouterr().out.splitlines()[-1].endswith("no problems")) == (0, True)


_HEAVY = ("pyspark", "py4j", "great_expectations", "pandas", "numpy", "openlineage", "boto3", "botocore")


def test_nothing_of_an_engine_or_of_aws_is_imported(shop):
    program = (
        "import sys; from pipeline_runtime.cli import main; code = main(['validate', 'domains']); "
        f"print([name for name in {_HEAVY} if name in sys.modules]); sys.exit(code)"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.splitlines()[-1] == "[]"
