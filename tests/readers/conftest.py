"""What the readers' tests share beyond the whole suite's fixtures."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from postgres import Postgres, running_postgres


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """One real PostgreSQL; tests keep apart by their own schemas."""
    with running_postgres() as server:
        yield server
