"""`validate` follows columns from the source to what target, suite and contract need; `--catalog` asks AWS too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pipeline_runtime.cli import main

DESCRIPTOR = """\
apiVersion: cordata.tech/v2
kind: TransformPipeline
metadata: {{name: orders-daily, domain: shop, owner: shop@example.com}}
source:
  kind: glue_table
  database: {database}
  table: orders
  contract: {{schema_version: 0}}
steps:
  - {{id: clean, kind: sql, query_file: sql/clean.sql}}
  - {{id: score, kind: sql, query_file: sql/score.sql}}
target:
  kind: iceberg
  database: shop_curated
  table: orders_scored
  partition_by: [order_date]
  location: s3://shop-curated/orders_scored/
  contract:
    freshness_sla: PT4H
    lf_tags:
      sensitivity: high
      residency: EU
    columns:
      - {{name: order_id, type: bigint, nullable: false}}
      - {{name: total, type: "decimal(18,2)"}}
      - {{name: order_date, type: date}}
expectations: {{suite: expectations/orders.yml, on_failure: warn}}
processing: {{purpose: orders, legal_basis: contract}}
"""
SUITE = (
    "suite_name: orders\nexpectations:\n  - type: expect_column_values_to_not_be_null\n    kwargs: {column: total}\n"
)
COLUMNS = {"order_id": "bigint", "total": "decimal(18,2)", "status": "string", "order_date": "date"}


class Shop:
    def __init__(self, root: Path, database: str) -> None:
        self.root, self.database = root, database
        self.write("pipelines/orders.yml", DESCRIPTOR.format(database=database))
        self.write("sql/clean.sql", "SELECT *\nFROM frame\nWHERE status = 'paid'\n")
        self.write("sql/score.sql", "SELECT order_id, total, order_date\nFROM frame\n")
        self.write("expectations/orders.yml", SUITE)
        self.record()

    def write(self, path: str, text: str) -> None:
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text, "utf-8")

    def record(self) -> None:
        lines = [f"  - {{name: {name}, type: '{type_}'}}" for name, type_ in COLUMNS.items()]
        head = [f"database: {self.database}", "table: orders", "schema_version: 0", "columns:"]
        self.write(f"schemas/{self.database}.orders.v0.yml", "\n".join([*head, *lines]) + "\n")

    def change(self, path: str, old: str, new: str) -> None:
        text = (self.root / path).read_text("utf-8")
        assert text.count(old) == 1, text
        self.write(path, text.replace(old, new))


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shop:
    monkeypatch.chdir(tmp_path)
    return Shop(tmp_path / "shop", "shop_raw")


@pytest.fixture
def validate(capsys: pytest.CaptureFixture[str]):
    def run(*arguments: str) -> tuple[int, list[str]]:
        code = main(["validate", "shop", *arguments])
        captured = capsys.readouterr()
        return code, (captured.out + captured.err).splitlines()

    return run


def test_columns_that_fit_all_the_way_are_no_problem(shop, validate):
    assert validate()[0] == 0


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        (
            "sql/clean.sql",
            "status =",
            "state =",
            "shop/sql/clean.sql:3: reads state, which is no column of what it reads from; did you mean status?",
        ),
        (
            "sql/clean.sql",
            "SELECT *",
            "SELECT order_id, order_date",
            "shop/sql/score.sql:1: reads total, which is no column of what it reads from; there are order_id, ",
        ),
        (
            "sql/score.sql",
            "order_id, total, order_date",
            "*",
            "shop/pipelines/orders.yml:23: target.contract.columns: the last step's output differs: + status, ",
        ),
        (
            "sql/score.sql",
            "order_id, ",
            "order_id AS orderid, ",
            "shop/pipelines/orders.yml:23: target.contract.columns: the last step's output differs: + orderid, ",
        ),
        (
            "sql/score.sql",
            "SELECT order_id, total, order_date",
            "SELECT * EXCEPT (order_date)",
            "shop/sql/score.sql: selects no order_date, by which the target is partitioned; it selects order_id, ",
        ),
        (
            "expectations/orders.yml",
            "column: total",
            "column: sum",
            "shop/expectations/orders.yml:3: expect_column_values_to_not_be_null: the output has no column sum; ",
        ),
    ],
)
def test_what_does_not_fit_is_found_where_it_stands_also_through_a_star(shop, validate, file, old, new, said):
    shop.change(file, old, new)
    code, lines = validate()
    assert code == 2
    assert any(line.startswith(said) for line in lines), lines


def test_after_a_python_step_only_what_is_named_again_can_be_judged(shop, validate):
    shop.write("transforms/match.py", "def transform(frame, params):\n    return frame\n")
    step = "{id: clean, kind: sql, query_file: sql/clean.sql}"
    shop.change("pipelines/orders.yml", step, "{id: match, kind: python, module: transforms.match}")
    assert validate()[0] == 0
    shop.change("sql/score.sql", "total", "tottal")
    code, lines = validate()
    assert code == 2, "the contract still knows what the last step must return"
    assert any("+ tottal, not declared (did you mean total?)" in line for line in lines)


def test_without_a_recorded_schema_and_without_the_catalog_a_star_stays_a_star(shop, validate):
    (shop.root / "schemas" / "shop_raw.orders.v0.yml").unlink()
    shop.change("sql/clean.sql", "status =", "state =")
    assert validate()[0] == 0


class Catalog:
    """The same domain, its source in a catalog of its own, and governance's tags."""

    def __init__(self, aws: Any, root: Path, number: int) -> None:
        self.shop = Shop(root, f"validate_raw_{number}")
        self.glue = aws.client("glue", "111122223333")
        self.glue.create_database(DatabaseInput={"Name": self.shop.database})
        self.publish(COLUMNS, create=True)
        tags = aws.client("lakeformation", "111122223333")
        known = {tag["TagKey"] for tag in tags.list_lf_tags()["LFTags"]}
        for key, values in {"sensitivity": ["low", "high"], "residency": ["eu", "us"]}.items():
            if key not in known:
                tags.create_lf_tag(TagKey=key, TagValues=values)

    def publish(self, columns: dict[str, str], *, create: bool = False) -> None:
        save = self.glue.create_table if create else self.glue.update_table
        listed = [{"Name": name, "Type": type_} for name, type_ in columns.items()]
        save(
            DatabaseName=self.shop.database,
            TableInput={
                "Name": "orders",
                "StorageDescriptor": {"Columns": listed, "Location": f"s3://{self.shop.database}/orders"},
                "Parameters": {"cordata.published_by": "shop-app", "cordata.published_release": "v2"},
            },
        )


_numbers = iter(range(1, 1_000))


@pytest.fixture
def catalog(aws: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Catalog:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "111122223333")
    return Catalog(aws, tmp_path / "shop", next(_numbers))


def test_a_current_pin_and_known_tags_are_said_beside_the_name(catalog, validate):
    assert validate("--catalog") == (
        0,
        [
            "OK  shop/pipelines/orders.yml  orders-daily (shop)  pinned v0, catalog v0",
            "1 descriptor checked, no problems",
        ],
    )


def test_a_pin_that_is_not_current_is_a_problem_at_its_line(catalog, validate):
    catalog.publish({**COLUMNS, "channel": "string"})
    code, lines = validate("--catalog")
    assert code == 2
    assert lines[0] == (
        f"shop/pipelines/orders.yml:8: source.contract.schema_version: {catalog.shop.database}.orders is at v1, "
        "descriptor pins v0. v1 was published by shop-app release v2. Diff: + channel (string). "
        "Bump the pin to v1 to accept."
    )


def test_every_tag_that_governance_does_not_know_is_a_problem_at_its_line(catalog, validate):
    catalog.shop.change("pipelines/orders.yml", "sensitivity: high", "sensitivity: huge")
    catalog.shop.change("pipelines/orders.yml", "residency: EU", "resident: eu")
    code, lines = validate("--catalog")
    assert code == 2
    assert lines[0].startswith("shop/pipelines/orders.yml:21: target.contract.lf_tags: LF-tag sensitivity=huge: ")
    assert "Did you mean residency?" in lines[1]
    assert lines[1].startswith("shop/pipelines/orders.yml:22: ")


def test_the_catalogs_own_columns_are_followed_where_none_are_recorded(catalog, validate):
    (catalog.shop.root / "schemas" / f"{catalog.shop.database}.orders.v0.yml").unlink()
    catalog.shop.change("sql/clean.sql", "status =", "state =")
    code, lines = validate("--catalog")
    assert code == 2
    assert lines[0].endswith("did you mean status?")


def test_what_cannot_be_told_is_said_and_no_problem(catalog, validate):
    catalog.shop.write("transforms/match.py", "def transform(frame, params):\n    return frame\n")
    step = "{id: score, kind: sql, query_file: sql/score.sql}"
    catalog.shop.change("pipelines/orders.yml", step, "{id: match, kind: python, module: transforms.match}")
    code, lines = validate("--catalog")
    assert code == 0
    assert lines[0].endswith("pinned v0, catalog v0  its columns cannot be told: step match is Python")


def test_without_a_catalog_to_ask_nothing_is_called_right(catalog, validate, monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    code, lines = validate("--catalog")
    assert code == 2
    assert [line for line in lines if line.startswith("ConfigurationError: the catalog cannot be asked")]
    assert not [line for line in lines if line.startswith("OK")]
