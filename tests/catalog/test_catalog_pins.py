"""The pin gate: the same columns pass however far the number moved, other columns stop the run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from glue_lake import Lake, optional, required

from pipeline_runtime.catalog.parameters import PUBLISHED_BY, PUBLISHED_RELEASE
from pipeline_runtime.catalog.pins import pin_text, resolve_pin
from pipeline_runtime.catalog.table import PinnedSource
from pipeline_runtime.descriptor.model import Source
from pipeline_runtime.errors import FileProblem, PinAhead, PinNotRetrievable, SchemaDrift
from pipeline_runtime.schema.columns import Column, Schema
from pipeline_runtime.schema.recorded import RecordedSchema, dump_recorded, recorded_path

FIELDS = [required(1, "transaction_id", "string"), optional(2, "amount", "decimal(12,2)")]
COLUMNS = (
    Column("transaction_id", "string", nullable=False, field_id=1),
    Column("amount", "decimal(12,2)", nullable=True, field_id=2),
)
MERCHANT = optional(3, "merchant_category_code", "string")


def record(root: Path, lake: Lake, version: int, columns: Sequence[Column] = COLUMNS, **published: str) -> None:
    path = recorded_path(root, lake.database, "transactions", version)
    path.parent.mkdir(exist_ok=True)
    recorded = RecordedSchema(lake.database, "transactions", version, Schema(tuple(columns)), **published)
    path.write_text(dump_recorded(recorded), encoding="utf-8")


def resolve(lake: Lake, root: Path, pin: int, table: str = "transactions") -> PinnedSource:
    source = Source(kind="glue_table", database=lake.database, table=table, schema_version=pin)
    return resolve_pin(source, root, lake.glue, lake.s3, lake.region)


def at_version(lake: Lake, version: int, fields: Sequence[Any] = FIELDS, **parameters: str) -> None:
    """An Iceberg table that `version` commits have brought there."""
    lake.iceberg_table("transactions", FIELDS)
    for number in range(1, version + 1):
        last = number == version
        lake.commit("transactions", fields if last else FIELDS, parameters=parameters if last else None)


# -- passes ------------------------------------------------------------------------------------


def test_reported_cat_2_appends_move_the_number_and_not_the_schema(lake: Lake, tmp_path: Path) -> None:
    at_version(lake, 6)
    record(tmp_path, lake, 4)
    source = resolve(lake, tmp_path, 4)
    assert source.pinned.columns == COLUMNS
    assert (source.pinned_version, source.table.version) == (4, 6)
    assert pin_text(source) == "catalog v6, schema unchanged since v4"


def test_a_pin_on_the_current_version_needs_no_record_and_no_archive(lake: Lake, tmp_path: Path, calls: Any) -> None:
    at_version(lake, 3)
    sent = calls(lake.glue)
    source = resolve(lake, tmp_path, 3)
    assert sent == ["GetTable"]
    assert source.pinned == source.table.schema
    assert pin_text(source) == "pinned v3, catalog v3"


def test_version_0_can_be_pinned(lake: Lake, tmp_path: Path) -> None:
    lake.iceberg_table("transactions", FIELDS)
    assert pin_text(resolve(lake, tmp_path, 0)) == "pinned v0, catalog v0"


def test_without_a_record_the_archived_version_is_the_reference(lake: Lake, tmp_path: Path) -> None:
    lake.hive_table("transactions", {"id": "bigint"}, keys={"dt": "string"})
    lake.hive_table("transactions", {"id": "bigint"}, keys={"dt": "string"}, parameters={"crawled": "1"}, update=True)
    source = resolve(lake, tmp_path, 0)
    assert source.pinned.names == ("id", "dt")
    assert pin_text(source) == "catalog v1, schema unchanged since v0"


def test_reported_cat_8_a_pin_on_columns_and_partition_keys_holds(lake: Lake, tmp_path: Path) -> None:
    lake.hive_table("transactions", {"id": "bigint"}, keys={"dt": "string"})
    record(tmp_path, lake, 0, [Column("id", "bigint"), Column("dt", "string")])
    assert resolve(lake, tmp_path, 0).pinned.names == ("id", "dt")


def test_the_producer_and_release_come_from_the_table_or_else_from_the_record(lake: Lake, tmp_path: Path) -> None:
    at_version(lake, 2)
    record(tmp_path, lake, 1, producer="card-ledger", release="v4.11.0")
    source = resolve(lake, tmp_path, 1)
    assert (source.published_by, source.published_release) == ("card-ledger", "v4.11.0")
    lake.commit("transactions", FIELDS, parameters={PUBLISHED_BY: "ledger", PUBLISHED_RELEASE: "v5"})
    source = resolve(lake, tmp_path, 1)
    assert (source.published_by, source.published_release) == ("ledger", "v5")


# -- drift -------------------------------------------------------------------------------------


def test_an_added_column_is_drift_and_the_message_names_release_and_remedy(lake: Lake, tmp_path: Path) -> None:
    at_version(lake, 8, [*FIELDS, MERCHANT], **{PUBLISHED_BY: "card-ledger", PUBLISHED_RELEASE: "v4.12.0"})
    record(tmp_path, lake, 7)
    with pytest.raises(SchemaDrift) as drift:
        resolve(lake, tmp_path, 7)
    assert str(drift.value) == (
        f"{lake.database}.transactions is at v8, descriptor pins v7. "
        "v8 was published by card-ledger release v4.12.0. "
        "Diff: + merchant_category_code (string, nullable). Bump the pin to v8 to accept."
    )
    assert (drift.value.pinned_version, drift.value.current_version) == (7, 8)
    assert str(drift.value.diff) == "+ merchant_category_code (string, nullable)"


def test_a_change_that_nobody_signed_is_told_without_a_producer(lake: Lake, tmp_path: Path) -> None:
    changed = [required(1, "transaction_id", "long"), MERCHANT]
    at_version(lake, 1, changed)
    record(tmp_path, lake, 0)
    with pytest.raises(SchemaDrift) as drift:
        resolve(lake, tmp_path, 0)
    assert str(drift.value) == (
        f"{lake.database}.transactions is at v1, descriptor pins v0. "
        "Diff: + merchant_category_code (string, nullable); - amount (decimal(12,2), nullable); "
        "~ transaction_id: string -> bigint. Bump the pin to v1 to accept."
    )


def test_reported_cat_1_a_pin_that_needs_a_dropped_column_sees_it_removed(lake: Lake, tmp_path: Path) -> None:
    still_listed = [{"Name": "amount", "Type": "string", "Parameters": {"iceberg.field.current": "false"}}]
    lake.iceberg_table("transactions", FIELDS[:1], glue_columns=still_listed)
    record(tmp_path, lake, 0)
    with pytest.raises(SchemaDrift, match=r"Diff: - amount \(decimal\(12,2\), nullable\)\."):
        resolve(lake, tmp_path, 0)


@pytest.mark.parametrize(
    ("field", "change"),
    [
        (required(2, "amount", "decimal(12,2)"), "~ amount: nullable -> not null"),
        (optional(2, "amount", "decimal(14,2)"), r"~ amount: decimal\(12,2\) -> decimal\(14,2\)"),
        (optional(9, "amount", "decimal(12,2)"), r"~ amount: dropped and added again \(field id 2 -> 9\)"),
    ],
)
def test_a_changed_column_is_drift(lake: Lake, tmp_path: Path, field: dict[str, Any], change: str) -> None:
    at_version(lake, 1, [FIELDS[0], field])
    record(tmp_path, lake, 0)
    with pytest.raises(SchemaDrift, match=change):
        resolve(lake, tmp_path, 0)


def test_drift_is_seen_against_the_archive_too(lake: Lake, tmp_path: Path) -> None:
    lake.hive_table("transactions", {"id": "bigint"})
    lake.hive_table("transactions", {"id": "bigint", "note": "string"}, update=True)
    with pytest.raises(SchemaDrift, match=r"Diff: \+ note \(string\)\. Bump the pin to v1 to accept\."):
        resolve(lake, tmp_path, 0)


def test_a_record_that_contradicts_the_current_version_asks_to_be_recorded_again(lake: Lake, tmp_path: Path) -> None:
    at_version(lake, 2, [*FIELDS, MERCHANT])
    record(tmp_path, lake, 2)
    with pytest.raises(SchemaDrift, match=r"The recorded schema is not that of v2: record it again") as drift:
        resolve(lake, tmp_path, 2)
    assert "Bump" not in str(drift.value)


# -- no answer is not a pass -------------------------------------------------------------------


def test_reported_cat_2_a_pinned_version_gone_from_history_is_not_retrievable(lake: Lake, tmp_path: Path) -> None:
    at_version(lake, 6)
    with pytest.raises(PinNotRetrievable) as gone:
        resolve(lake, tmp_path, 4)
    message = str(gone.value)
    assert message.startswith(
        f"{lake.database}.transactions is at v6; the pinned version v4 is not retrievable: "
        f"schemas/{lake.database}.transactions.v4.yml does not exist, "
        "and the archive of catalog 111122223333 does not tell v4"
    )
    assert "`python -m pipeline_runtime pin`" in message


def test_a_pin_ahead_of_the_catalog_is_said_as_such_even_with_a_record(lake: Lake, tmp_path: Path) -> None:
    at_version(lake, 2)
    record(tmp_path, lake, 3)
    with pytest.raises(PinAhead, match=r"is at v2, descriptor pins v3, which catalog 111122223333 has not reached"):
        resolve(lake, tmp_path, 3)


def test_a_broken_record_is_reported_by_its_place_in_the_domain(lake: Lake, tmp_path: Path) -> None:
    at_version(lake, 1)
    record(tmp_path, lake, 0)
    path = recorded_path(tmp_path, lake.database, "transactions", 0)
    path.write_text(path.read_text(encoding="utf-8").replace("decimal(12,2)", "decimall"), encoding="utf-8")
    with pytest.raises(FileProblem, match=rf"^schemas/{lake.database}\.transactions\.v0\.yml:6: ") as broken:
        resolve(lake, tmp_path, 0)
    assert str(tmp_path) not in str(broken.value)
