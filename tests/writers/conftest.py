from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from parquet_lake import ParquetLake
from writer_lake import Lake

from pipeline_runtime.evidence.local import LocalStore


@pytest.fixture
def lake(spark: Any, aws: Any, tmp_path: Path) -> Lake:
    """An empty database."""
    database = f"w_{uuid4().hex[:12]}"
    glue = aws.client("glue")
    glue.create_database(DatabaseInput={"Name": database})
    return Lake(spark, glue, aws.client("s3"), aws.region, database, LocalStore(tmp_path / "evidence"))


@pytest.fixture
def parquet(lake: Lake) -> ParquetLake:
    """An empty database for parquet tables."""
    return ParquetLake(lake.spark, lake.glue, lake.s3, lake.region, lake.database, lake.evidence)
