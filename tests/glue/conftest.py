"""One job of the sample domain, as a deployment would describe it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pipeline_runtime.glue.artefact import Artefact
from pipeline_runtime.glue.engines import engine_for
from pipeline_runtime.glue.job import GlueJob


def scored(glue_version: str = "5.1", **changes: Any) -> GlueJob:
    job = GlueJob(
        name="transactions_scored_daily",
        domain="fraud",
        descriptor="domains/fraud/pipelines/transactions_scored.yml",
        engine=engine_for(glue_version),
        artefact=Artefact("s3://cordata-artifacts", "0.1.0"),
        role="arn:aws:iam::111122223333:role/fraud-transforms",
        config="s3://fraud-config/fraud",
        evidence="s3://fraud-evidence",
        lineage_url="https://lineage-adapter.cordata.internal/lineage",
    )
    return replace(job, **changes)


@pytest.fixture(name="scored")
def scored_fixture() -> Any:
    return scored
