"""A small domain on disk, and one descriptor in it that each test bends."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from pipeline_runtime.descriptor.load import KnownKinds, LoadedDescriptor, load
from pipeline_runtime.errors import DescriptorError

KINDS = KnownKinds(
    sources=frozenset({"glue_table", "jdbc"}),
    steps=frozenset({"sql", "python"}),
    targets=frozenset({"iceberg", "parquet"}),
)

DESCRIPTOR = """\
apiVersion: cordata.tech/v1
kind: TransformPipeline
metadata:
  name: orders-daily
  domain: shop
  owner: shop-data@example.com
source:
  kind: glue_table
  database: shop_raw
  table: orders
  schema_version: 7
steps:
  - id: clean
    kind: sql
    query_file: sql/clean.sql
  - id: score
    kind: sql
    query_file: sql/score.sql
    params:
      model: "2026-07"
target:
  kind: iceberg
  database: shop_curated
  table: orders_scored
  partition_by: [order_date]
  location: "s3://shop-curated/orders_scored/"
contract:
  freshness_sla: PT4H
  lf_tags:
    sensitivity: high
expectations:
  suite: expectations/orders.yml
  on_failure: block_publish
processing:
  purpose: order-scoring
  legal_basis: contract
"""


@dataclass(frozen=True)
class Domain:
    """A domain's folder with its one descriptor; `text` is what the descriptor holds."""

    root: Path
    text: str = DESCRIPTOR

    @property
    def descriptor(self) -> Path:
        return self.root / "pipelines" / "orders.yml"

    def with_(self, old: str, new: str) -> Domain:
        """The same domain, its descriptor changed in one place."""
        assert self.text.count(old) == 1, f"{old!r} is there {self.text.count(old)} times"
        return Domain(self.root, self.text.replace(old, new))

    def load(self) -> LoadedDescriptor:
        self.descriptor.write_text(self.text, encoding="utf-8")
        return load(self.descriptor, KINDS, shown_as="orders.yml")

    def refusal(self) -> list[str]:
        """The lines with which the descriptor is refused, without the file's name."""
        with pytest.raises(DescriptorError) as caught:
            self.load()
        return [line.removeprefix("orders.yml:") for line in str(caught.value).splitlines()]


@pytest.fixture
def domain(tmp_path: Path) -> Domain:
    root = tmp_path / "shop"
    for folder in ("pipelines", "sql", "expectations"):
        (root / folder).mkdir(parents=True)
    (root / "sql" / "clean.sql").write_text("SELECT * FROM frame\n")
    (root / "sql" / "score.sql").write_text("SELECT *, :model AS model FROM frame\n")
    (root / "expectations" / "orders.yml").write_text("suite_name: orders\n")
    return Domain(root)
