"""The policy domain's landing zone and the domains beside fraud: what is in them, without an engine."""

from __future__ import annotations

import io
import subprocess
import sys
from collections import Counter
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline_runtime.schema.recorded import load_recorded
from sandbox.errors import SandboxError
from sandbox.lake.catalog import ONTOLOGY, create_buckets, create_databases
from sandbox.lake.claims import Claim, bad_changes, history
from sandbox.lake.landing import BAD_FILE, bad_file, landed_files
from sandbox.lake.places import BUCKETS, CLAIMS_LOCATION, POLICY, PRODUCTS
from sandbox.lake.policy import COLUMNS, land_bad_claims, remove_bad_claims, seed_claims

ROOT = Path(__file__).resolve().parents[2]
DOMAINS = ROOT / "domains"
SAMPLE = 4_000

_accounts = (f"4000{number:08}" for number in count())


@pytest.fixture(scope="module")
def files() -> dict[str, pa.Table]:
    """The landing zone's parquet files, by name, oldest first."""
    return {
        name: pq.read_table(io.BytesIO(content))
        for name, content in landed_files(SAMPLE).items()
        if name.endswith(".parquet")
    }


@pytest.fixture(scope="module")
def changes(files: dict[str, pa.Table]) -> list[dict[str, Any]]:
    """All changes in the order of their files and rows, each with its file."""
    logs = {name: table for name, table in files.items() if "Op" in table.column_names}
    return [{**row, "file": name} for name, table in logs.items() for row in table.to_pylist()]


def test_the_same_claims_are_the_same_bytes() -> None:
    assert landed_files(300) == landed_files(300)
    assert bad_file() == bad_file()
    assert landed_files(300) != landed_files(301)


def test_a_claim_never_changes() -> None:
    first = history(300).loaded[0]
    assert (first.claim_id, first.policy_id, first.claim_type, str(first.amount_claimed), str(first.reported_at)) == (
        "C000000000",
        "P76542374",
        "glass",
        "714.31",
        "2026-08-01 00:25:44.027000+00:00",
    )


def test_the_full_load_has_no_op_and_is_older_than_the_column_that_came_later(files: dict[str, pa.Table]) -> None:
    assert [name for name in files if name.startswith("LOAD")] == ["LOAD00000001.parquet", "LOAD00000002.parquet"]
    for name, table in files.items():
        is_load = name.startswith("LOAD")
        assert ("Op" in table.column_names, "channel" in table.column_names) == (not is_load, not is_load)


def test_one_column_is_an_int_in_one_file_and_a_long_in_the_others(files: dict[str, pa.Table]) -> None:
    types = {name: str(table.schema.field("adjuster_id").type) for name, table in files.items()}
    assert types.pop("LOAD00000001.parquet") == "int32"
    assert set(types.values()) == {"int64"}


def test_timestamps_count_milliseconds_in_the_load_and_microseconds_in_the_changes(files: dict[str, pa.Table]) -> None:
    units = {(name.startswith("LOAD"), table.schema.field("reported_at").type.unit) for name, table in files.items()}
    assert units == {(True, "ms"), (False, "us")}


def test_an_empty_marker_lies_beside_the_files() -> None:
    assert landed_files(300)["_SUCCESS"] == b""


def test_one_key_is_changed_several_times_at_the_same_commit_time(changes: list[dict[str, Any]]) -> None:
    commits: dict[tuple[str, str], str] = {}
    for change in changes:
        key = (change["claim_id"], change["commit_ts"])
        commits[key] = commits.get(key, "") + change["Op"]
    assert {"I", "U", "IU", "IUD", "D", "DI"} <= set(commits.values())


def test_a_transaction_is_split_between_two_files(changes: list[dict[str, Any]]) -> None:
    places: dict[tuple[str, str], set[str]] = {}
    for change in changes:
        places.setdefault((change["claim_id"], change["commit_ts"]), set()).add(change["file"])
    assert Counter(len(names) for names in places.values())[2] >= 1


def test_no_change_is_of_a_row_that_is_not_there(files: dict[str, pa.Table], changes: list[dict[str, Any]]) -> None:
    there = {row["claim_id"] for name, table in files.items() if name.startswith("LOAD") for row in table.to_pylist()}
    for change in changes:
        key = change["claim_id"]
        assert (key in there) == (change["Op"] != "I"), change
        there = there - {key} if change["Op"] == "D" else there | {key}


def test_some_losses_were_submitted_twice_under_two_ids() -> None:
    first = {row.claim_id: row for row in history(SAMPLE).loaded}
    losses = Counter((row.policy_id, row.incident_date, row.claim_type, row.amount_claimed) for row in first.values())
    again = sum(times - 1 for times in losses.values())
    assert 0.02 < again / len(first) < 0.04


def test_bad_claims_break_three_rules_and_meet_no_other_claim() -> None:
    rows = [change.row for change in bad_changes()]
    assert sum(row.amount_claimed < 0 for row in rows) == 25
    assert sum(row.currency == "EURO" for row in rows) == 20
    assert sum(row.policy_id is None for row in rows) == 15
    assert {row.claim_id[:2] for row in rows} == {"C9"}
    assert len({row.claim_id for row in rows}) == len(rows) == 60


def test_the_pin_is_what_the_catalog_has_and_what_the_files_hold(aws: Any, files: dict[str, pa.Table]) -> None:
    recorded = load_recorded(DOMAINS / "policy" / "schemas" / "policy_raw.claims.v3.yml")
    assert {column.name: column.type for column in recorded.schema} == dict(COLUMNS)
    assert tuple(COLUMNS) == Claim._fields
    held = {name for table in files.values() for name in table.column_names}
    assert held == {*COLUMNS, "Op", "commit_ts"}


class Zone:
    """The landing zone of an account of its own; objects are one world for all accounts."""

    def __init__(self, aws: Any) -> None:
        account = next(_accounts)
        self.glue, self.s3 = aws.client("glue", account), aws.client("s3")
        create_buckets(self.s3)
        create_databases(self.glue)

    def seed(self, claims: int = 300) -> bool:
        return seed_claims(self.glue, self.s3, claims)

    @property
    def names(self) -> set[str]:
        found = self.s3.list_objects_v2(Bucket=BUCKETS[POLICY], Prefix="claims/").get("Contents", [])
        return {entry["Key"].removeprefix("claims/") for entry in found}

    @property
    def table(self) -> dict[str, Any]:
        return self.glue.get_table(DatabaseName=POLICY, Name="claims")["Table"]


@pytest.fixture
def zone(aws: Any) -> Zone:
    return Zone(aws)


def test_the_landing_table_is_at_the_version_that_the_domain_pins(zone: Zone) -> None:
    zone.seed()
    assert zone.table["VersionId"] == "3"
    assert zone.table["TableType"] == "EXTERNAL_TABLE"
    assert zone.table["StorageDescriptor"]["Location"] == CLAIMS_LOCATION
    facts = {key: value for key, value in zone.table["Parameters"].items() if key.startswith("cordata.")}
    assert facts == {
        "cordata.primary_keys": "claim_id",
        "cordata.cdc_timestamp": "commit_ts",
        "cordata.published_by": "policy-core",
        "cordata.published_release": "v2.3.0",
    }
    before = zone.glue.get_table_version(DatabaseName=POLICY, TableName="claims", VersionId="2")["TableVersion"]
    assert "channel" not in {column["Name"] for column in before["Table"]["StorageDescriptor"]["Columns"]}


def test_claims_are_seeded_once_and_anew_for_another_count(zone: Zone) -> None:
    assert zone.seed(300)
    landed = zone.names
    assert not zone.seed(300)
    assert zone.seed(400)
    assert zone.names != landed
    assert zone.table["VersionId"] == "3"


def test_bad_claims_are_one_more_file_that_can_be_taken_away(zone: Zone) -> None:
    zone.seed()
    before = zone.names
    assert land_bad_claims(zone.glue, zone.s3) == CLAIMS_LOCATION + BAD_FILE
    assert zone.names == before | {BAD_FILE}
    # The newest file of all: DMS names files by time.
    assert max(name for name in zone.names if name[0] == "2") == BAD_FILE
    remove_bad_claims(zone.s3)
    remove_bad_claims(zone.s3)
    assert zone.names == before


def test_without_a_landing_zone_no_bad_claims_land(zone: Zone) -> None:
    with pytest.raises(SandboxError, match=r"there is no policy_raw\.claims: run"):
        land_bad_claims(zone.glue, zone.s3)


def test_every_sample_domain_is_valid() -> None:
    answer = subprocess.run(
        [sys.executable, "-m", "pipeline_runtime", "validate", "domains"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert "3 descriptors checked, no problems" in answer.stdout
    for name in ("claims-ingest (policy)", "merchant-settlement-daily (finance)", "transactions-scored-daily (fraud)"):
        assert name in answer.stdout


@pytest.mark.parametrize("descriptor", sorted(DOMAINS.glob("*/pipelines/*.yml")), ids=lambda path: path.stem)
def test_every_sample_pipeline_finds_its_tables_and_tags_in_the_sandbox(descriptor: Path) -> None:
    from pipeline_runtime.descriptor.load import load
    from pipeline_runtime.kinds import KINDS

    pipeline = load(descriptor, KINDS).descriptor
    for table in (pipeline.source, pipeline.target):
        assert f"{table.database}/{table.table}" in PRODUCTS
    assert pipeline.target.location.startswith(f"s3://{BUCKETS[pipeline.target.database]}/")
    for key, value in pipeline.contract.lf_tags.items():
        assert value in ONTOLOGY[key]
