"""`consumers` fails closed: what it cannot read, find or ask is never a pass."""

from __future__ import annotations

import os

import pytest
from contract_samples import COLUMNS, changed, proposal_text


def test_a_path_that_does_not_exist_is_no_pass(consumers, check):
    consumers.descriptor()
    code, out, err = check(changed(), "--no-catalog", paths=("domains", "domain"))
    assert (code, out) == (2, "")
    assert err == "UsageError: domain: does not exist; name a folder with descriptors, or a descriptor\n"


def test_a_path_without_descriptors_is_no_pass(consumers, check):
    (consumers.root / "empty").mkdir()
    code, _, err = check(changed(), "--no-catalog", paths=("domains/empty",))
    assert code == 2
    assert "domains/empty: holds no descriptor: no pipelines/*.yml at any depth" in err


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"metadata: [", "broken.yml:1: is not valid YAML"),
        (b"- a\n- b\n", "broken.yml:1: holds a list at the top; a mapping of keys is expected"),
        (b"a: 1\n---\nb: 2\n", "broken.yml:2: "),
        (b"name: \xff\n", "broken.yml:1: is not UTF-8"),
        (b"", "broken.yml: is empty"),
        (b"apiVersion: cordata.tech/v9\n", "apiVersion: 'cordata.tech/v9' is not one of"),
        (b"apiVersion: cordata.tech/v1\n", "source: is missing"),
    ],
    ids=["broken", "list", "multi-document", "non-utf-8", "empty", "unknown-version", "incomplete"],
)
def test_a_descriptor_that_cannot_be_read_is_no_pass(consumers, check, content, reason):
    consumers.descriptor()
    (consumers.root / "finance" / "pipelines" / "broken.yml").write_bytes(content)
    code, out, _ = check(changed(), "--no-catalog")
    assert code == 1
    assert "UNREADABLE  domains/finance/pipelines/broken.yml\n" in out
    assert reason in out
    assert out.endswith("1 descriptor cannot be read, so the check fails: any may be a consumer\n")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("metadata: [", "proposal.yml:1: is not valid YAML"),
        ("- a\n", "proposal.yml:1: holds a list at the top"),
        ("a: 1\n---\nb: 2\n", "proposal.yml:2: "),
        (proposal_text({**COLUMNS, "TX_ID": ("string", False)}), "proposal.yml:6: columns: names tx_id twice (case"),
        (proposal_text({"a": ("strin", True)}), "columns[0].type: unknown type strin (did you mean string?)"),
        (proposal_text(COLUMNS).replace(", nullable: false", "", 1), "columns[0].nullable: is missing. Whether the"),
        (proposal_text(COLUMNS).replace("nullable: false", "nullable: 'no'", 1), "columns[0].nullable:"),
        (proposal_text(COLUMNS).replace("producer", "producr"), "unknown key; did you mean producer?"),
        (
            proposal_text(COLUMNS, release="2.0"),
            'release: unquoted 2.0 is a number; text is meant, so quote it: write "2.0"',
        ),
        (proposal_text({}), "proposal.yml:6: columns:"),
        (proposal_text(COLUMNS) + "table: other\n", "proposal.yml:11: "),
    ],
)
def test_a_proposal_that_cannot_be_used_is_told_by_line_and_nothing_is_judged(consumers, check, content, reason):
    consumers.descriptor()
    code, out, err = check(content, "--no-catalog")
    assert (code, out) == (2, "")
    assert err.startswith("ProposalError: proposal.yml")
    assert reason in err


def test_a_proposal_that_is_no_utf_8_or_not_there_is_told(consumers, check, tmp_path, capsys):
    from pipeline_runtime.cli import main

    (tmp_path / "latin.yml").write_bytes("release: für".encode("latin-1"))
    assert main(["consumers", "latin.yml", "domains", "--no-catalog"]) == 2
    assert "latin.yml:1: is not UTF-8" in capsys.readouterr().err
    assert main(["consumers", "gone.yml", "domains", "--no-catalog"]) == 2
    assert "gone.yml: does not exist" in capsys.readouterr().err


def test_a_pin_that_nothing_explains_is_no_pass(consumers, check, table):
    table.iceberg()
    table.append(3)
    consumers.descriptor("lost", database=table.database, pin=1, recorded=None)
    consumers.descriptor("ahead", database=table.database, pin=9)
    consumers.descriptor("now", database=table.database, pin=3, recorded=None)
    proposal = changed().replace("database: sales", f"database: {table.database}")

    code, out, _ = check(proposal)

    assert code == 1
    assert "UNKNOWN PIN lost (finance)  pins v1  owner finance@example.org\n" in out
    assert (
        f"domains/finance/schemas/{table.database}.orders.v1.yml does not exist, and the catalog's archive does not"
        in out
    )
    assert "UNKNOWN PIN ahead (finance)  pins v9" in out
    assert "the catalog has not reached v9; it is at v3" in out
    assert "compatible  now (finance)  pins v3" in out
    assert "2 of 3 consumers fail this check" in out


def test_a_pin_is_known_by_the_archived_version_where_no_file_records_it(consumers, check, table):
    table.hive({"tx_id": "string", "legacy": "int"})
    found = table.get()
    definition = {**found["StorageDescriptor"], "Columns": [{"Name": "tx_id", "Type": "string"}]}
    table.glue.update_table(
        DatabaseName=table.database,
        TableInput={"Name": "orders", "StorageDescriptor": definition, "Parameters": {}},
    )
    consumers.descriptor(database=table.database, pin=0, recorded=None)
    proposal = proposal_text({"tx_id": ("string", True)}, database=table.database, version=2)

    code, out, _ = check(proposal)

    assert code == 1
    assert "the catalog is at v1" in out
    assert "- legacy (int)   <- breaks" in out


def test_a_recorded_schema_that_is_wrong_is_no_pass(consumers, check):
    consumers.descriptor()
    consumers.record(COLUMNS).write_text("columns: []\n")
    code, out, _ = check(changed(), "--no-catalog")
    assert code == 1
    assert "UNKNOWN PIN daily-orders" in out
    assert "domains/finance/schemas/sales.orders.v7.yml:1: columns: a list of columns is expected" in out


def test_without_a_catalog_recorded_schemas_are_judged_and_it_is_still_no_pass(consumers, check, monkeypatch):
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", os.devnull)
    consumers.descriptor()
    code, out, err = check(changed())
    assert code == 2
    assert "the catalog was not asked" in out
    assert "0 of 1 consumer fail" in out
    assert err.startswith("ConfigurationError: no AWS region")
    assert "Judged by recorded schemas only, which is no pass" in err


def test_a_catalog_that_does_not_answer_is_no_pass(consumers, check, monkeypatch, aws):
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    consumers.descriptor()
    code, out, err = check(changed())
    assert code == 2
    assert "0 of 1 consumer" in out
    assert "the catalog cannot be asked: Could not connect to the endpoint URL" in err


def test_without_a_catalog_a_pin_needs_its_recorded_file(consumers, check):
    consumers.descriptor(recorded=None)
    code, out, _ = check(changed(), "--no-catalog")
    assert code == 1
    assert "schemas/sales.orders.v7.yml does not exist, and the catalog was not asked" in out


def test_a_table_that_the_catalog_does_not_have_yet_is_said(consumers, check, aws, table):
    consumers.descriptor("other", table="lines")
    proposal = changed().replace("database: sales", f"database: {table.database}")
    code, out, _ = check(proposal)
    assert code == 0
    assert "the catalog has no such table" in out
    consumers.descriptor(database=table.database)
    assert check(proposal)[0] == 1
