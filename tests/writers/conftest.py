from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest
from writer_lake import Lake


@pytest.fixture
def lake(spark: Any, aws: Any) -> Lake:
    """An empty database."""
    database = f"w_{uuid4().hex[:12]}"
    glue = aws.client("glue")
    glue.create_database(DatabaseInput={"Name": database})
    return Lake(spark, glue, aws.client("s3"), aws.region, database)
