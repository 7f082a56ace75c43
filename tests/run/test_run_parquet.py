"""A pipeline with a parquet target, from descriptor to terminal event."""

from __future__ import annotations

from typing import Any

import pytest
from lab import Lab

from pipeline_runtime.evidence.local import LocalStore
from pipeline_runtime.evidence.runs import RunEvidence

pytestmark = pytest.mark.spark


@pytest.fixture
def parquet(lab: Lab) -> Lab:
    """The lab's pipeline, with parquet for a target."""
    lab.change_descriptor("kind: iceberg", "kind: parquet")
    return lab


def partitions(lab: Lab, table: str = "payments_scored") -> dict[tuple[str, ...], str]:
    """Where each partition of a curated table is, as any reader gets it from Glue."""
    found = lab.client("glue").get_partitions(DatabaseName=lab.curated, TableName=table)["Partitions"]
    return {tuple(each["Values"]): each["StorageDescriptor"]["Location"] for each in found}


def test_a_parquet_product_is_published_tagged_and_reported(parquet: Lab) -> None:
    outcome = parquet.run()

    assert outcome.code == 0, outcome.trace
    assert outcome.terminal["eventType"] == "COMPLETE"
    facets = outcome.terminal["outputs"][0]["outputFacets"]
    assert facets["outputStatistics"]["rowCount"] == 3
    assert parquet.tags()["sensitivity"] == "high"
    definition = parquet.definition()
    assert definition is not None
    assert definition["Parameters"]["cordata.run_id"] == outcome.run_id
    assert definition["Parameters"]["cordata.freshness_sla"] == "PT4H"
    staged = RunEvidence(LocalStore(parquet.evidence), outcome.run_id).staged()
    assert staged is not None
    assert (staged.format, sorted(staged.locations)) == ("parquet", sorted(partitions(parquet).values()))


def test_a_second_run_replaces_the_partitions_of_the_first(parquet: Lab) -> None:
    parquet.run()
    first = partitions(parquet)

    outcome = parquet.run()

    assert outcome.code == 0, outcome.trace
    second = partitions(parquet)
    assert first.keys() == second.keys() == {("2026-08-01",), ("2026-08-02",)}
    assert all(outcome.run_id in place for place in second.values())


def test_a_blocked_run_leaves_a_parquet_target_as_it_was(parquet: Lab) -> None:
    parquet.run()
    before = (parquet.definition(), partitions(parquet))
    parquet.load([(9, "900.00", "settled", "2026-08-01")])

    outcome = parquet.run()

    assert outcome.code == 1, outcome.trace
    assert outcome.terminal["eventType"] == "FAIL"
    assert (parquet.definition(), partitions(parquet)) == before


def test_a_run_whose_last_answer_was_lost_is_complete_if_the_catalog_says_so(
    parquet: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pipeline_runtime.writers.parquet import ParquetBatch

    publish = ParquetBatch.publish

    def lost(batch: ParquetBatch) -> Any:
        publish(batch)
        raise ConnectionResetError("the process was about to end")

    monkeypatch.setattr(ParquetBatch, "publish", lost)
    outcome = parquet.run()

    assert outcome.terminal["eventType"] == "COMPLETE", outcome.trace
    assert outcome.terminal["outputs"][0]["outputFacets"]["outputStatistics"]["rowCount"] == 3
