"""`plan`: what a run would change at the target, and for whom, told without an engine and without changing anything."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pipeline_runtime.cli import main

ACCOUNT = "111122223333"
DESCRIPTOR = """\
apiVersion: cordata.tech/v2
kind: TransformPipeline
metadata: {{name: orders-daily, domain: shop, owner: shop@example.com}}
source: {{kind: glue_table, database: {raw}, table: orders, contract: {{schema_version: 0}}}}
steps: [{{id: clean, kind: sql, query_file: sql/clean.sql}}]
target:
  kind: parquet
  database: {curated}
  table: orders_daily
  partition_by: [day]
  location: s3://{bucket}/orders_daily/
  contract:
    freshness_sla: PT6H
    lf_tags: {{sensitivity: high, residency: eu}}
    columns:
      - {{name: id, type: bigint}}
      - {{name: total, type: "decimal(18,2)", unit: cents}}
      - {{name: day, type: date}}
expectations: {{suite: expectations/orders.yml, on_failure: warn}}
processing: {{purpose: orders, legal_basis: contract}}
"""
CONSUMER = """\
apiVersion: cordata.tech/v1
kind: TransformPipeline
metadata: {{name: {name}, domain: sales, owner: sales@example.com}}
source: {{kind: glue_table, database: {curated}, table: orders_daily, schema_version: {pin}}}
steps: [{{id: a, kind: sql, query_file: sql/a.sql}}]
target: {{kind: iceberg, database: sales, table: t, location: s3://sales/t/}}
contract: {{freshness_sla: P1D, lf_tags: {{sensitivity: high}}}}
expectations: {{suite: expectations/t.yml, on_failure: warn}}
processing: {{purpose: sales, legal_basis: contract}}
"""
FIRST = {"id": "bigint", "total": "decimal(18,2)"}


class Shop:
    def __init__(self, aws: Any, root: Path, number: int) -> None:
        self.root, self.raw, self.curated = root, f"plan_raw_{number}", f"plan_curated_{number}"
        self.bucket = self.curated.replace("_", "-")
        self.glue, self.tags = aws.client("glue", ACCOUNT), aws.client("lakeformation", ACCOUNT)
        for database in (self.raw, self.curated):
            self.glue.create_database(DatabaseInput={"Name": database})
        known = {tag["TagKey"] for tag in self.tags.list_lf_tags()["LFTags"]}
        for key, values in {"sensitivity": ["low", "high"], "residency": ["eu", "us"]}.items():
            if key not in known:
                self.tags.create_lf_tag(TagKey=key, TagValues=values)
        self.table(self.raw, "orders", {"id": "bigint", "total": "decimal(18,2)", "day": "date"})
        names = {"raw": self.raw, "curated": self.curated, "bucket": self.bucket}
        self.write("shop/pipelines/orders.yml", DESCRIPTOR.format(**names))
        self.write("shop/sql/clean.sql", "SELECT id, total, day FROM frame\n")
        self.write(
            "shop/expectations/orders.yml",
            "suite_name: orders\nexpectations:\n  - type: expect_column_to_exist\n    kwargs: {column: id}\n",
        )

    def write(self, path: str, text: str) -> None:
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text, "utf-8")

    def change(self, path: str, old: str, new: str) -> None:
        text = (self.root / path).read_text("utf-8")
        assert text.count(old) == 1
        self.write(path, text.replace(old, new))

    def table(self, database: str, name: str, columns: dict[str, str], keys: dict[str, str] | None = None, **more: str):
        listed = [{"Name": column, "Type": type_} for column, type_ in columns.items()]
        self.glue.create_table(
            DatabaseName=database,
            TableInput={
                "Name": name,
                "StorageDescriptor": {"Columns": listed, "Location": f"s3://{database.replace('_', '-')}/{name}"},
                "PartitionKeys": [{"Name": key, "Type": type_} for key, type_ in (keys or {}).items()],
                "Parameters": more,
            },
        )

    def published(self, columns: dict[str, str] = FIRST, *, unit: str = "EUR") -> None:
        """The target as an earlier release left it."""
        declared = json.dumps([{"name": "total", "type": "decimal(18,2)", "nullable": True, "unit": unit}])
        facts = {"cordata.freshness_sla": "PT4H", "cordata.owner": "shop@example.com", "cordata.columns": declared}
        facts |= {"cordata.published_by": "orders-daily", "cordata.published_release": "c0"}
        self.table(self.curated, "orders_daily", columns, {"day": "date"}, **facts)
        for day in ("2026-08-01", "2026-08-02"):
            place = {"Location": f"s3://{self.bucket}/orders_daily/_runs/a/day={day}"}
            self.glue.create_partition(
                DatabaseName=self.curated,
                TableName="orders_daily",
                PartitionInput={"Values": [day], "StorageDescriptor": place},
            )
        self.tags.add_lf_tags_to_resource(
            Resource={"Table": {"DatabaseName": self.curated, "Name": "orders_daily"}},
            LFTags=[{"TagKey": "sensitivity", "TagValues": ["low"]}, {"TagKey": "residency", "TagValues": ["eu"]}],
        )

    def consumer(self, name: str, pin: int) -> None:
        self.write(f"sales/pipelines/{name}.yml", CONSUMER.format(name=name, curated=self.curated, pin=pin))


_numbers = iter(range(1, 1_000))


@pytest.fixture
def shop(aws: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shop:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", ACCOUNT)
    return Shop(aws, tmp_path, next(_numbers))


@pytest.fixture
def plan(shop: Shop, capsys: pytest.CaptureFixture[str]):
    def run(*arguments: str) -> tuple[int, str]:
        before = shop.glue.get_tables(DatabaseName=shop.curated)["TableList"]
        code = main(["plan", "shop/pipelines/orders.yml", *arguments])
        assert shop.glue.get_tables(DatabaseName=shop.curated)["TableList"] == before, "a plan changes nothing"
        captured = capsys.readouterr()
        return code, captured.out + captured.err

    return run


def test_a_first_run_creates_the_target(shop, plan):
    code, said = plan()
    assert (code, said) == (
        0,
        f"""\
plan        shop/pipelines/orders.yml  orders-daily (shop)
source      {shop.raw}.orders pinned v0, catalog v0
target      {shop.curated}.orders_daily is created as parquet, at s3://{shop.bucket}/orders_daily/
columns     + id (bigint, nullable)
            + total (decimal(18,2), nullable)
            + day (date, nullable)
partitions  by day: those that the output touches are replaced, which only its rows tell
tags        sensitivity=high is set
            residency=eu is set
contract    freshness_sla PT6H
            owner shop@example.com
            producer orders-daily
            the declaration of the columns is registered
run         nothing known stands in its way
""",
    )


def test_a_further_run_says_what_changes_and_for_whom(shop, plan):
    shop.published({"id": "bigint"})
    shop.consumer("monthly", 0)
    shop.consumer("lost", 9)
    shop.write("sales/pipelines/broken.yml", "apiVersion: cordata.tech/v1\n")

    code, said = plan("--consumers", "shop", "sales")

    assert code == 0
    lines = [line.strip() for line in said.splitlines()]
    for expected in (
        f"target      {shop.curated}.orders_daily is there as parquet (v0), at s3://{shop.bucket}/orders_daily/",
        "columns     + total (decimal(18,2)), declared, is added",
        "partitions  by day: those that the output touches are replaced, which only its rows tell; there are 2 now",
        "tags        sensitivity=high is set, low until now",
        "residency=eu stays",
        "contract    freshness_sla PT6H, PT4H until now",
        "the declaration of the columns is registered",
        '~ total: unit "EUR" -> "cents"',
        f"consumers   2 of 4 descriptors under shop and sales read {shop.curated}.orders_daily",
        "monthly (sales)  pins v0  owner sales@example.com  sales/pipelines/monthly.yml",
        "+ total (decimal(18,2), nullable)   (its pin has to move)",
        '~ total: unit "EUR" -> "cents"   (to be told)',
        "its pin cannot be judged: the catalog has not reached v9; it is at v0",
        f"sales/pipelines/broken.yml cannot be read, so nobody knows whether it reads {shop.curated}.orders_daily",
    ):
        assert expected in lines, f"{expected}\n{said}"


def test_what_would_end_the_run_is_said_and_ends_the_plan_with_1(shop, plan):
    shop.published({"id": "string", "total": "decimal(18,2)", "note": "string"})

    code, said = plan()

    assert code == 1
    assert "would fail: - note (string): the table has it, the output does not" in said
    assert "would fail: ~ id: string in the table, declared as bigint" in said


def test_without_a_declaration_a_new_column_would_end_the_run_and_names_are_what_is_known(shop, plan):
    columns = (shop.root / "shop/pipelines/orders.yml").read_text("utf-8")
    listed = columns[columns.index("    columns:") : columns.index("expectations:")]
    shop.change("shop/pipelines/orders.yml", listed, "")
    shop.published({"id": "bigint"})

    code, said = plan()

    assert code == 1
    assert "would fail: + total: not in the table, and no contract declares it" in said
    assert "the declaration of the columns is taken back" in said


def test_what_a_python_step_makes_of_the_columns_cannot_be_told(shop, plan):
    columns = (shop.root / "shop/pipelines/orders.yml").read_text("utf-8")
    listed = columns[columns.index("    columns:") : columns.index("expectations:")]
    shop.change("shop/pipelines/orders.yml", listed, "")
    shop.change(
        "shop/pipelines/orders.yml", "kind: sql, query_file: sql/clean.sql", "kind: python, module: transforms.x"
    )
    shop.write("shop/transforms/x.py", "def transform(frame, params):\n    return frame\n")

    code, said = plan()

    assert code == 0
    assert "columns     cannot be told: step clean is Python" in said


@pytest.mark.parametrize(
    ("path", "old", "new", "code", "said"),
    [
        ("shop/sql/clean.sql", "total", "tottal", 2, "reads tottal, which is no column of what it reads from"),
        ("shop/pipelines/orders.yml", "sensitivity: high", "sensitivity: huge", 1, "UnknownTagValue: LF-tag"),
        ("shop/pipelines/orders.yml", "table: orders,", "table: ordrs,", 1, "TableNotFound: "),
        ("shop/pipelines/orders.yml", "/orders_daily/", "", 2, "is the root of a bucket"),
    ],
)
def test_what_is_wrong_already_is_said_as_a_run_would_say_it(shop, plan, path, old, new, code, said):
    if path.endswith(".sql"):
        recorded = "".join(f"  - {{name: {n}, type: '{t}'}}\n" for n, t in {**FIRST, "day": "date"}.items())
        head = f"database: {shop.raw}\ntable: orders\nschema_version: 0\ncolumns:\n"
        shop.write(f"shop/schemas/{shop.raw}.orders.v0.yml", head + recorded)
    shop.change(path, old, new)
    ended, out = plan()
    assert ended == code
    assert said in out


def test_a_path_that_leads_to_no_consumers_is_no_plan(shop, plan):
    assert plan("--consumers", "nowhere")[0] == 2
