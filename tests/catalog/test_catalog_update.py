"""Adding table Parameters takes nothing away, whoever else writes meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.stub import Stubber
from glue_lake import Lake, optional

from pipeline_runtime.catalog import update
from pipeline_runtime.catalog.parameters import FRESHNESS_SLA, MEANINGS, OWNER, PREFIX
from pipeline_runtime.catalog.table import TableIdentity
from pipeline_runtime.catalog.update import set_parameters
from pipeline_runtime.errors import CatalogConflict, CatalogError, TableNotFound


def identity(lake: Lake, table: str = "t") -> TableIdentity:
    return TableIdentity(lake.region, lake.account, lake.database, table)


def definition(lake: Lake, table: str = "t") -> dict[str, Any]:
    """GetTable's answer without what every update changes."""
    found = dict(lake.glue.get_table(DatabaseName=lake.database, Name=table)["Table"])
    for moving in ("UpdateTime", "VersionId"):
        found.pop(moving, None)
    return found


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds slept between attempts, which then cost no time."""
    slept: list[float] = []
    # The module's own clock, not the process's: other threads of the tests sleep too.
    monkeypatch.setattr(update, "time", SimpleNamespace(sleep=slept.append))
    return slept


def before_each_update(lake: Lake, action: Callable[[], Any]) -> None:
    """Another writer that is faster: it acts after our GetTable and before our UpdateTable arrives."""
    busy = []

    def interfere(model: Any, **_: Any) -> None:
        if model.name == "UpdateTable" and not busy:
            busy.append(True)
            try:
                action()
            finally:
                busy.clear()

    lake.glue.meta.events.register("before-call.glue", interfere)


def test_reported_cat_3_registering_an_sla_changes_our_keys_and_nothing_else(lake: Lake) -> None:
    lake.glue.create_table(
        DatabaseName=lake.database,
        TableInput={
            "Name": "t",
            "TableType": "EXTERNAL_TABLE",
            "Description": "scored transactions",
            "Owner": "fraud",
            "Retention": 7,
            "Parameters": {"table_type": "ICEBERG", "metadata_location": "s3://b/m3.json", "owner": "x"},
            "StorageDescriptor": {
                "Columns": [{"Name": "id", "Type": "bigint", "Comment": "the key"}],
                "Location": "s3://b/t",
                "SerdeInfo": {"SerializationLibrary": "org.example.Serde", "Parameters": {"path": "s3://b/t"}},
            },
            "PartitionKeys": [{"Name": "dt", "Type": "string", "Comment": "day"}],
        },
    )
    before = definition(lake)
    set_parameters(lake.glue, identity(lake), {FRESHNESS_SLA: "P1D"})
    assert definition(lake) == {**before, "Parameters": {**before["Parameters"], "cordata.freshness_sla": "P1D"}}


def test_reported_cat_4_a_commit_between_our_read_and_write_is_kept(lake: Lake, pauses: list[float]) -> None:
    lake.iceberg_table("t", [optional(1, "id", "long")])
    sent: list[dict[str, Any]] = []
    committed: list[str] = []

    def commit_once() -> None:
        if not committed:
            committed.append(lake.commit("t", [optional(1, "id", "long")]))

    lake.glue.meta.events.register(
        "provide-client-params.glue.UpdateTable", lambda params, **_: sent.append(dict(params))
    )
    before_each_update(lake, commit_once)
    set_parameters(lake.glue, identity(lake), {FRESHNESS_SLA: "P1D"})

    parameters = definition(lake)["Parameters"]
    assert parameters["metadata_location"] == committed[0]
    assert parameters[FRESHNESS_SLA] == "P1D"
    ours = [params for params in sent if FRESHNESS_SLA in params["TableInput"]["Parameters"]]
    assert [(params["VersionId"], params["SkipArchive"]) for params in ours] == [("0", True), ("1", True)]
    assert len(pauses) == 1


def test_writers_that_never_stop_end_in_a_conflict_that_says_nothing_was_set(lake: Lake, pauses: list[float]) -> None:
    lake.iceberg_table("t", [optional(1, "id", "long")])
    before_each_update(lake, lambda: lake.commit("t", [optional(1, "id", "long")]))
    with pytest.raises(CatalogConflict, match=r"in each of 4 attempts to set cordata\.freshness_sla\. Nothing of ours"):
        set_parameters(lake.glue, identity(lake), {FRESHNESS_SLA: "P1D"}, attempts=4)
    assert FRESHNESS_SLA not in definition(lake)["Parameters"]
    assert len(pauses) == 3
    assert max(pauses) < 1


def test_nothing_is_sent_where_nothing_changes(lake: Lake, calls: Any) -> None:
    lake.hive_table("t", {"id": "int"}, parameters={FRESHNESS_SLA: "PT4H"})
    sent = calls(lake.glue)
    assert set_parameters(lake.glue, identity(lake), {FRESHNESS_SLA: "PT4H", OWNER: None}) == {}
    assert sent == ["GetTable"]


def test_what_comes_back_undoes_the_change(lake: Lake) -> None:
    lake.hive_table("t", {"id": "int"}, parameters={FRESHNESS_SLA: "PT4H", "theirs": "1"})
    before = definition(lake)
    previous = set_parameters(lake.glue, identity(lake), {FRESHNESS_SLA: "PT1H", OWNER: "fraud@example.com"})
    assert definition(lake)["Parameters"] == {FRESHNESS_SLA: "PT1H", OWNER: "fraud@example.com", "theirs": "1"}
    assert previous == {FRESHNESS_SLA: "PT4H", OWNER: None}
    set_parameters(lake.glue, identity(lake), previous)
    assert definition(lake) == before


def test_registering_archives_no_version(lake: Lake) -> None:
    lake.hive_table("t", {"id": "int"})
    set_parameters(lake.glue, identity(lake), {FRESHNESS_SLA: "PT4H"})
    kept = lake.glue.get_table_versions(DatabaseName=lake.database, TableName="t")["TableVersions"]
    assert [version["VersionId"] for version in kept] == ["1"]


def test_a_missing_table_and_a_refusal_are_said_plainly(lake: Lake) -> None:
    with pytest.raises(TableNotFound, match=r"\.gone is not in catalog 111122223333"):
        set_parameters(lake.glue, identity(lake, "gone"), {FRESHNESS_SLA: "PT4H"})
    with Stubber(lake.glue) as glue:
        glue.add_client_error("get_table", "AccessDeniedException", "not authorized to perform: glue:GetTable")
        with pytest.raises(CatalogError, match=r"access denied: cannot update .*\.t in catalog 111122223333"):
            set_parameters(lake.glue, identity(lake), {FRESHNESS_SLA: "PT4H"})


def test_every_parameter_key_is_under_the_one_prefix_and_documented() -> None:
    from pipeline_runtime.catalog import parameters

    keys = {value for name, value in vars(parameters).items() if name.isupper() and isinstance(value, str)} - {PREFIX}
    assert keys == set(MEANINGS)
    assert all(key.startswith(PREFIX) and meaning.endswith(".") for key, meaning in MEANINGS.items())
