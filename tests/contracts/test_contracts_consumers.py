"""The producer's check: each consumer is judged on the version it pins, and what cannot be judged fails."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from contract_samples import COLUMNS, changed, proposal_text

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = Path(__file__).parent / "golden"


# -- the transcript -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def sample_catalog(aws: Any) -> dict[str, str]:
    """The environment of an account whose catalog holds the sample's tables."""
    from sandbox.lake.bare import lay_out

    account = "999900001111"
    lay_out(*(aws.client(service, account) for service in ("glue", "s3", "lakeformation")))
    return {**os.environ, "AWS_ACCESS_KEY_ID": account}


@pytest.mark.parametrize(
    ("proposal", "code"), [("card-ledger-v5.0.0", 1), ("card-ledger-v4.12.0", 0)], ids=["breaking", "additive"]
)
def test_the_command_prints_the_checked_in_transcript(sample_catalog, proposal, code):
    done = subprocess.run(
        [sys.executable, "-m", "pipeline_runtime.consumers", f"domains/proposals/{proposal}.yml", "domains"],
        cwd=ROOT,
        env=sample_catalog,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.stdout == (GOLDEN / f"{proposal}.txt").read_text("utf-8")
    assert done.returncode == code, done.stderr


# -- what breaks and what does not ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("columns", "line"),
    [
        ({"note": None}, "- note (string, nullable)   <- breaks"),
        ({"amount": ("string", False)}, "~ amount: decimal(10,2) -> string   <- breaks"),
        ({"tx_id": ("string", True)}, "~ tx_id: not null -> nullable   <- breaks"),
    ],
)
def test_a_removed_a_retyped_and_a_loosened_column_break(consumers, check, columns, line):
    consumers.descriptor()
    code, out, _ = check(changed(**columns), "--no-catalog")
    assert code == 1
    assert line in out
    assert "1 of 1 consumer fails this check" in out


@pytest.mark.parametrize(
    ("old", "new", "widening"),
    [
        ("int", "bigint", True),
        ("float", "double", True),
        ("decimal(10,2)", "decimal(18,2)", True),
        ("decimal(10,2)", "decimal(18,4)", False),
        ("bigint", "int", False),
        ("date", "timestamp", False),
    ],
)
def test_reported_every_retyped_column_breaks_and_a_widening_is_said_to_be_one(consumers, check, old, new, widening):
    consumers.descriptor(recorded={**COLUMNS, "c": (old, False)})
    code, out, _ = check(changed(c=(new, False)), "--no-catalog")
    assert code == 1
    assert f"~ c: {old} -> {new}{' (widening)' if widening else ''}   <- breaks" in out


def test_reported_additions_reorders_and_tightening_are_compatible_and_a_rename_is_two_changes(consumers, check):
    consumers.descriptor()
    reordered = proposal_text(dict(reversed(COLUMNS.items())))
    assert check(reordered, "--no-catalog")[0] == 0
    assert check(changed(note=("string", False)), "--no-catalog")[0] == 0
    assert check(changed(extra=("string", False)), "--no-catalog")[0] == 0

    code, out, _ = check(changed(amount=None, total=("decimal(10,2)", False)), "--no-catalog")

    assert code == 1
    assert "+ total (decimal(10,2), not null)\n" in out
    assert "- amount (decimal(10,2), not null)   <- breaks\n" in out


def test_an_additive_proposal_lists_the_pins_to_bump_with_their_owners(consumers, check):
    consumers.descriptor("daily-orders", domain="finance")
    consumers.descriptor("order-risk", domain="fraud")
    code, out, _ = check(changed(extra=("string", True)), "--no-catalog")
    assert code == 0
    assert out.endswith(
        "2 pins to bump to v8:\n  daily-orders  finance@example.org\n  order-risk  fraud@example.org\n"
        "0 of 2 consumers fail this check\n"
    )
    assert "compatible  daily-orders (finance)  pins v7  owner finance@example.org\n" in out


@pytest.mark.parametrize(
    "columns",
    [
        {},
        {"amount": ("DECIMAL( 10 , 2 )", False), "booked": ("integer", False)},
        {"amount": ("numeric(10,2)", False), "booked": ("INT", False)},
    ],
)
def test_an_identical_proposal_bumps_nothing_however_its_types_are_spelled(consumers, check, columns):
    consumers.descriptor()
    code, out, _ = check(changed(**columns), "--no-catalog")
    assert code == 0
    assert "the same columns: nothing to bump" in out
    assert "to bump to" not in out


def test_names_compare_as_the_catalog_compares_them(consumers, check):
    consumers.descriptor(database="Sales", table="ORDERS")
    proposal = changed(TX_ID=("string", False), tx_id=None, note=None).replace("table: orders", "table: Orders")
    code, out, _ = check(proposal, "--no-catalog")
    assert code == 1
    assert "1 descriptor under domains reads sales.orders" in out
    assert "tx_id" not in out


def test_a_consumer_three_versions_behind_is_judged_on_its_own_pin(consumers, check):
    old = {**COLUMNS, "booked": ("string", False), "legacy": ("string", True)}
    consumers.descriptor("current", pin=7)
    consumers.descriptor("behind", pin=4, recorded=old)

    code, out, _ = check(changed(), "--no-catalog")

    assert code == 1
    assert out.index("BREAKS      behind (finance)  pins v4") < out.index("compatible  current (finance)  pins v7")
    assert "- legacy (string, nullable)   <- breaks" in out
    assert "~ booked: string -> int   <- breaks" in out
    assert "1 of 2 consumers fails this check" in out


def test_tables_that_the_proposal_does_not_name_are_scanned_and_not_judged(consumers, check):
    consumers.descriptor("other", table="order_lines")
    code, out, _ = check(changed(note=None), "--no-catalog")
    assert code == 0
    assert "0 descriptors under domains read sales.orders\n1 descriptor scanned under domains\n" in out
    assert "no descriptor that was read pins sales.orders" in out


def test_a_resource_links_own_name_is_found_where_it_is_said(consumers, check):
    consumers.descriptor("linked", database="shared", table="shop_orders")
    assert check(changed(note=None), "--no-catalog")[0] == 0
    code, out, _ = check(changed(note=None), "--no-catalog", "--alias", "shared.Shop_Orders")
    assert code == 1
    assert "BREAKS      linked" in out


def test_each_path_says_what_was_scanned_under_it_and_a_consumer_counts_once(consumers, check):
    consumers.descriptor("one", domain="finance")
    consumers.descriptor("two", domain="fraud", table="other")
    code, out, _ = check(changed(note=None), "--no-catalog", paths=("domains/finance", "domains/fraud", "domains"))
    assert code == 1
    assert out.splitlines()[1:7] == [
        "1 descriptor under domains/finance reads sales.orders",
        "0 descriptors under domains/fraud read sales.orders",
        "1 descriptor under domains reads sales.orders",
        "1 descriptor scanned under domains/finance",
        "1 descriptor scanned under domains/fraud",
        "2 descriptors scanned under domains",
    ]
    assert "1 of 1 consumer fails" in out


# -- whether the column is read -------------------------------------------------------------------


def test_a_break_says_where_the_consumers_sql_reads_the_column(consumers, check):
    consumers.descriptor(sql="SELECT tx_id\nFROM frame\nWHERE amount > 0\n  AND booked = 1\n  AND amount < 9\n")
    _, out, _ = check(changed(amount=("string", False), note=None), "--no-catalog")
    assert (
        "~ amount: decimal(10,2) -> string   <- breaks\n"
        "              read at domains/finance/sql/daily-orders.sql:3 (and line 5)" in out
    )
    assert (
        "- note (string, nullable)   <- breaks\n              not read by domains/finance/sql/daily-orders.sql" in out
    )


def test_only_used_fails_for_columns_that_are_really_read(consumers, check):
    consumers.descriptor()
    assert check(changed(amount=None), "--no-catalog", "--only-used")[0] == 1

    code, out, _ = check(changed(note=None), "--no-catalog", "--only-used")

    assert code == 0
    assert "- note (string, nullable)\n              not read by domains/finance/sql/daily-orders.sql" in out
    assert "1 pin to bump to v8" in out


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("SELECT *\nFROM frame", "read by SELECT * at domains/finance/sql/daily-orders.sql:1"),
        ("SELECT FROM WHERE", "read by SQL that cannot be judged at domains/finance/sql/daily-orders.sql"),
        (None, "read: the Python step only (transforms.t) gets every column"),
    ],
)
def test_a_star_python_and_sql_that_cannot_be_judged_read_every_column(consumers, check, sql, words):
    consumers.descriptor(sql=sql)
    code, out, _ = check(changed(note=None), "--no-catalog", "--only-used")
    assert code == 1
    assert words in out


def test_sql_that_is_not_there_reads_every_column(consumers, check):
    consumers.descriptor()
    (consumers.root / "finance" / "sql" / "daily-orders.sql").unlink()
    code, out, _ = check(changed(note=None), "--no-catalog", "--only-used")
    assert code == 1
    assert "counts as read: domains/finance/sql/daily-orders.sql does not exist" in out


def test_a_reader_that_looks_at_columns_itself_reads_them(consumers, check, table):
    table.hive({name: type_ for name, (type_, _) in COLUMNS.items()}, **{"cordata.primary_keys": "Booked"})
    unread = {"note": None, "booked": None}
    consumers.descriptor(kind="dms_landing", database=table.database, pin=0)
    proposal = changed(**unread).replace("database: sales", f"database: {table.database}")

    code, out, _ = check(proposal, "--only-used")

    assert code == 1
    assert (
        "- booked (int, not null)   <- breaks\n              read by the reader dms_landing: cordata.primary_keys"
        in out
    )
    assert "- note (string, nullable)\n              not read by" in out


def test_a_domains_own_reader_is_known_nowhere_else_and_reads_every_column(consumers, check):
    consumers.descriptor(kind="our_own_reader")
    code, out, _ = check(changed(note=None), "--no-catalog", "--only-used")
    assert code == 1
    assert "counts as read: the reader our_own_reader is the domain's own" in out


# -- fails closed ---------------------------------------------------------------------------------


def test_links_and_nested_folders_hide_no_descriptor(consumers, check, tmp_path):
    consumers.descriptor("one")
    elsewhere = tmp_path / "elsewhere"
    (consumers.root / "finance").rename(elsewhere)
    (consumers.root / "linked").symlink_to(elsewhere)
    (elsewhere / "loop").symlink_to(consumers.root)
    lost = elsewhere / "pipelines" / "daily" / "lost.yml"
    lost.parent.mkdir()
    lost.write_text((elsewhere / "pipelines" / "one.yml").read_text())
    (lost.parent / "notes.yml").write_text("anything: goes\n")
    (elsewhere / "pipelines" / "gone.yml").symlink_to("nowhere.yml")

    code, out, _ = check(changed(note=None), "--no-catalog")

    assert code == 1
    assert "BREAKS      one" in out
    assert "a descriptor lives in <domain root>/pipelines/; move it there" in out
    assert "domains/linked/pipelines/gone.yml: does not exist" in out
    assert "3 descriptors scanned under domains" in out


def test_one_descriptor_can_be_named_itself(consumers, check):
    path = consumers.descriptor()
    assert check(changed(note=None), "--no-catalog", paths=(str(path.relative_to(Path.cwd())),))[0] == 1


# -- other readers of the verdict -----------------------------------------------------------------


def test_json_says_the_same_as_the_text(consumers, check):
    consumers.descriptor()
    code, out, _ = check(changed(amount=None), "--no-catalog", "--format", "json")
    found = json.loads(out)
    assert code == 1
    assert found["proposal"]["schema_version"] == 8
    assert (found["catalog_asked"], found["failing"]) == (False, 1)
    assert found["scanned"] == [{"path": "domains", "descriptors": 1, "consumers": 1}]
    [consumer] = found["consumers"]
    assert (consumer["verdict"], consumer["name"], consumer["owner"]) == (
        "BREAKS",
        "daily-orders",
        "finance@example.org",
    )
    assert consumer["changes"] == [
        {
            "kind": "Removed",
            "column": "amount",
            "text": "- amount (decimal(10,2), not null)",
            "breaks": True,
            "widening": False,
            "use": {
                "read": True,
                "words": "read at domains/finance/sql/daily-orders.sql:1",
                "file": "domains/finance/sql/daily-orders.sql",
                "lines": [1],
            },
        }
    ]


def test_a_pull_request_is_annotated_at_the_proposals_own_lines(consumers, check):
    consumers.descriptor("one")
    consumers.descriptor("two", pin=4, recorded={"tx_id": ("string", False)})
    (consumers.root / "finance" / "pipelines" / "broken.yml").write_text("a: b: c\n")

    code, out, _ = check(changed(amount=("string", False)), "--no-catalog", "--format", "github")

    errors = [line for line in out.splitlines() if line.startswith("::")]
    assert code == 1
    assert errors[0].startswith(
        "::error file=proposal.yml,line=8,title=breaks one (finance)%2C owner finance@example.org::~ amount"
    )
    assert errors[1].startswith(
        "::error file=proposal.yml,line=1,title=UNREADABLE%3A domains/finance/pipelines/broken.yml::"
    )
    assert errors[2].startswith("::notice file=proposal.yml,line=5,title=pin to bump%3A two (finance)")
    assert "BREAKS      one (finance)" in out


# -- what columns mean ----------------------------------------------------------------------------


def test_a_column_that_means_something_else_is_told_to_its_readers_and_fails_nobody(consumers, check, table):
    from pipeline_runtime.schema.meaning import DeclaredColumn, dump_columns

    declared = [DeclaredColumn("amount", "decimal(10,2)", unit="EUR", description="what was paid")]
    table.iceberg(**{"cordata.columns": dump_columns(declared)})
    consumers.descriptor(database=table.database, pin=0)
    proposal = changed().replace("database: sales", f"database: {table.database}")
    proposal = proposal.replace("name: amount,", "name: amount, unit: cents, description: in other words,")

    code, out, _ = check(proposal)

    assert code == 0
    assert '~ amount: unit "EUR" -> "cents"   <- means something else\n              read at domains/finance/sql' in out
    assert "description" not in out
    assert "the same columns: nothing to bump" in out
    annotated = check(proposal, "--format", "github")[1]
    assert "::warning file=proposal.yml,line=8,title=means something else%3A daily-orders (finance)" in annotated
    assert json.loads(check(proposal, "--format", "json")[1])["consumers"][0]["meanings"][0]["read"] is True
