"""A domain of its own for every test of whole runs, and the adapter that hears its events."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lab import Lab

from tests.servers import Adapter, running_adapter


@pytest.fixture(scope="session")
def adapter(aws: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Adapter]:
    with running_adapter(tmp_path_factory.mktemp("received")) as adapter:
        yield adapter


@pytest.fixture
def lab(aws: Any, spark: Any, tmp_path: Path, adapter: Adapter) -> Lab:
    return Lab(aws, spark, tmp_path, adapter)
