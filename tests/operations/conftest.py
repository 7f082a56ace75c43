"""A lake of products for each test."""

from __future__ import annotations

from pathlib import Path

import pytest
from product_lake import ProductLake

from tests.conftest import Aws


@pytest.fixture
def lake(aws: Aws, tmp_path: Path) -> ProductLake:
    return ProductLake(aws, tmp_path)
