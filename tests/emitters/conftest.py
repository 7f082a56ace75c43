"""The adapter before which all four emitters meet, and the database that dbt writes and our own source reads."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from adapter_sink import Sink, running_sink
from dbt_project import CARD_PAYMENTS, DBT_OL, DbtProject

from tests.readers.postgres import Postgres, running_postgres


@pytest.fixture(scope="session")
def shared_sink(aws: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sink]:
    with running_sink(aws, tmp_path_factory.mktemp("sink")) as sink:
        yield sink


@pytest.fixture
def sink(shared_sink: Sink) -> Sink:
    """The adapter and DataZone, having forgotten everything."""
    shared_sink.forget()
    return shared_sink


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    with running_postgres() as server:
        server.sql(CARD_PAYMENTS)
        yield server


@pytest.fixture
def project(tmp_path: Path, postgres: Postgres) -> DbtProject:
    if not DBT_OL.exists():
        pytest.skip("dbt is not set up; run `make dbt`")
    return DbtProject.copied(tmp_path / "merchants", postgres)
