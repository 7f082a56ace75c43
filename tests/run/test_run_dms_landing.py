"""A run whose source is what AWS DMS landed, on the stand-in for S3."""

from __future__ import annotations

import io
from datetime import date
from decimal import Decimal
from typing import Any

import pytest

pytestmark = pytest.mark.spark

DAY = date(2026, 8, 1)
COLUMNS = {"id": "bigint", "amount": "decimal(10,2)", "status": "string", "day": "date"}


def land(lab: Any, name: str, rows: list[tuple[Any, ...]], logged: bool = True) -> None:
    """Rows of op, commit timestamp, id and amount as one file; without the first two for a full load."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns: dict[str, Any] = {"Op": [row[0] for row in rows], "ts": [row[1] for row in rows]} if logged else {}
    columns |= {
        "id": pa.array([row[2] for row in rows], pa.int64()),
        "amount": pa.array([Decimal(row[3]) for row in rows], pa.decimal128(10, 2)),
        "status": ["settled"] * len(rows),
        "day": [DAY] * len(rows),
    }
    out = io.BytesIO()
    pq.write_table(pa.table(columns), out)
    lab.client("s3").put_object(Bucket=lab.bucket, Key=f"landing/claims/{name}", Body=out.getvalue())


def register(lab: Any, **parameters: str) -> None:
    """The landing table in the catalog, and the descriptor that reads it."""
    lab.client("glue").create_table(
        DatabaseName=lab.raw,
        TableInput={
            "Name": "claims",
            "StorageDescriptor": {
                "Columns": [{"Name": name, "Type": type_} for name, type_ in COLUMNS.items()],
                "Location": f"s3://{lab.bucket}/landing/claims/",
            },
            "Parameters": {f"cordata.{key}": value for key, value in parameters.items()},
        },
    )
    lab.change_descriptor("kind: glue_table", "kind: dms_landing")
    lab.change_descriptor("table: payments\n", "table: claims\n")
    lab.pin(0)


def test_a_landed_change_log_is_published_as_the_rows_it_leaves(lab):
    register(lab, primary_keys="id", cdc_timestamp="ts")
    land(lab, "LOAD00000001.parquet", [(None, None, 1, "10.00"), (None, None, 2, "20.00")], logged=False)
    changes = [("U", "2026-08-01 12:00:00", 1, "30.00"), ("D", "2026-08-01 12:00:00", 2, "20.00")]
    land(lab, "2026/08/01/20260801-120000000.parquet", changes)

    outcome = lab.run()

    assert outcome.code == 0, outcome.trace
    assert lab.rows() == [(1, 0.3, "2026-08-01")]
    assert "WARNING" not in outcome.trace


def test_the_terminal_event_names_the_replication_run_of_the_batch_that_was_read(lab):
    landed_by = "0c0ffee0-1111-4222-8333-444455556666"
    register(lab, primary_keys="id", cdc_timestamp="ts", replication_run=landed_by)
    land(lab, "LOAD00000001.parquet", [(None, None, 1, "10.00")], logged=False)

    outcome = lab.run()

    assert outcome.code == 0, outcome.trace
    assert outcome.terminal["run"]["facets"]["cordata_provenance"]["source_replication_run"] == landed_by


def test_reported_dms_5_updates_of_rows_that_never_came_are_in_the_trace(lab):
    register(lab, primary_keys="id", cdc_timestamp="ts")
    land(lab, "20260801-120000000.parquet", [("U", "2026-08-01 12:00:00", 1, "30.00")])

    outcome = lab.run()

    assert outcome.code == 0, outcome.trace
    assert f"WARNING {lab.raw}.claims: 1 updates are of keys that no earlier row has left" in outcome.trace


def test_reported_dms_5_in_strict_mode_they_fail_the_run_and_nothing_is_published(lab):
    register(lab, primary_keys="id", cdc_timestamp="ts", cdc_strict="true")
    land(lab, "20260801-120000000.parquet", [("U", "2026-08-01 12:00:00", 1, "30.00")])

    outcome = lab.run()

    assert outcome.code == 1
    assert f"{lab.raw}.claims: 20260801-120000000.parquet row 0: an update of a key that no earlier" in outcome.trace
    assert "\tat " not in outcome.trace
    assert lab.definition() is None


def test_a_landing_table_without_primary_keys_fails_before_an_engine_starts(lab):
    register(lab)

    def no_engine(_name: str, _settings: Any) -> Any:
        raise AssertionError("an engine was started")

    outcome = lab.run(start_spark=no_engine)

    assert outcome.code == 1
    assert f"CatalogError: {lab.raw}.claims has no Parameter cordata.primary_keys" in outcome.trace
