"""`pin`: the pin moves, the columns are recorded, and nothing else in the descriptor changes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from pipeline_runtime.cli import main
from pipeline_runtime.schema.recorded import load_recorded

DESCRIPTOR = """\
# reviewed by the ledger team
apiVersion: cordata.tech/{version}
source:
  kind: glue_table   # Iceberg
  database: {database}
  table: payments
{pin}
# the rest is still to be written
"""
PINS = {
    "v1": "  schema_version: 0   # as of the pilot",
    "v2": "  contract:\n    schema_version: 0   # as of the pilot",
}
PARAMETERS = {"cordata.published_by": "card-ledger", "cordata.published_release": "v4.12.0"}


class Pinned:
    """A domain whose source is a Hive-style table that moved from v0 (id, amount) to v1 (id, amount, mcc)."""

    def __init__(self, aws: Any, root: Path, number: int) -> None:
        self.root, self.database = root, f"pin_raw_{number}"
        self.glue = aws.client("glue", "111122223333")
        self.glue.create_database(DatabaseInput={"Name": self.database})
        self.publish({"id": "bigint", "amount": "decimal(10,2)"}, create=True)
        self.publish({"id": "bigint", "amount": "decimal(10,2)", "mcc": "string"})
        for folder in ("pipelines", "schemas"):
            (root / folder).mkdir(parents=True)

    def publish(self, columns: dict[str, str], *, create: bool = False) -> None:
        save = self.glue.create_table if create else self.glue.update_table
        listed = [{"Name": name, "Type": type_} for name, type_ in columns.items()]
        storage = {"Columns": listed, "Location": f"s3://{self.database}/payments"}
        save(
            DatabaseName=self.database,
            TableInput={"Name": "payments", "StorageDescriptor": storage, "Parameters": PARAMETERS},
        )

    @property
    def descriptor(self) -> Path:
        return self.root / "pipelines" / "payments.yml"

    def record(self, version: int) -> Path:
        return self.root / "schemas" / f"{self.database}.payments.v{version}.yml"

    def write(self, version: str = "v1", pin: str | None = None) -> str:
        text = DESCRIPTOR.format(version=version, database=self.database, pin=PINS[version] if pin is None else pin)
        self.descriptor.write_text(text, "utf-8")
        return text


_numbers = iter(range(1, 1_000))


@pytest.fixture
def domain(aws: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Pinned:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "111122223333")
    return Pinned(aws, tmp_path / "shop", next(_numbers))


@pytest.fixture
def pin(domain: Pinned, capsys: pytest.CaptureFixture[str]):
    def run(*arguments: str) -> tuple[int, str]:
        code = main(["pin", "shop/pipelines/payments.yml", *arguments])
        captured = capsys.readouterr()
        return code, captured.out + captured.err

    return run


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_the_pin_is_bumped_with_its_comment_and_the_columns_are_recorded(domain, pin, version):
    text = domain.write(version)

    code, said = pin()

    assert code == 0, said
    assert domain.descriptor.read_text("utf-8") == text.replace("schema_version: 0", "schema_version: 1")
    recorded = load_recorded(domain.record(1))
    assert [column.name for column in recorded.schema] == ["id", "amount", "mcc"]
    assert (recorded.producer, recorded.release) == ("card-ledger", "v4.12.0")
    assert "schema_version: 0   # as of the pilot\n" in said
    assert "+ mcc (string)" in said.splitlines()
    assert said.splitlines()[-1] == (
        f"shop/pipelines/payments.yml: {domain.database}.payments pinned v1, the catalog is at v1, published by "
        "card-ledger release v4.12.0"
    )


@pytest.mark.parametrize(
    ("version", "pin_text", "expected"),
    [
        ("v1", "", "  table: payments\n  schema_version: 1\n"),
        ("v2", "", "  table: payments\n  contract:\n    schema_version: 1\n"),
        ("v1", "  schema_version:", "  table: payments\n  schema_version: 1\n"),
        ("v2", "  contract: {}", "  contract: {schema_version: 1}\n"),
    ],
)
def test_a_descriptor_that_is_still_to_be_pinned_gets_its_pin(domain, pin, version, pin_text, expected):
    domain.write(version, pin_text)
    assert pin()[0] == 0
    assert expected in domain.descriptor.read_text("utf-8")


def test_between_braces_the_pin_is_written_between_them(domain, pin):
    domain.write()
    source = f"source: {{kind: glue_table, database: {domain.database}, table: payments}} # here\n"
    domain.descriptor.write_text(f"apiVersion: cordata.tech/v1\n{source}", "utf-8")
    assert pin()[0] == 0
    assert "table: payments, schema_version: 1} # here" in domain.descriptor.read_text("utf-8")


def test_pinning_what_is_pinned_changes_no_file(domain, pin):
    domain.write()
    pin()
    before = [file.stat().st_mtime_ns for file in (domain.descriptor, domain.record(1))]

    code, said = pin()

    assert (code, [file.stat().st_mtime_ns for file in (domain.descriptor, domain.record(1))]) == (0, before)
    assert said.startswith(f"shop/pipelines/payments.yml: {domain.database}.payments pinned v1, as it was,")


def test_a_record_that_says_the_same_keeps_its_comments(domain, pin):
    domain.write()
    pin()
    kept = "# why: see the pilot's minutes\n" + domain.record(1).read_text("utf-8")
    domain.record(1).write_text(kept, "utf-8")
    pin()
    assert domain.record(1).read_text("utf-8") == kept


def test_a_record_that_is_wrong_is_written_again(domain, pin):
    domain.write()
    pin()
    domain.record(1).write_text(domain.record(1).read_text("utf-8").replace("bigint", "int"), "utf-8")
    assert pin()[0] == 0
    assert load_recorded(domain.record(1)).schema.columns[0].type == "bigint"


def test_an_earlier_version_is_pinned_as_the_archive_or_the_domain_remembers_it(domain, pin):
    domain.write()
    pin()
    assert pin("--to", "0")[0] == 0
    assert [column.name for column in load_recorded(domain.record(0)).schema] == ["id", "amount"]
    assert "schema_version: 0" in domain.descriptor.read_text("utf-8")
    assert load_recorded(domain.record(0)).release is None, "v0 was published by another release than the current one"


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--to", "9"], 1, "is at v1, and v9 cannot be pinned: the catalog has not reached it"),
        (["--to", "x"], 2, "'x' is not a version of the catalog, a whole number such as 7"),
    ],
)
def test_a_version_that_nothing_tells_is_not_pinned(domain, pin, arguments, code, said):
    text = domain.write()
    ended, out = pin(*arguments)
    assert ended == code
    assert said in out
    assert domain.descriptor.read_text("utf-8") == text
    assert not list((domain.root / "schemas").iterdir())


@pytest.mark.parametrize(
    ("old", "new", "code", "said"),
    [
        ("cordata.tech/v1", "cordata.tech/v7", 2, "payments.yml:2: apiVersion: write one of cordata.tech/v1"),
        ("  table: payments\n", "", 2, "payments.yml:3: source: database and table are needed"),
        ("  table: payments\n", "  table: paymnts\n", 1, "Did you mean payments?"),
        ("  schema_version: 0", "  <<: {schema_version: 0}", 2, "schema_version may come through the merge key <<"),
        ("source:\n", "source: &s\n  x: *s\n", 2, "payments.yml:4: the alias *s stands inside"),
    ],
)
def test_a_file_that_cannot_be_pinned_is_left_as_it_is(domain, pin, old, new, code, said):
    text = domain.write().replace(old, new, 1)
    domain.descriptor.write_text(text, "utf-8")
    ended, out = pin()
    assert (ended, out.count("\n")) == (code, 1), out
    assert said in out
    assert domain.descriptor.read_text("utf-8") == text


def test_without_a_catalog_one_line_says_so(domain, pin, monkeypatch):
    text = domain.write()
    monkeypatch.setitem(os.environ, "AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setitem(os.environ, "AWS_MAX_ATTEMPTS", "1")
    code, said = pin()
    assert code == 2
    assert said.startswith("the catalog cannot be asked: ")
    assert domain.descriptor.read_text("utf-8") == text
