"""Recorded schemas: written the same way every time, read back strictly."""

from __future__ import annotations

import re
from pathlib import Path
from textwrap import dedent

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline_runtime.errors import FileProblem
from pipeline_runtime.schema.columns import Column, Schema
from pipeline_runtime.schema.recorded import RecordedSchema, dump_recorded, load_recorded, recorded_path

TRANSACTIONS = RecordedSchema(
    "fraud_raw",
    "transactions",
    7,
    Schema(
        (
            Column("transaction_id", "string", nullable=False, field_id=1),
            Column("amount", "decimal(10,2)", nullable=True, field_id=2),
            Column("no", "struct<iban:string not null>"),
        )
    ),
    producer="card-ledger",
    release="v4.11.2",
)
TEXT = dedent(
    """\
    database: fraud_raw
    table: transactions
    schema_version: 7
    producer: card-ledger
    release: "v4.11.2"
    columns:
      - {name: transaction_id, type: string, nullable: false, field_id: 1}
      - {name: amount, type: "decimal(10,2)", nullable: true, field_id: 2}
      - {name: "no", type: "struct<iban:string not null>"}
    """
)


def written(folder: Path, text: str, name: str = "fraud_raw.transactions.v7.yml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_the_file_says_in_its_name_what_it_records() -> None:
    path = recorded_path(Path("domains/fraud"), "fraud_raw", "transactions", 7)
    assert path == Path("domains/fraud/schemas/fraud_raw.transactions.v7.yml")


def test_the_text_has_one_line_a_column_and_reads_back(tmp_path: Path) -> None:
    assert dump_recorded(TRANSACTIONS) == TEXT
    assert load_recorded(written(tmp_path, TEXT)) == TRANSACTIONS


def test_version_zero_can_be_recorded_and_the_release_left_out(tmp_path: Path) -> None:
    recorded = RecordedSchema("raw", "claims", 0, Schema((Column("id", "bigint"),)))
    assert load_recorded(written(tmp_path, dump_recorded(recorded), "raw.claims.v0.yml")) == recorded


def test_a_type_may_be_written_in_any_spelling(tmp_path: Path) -> None:
    text = TEXT.replace('"decimal(10,2)"', '"DECIMAL(10, 2)"').replace("type: string", "type: String")
    assert load_recorded(written(tmp_path, text)) == TRANSACTIONS


names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
columns = st.builds(
    Column,
    name=names | st.sampled_from(["NO", "1e3", "007", "12:30", "~", "<<", "2026-01-01", "a: b", "#x"]),
    type=st.sampled_from(["int", "decimal(9,2)", "struct<`a:b`:string not null>", "map<string,int>"]),
    nullable=st.sampled_from([True, False, None]),
)


@given(st.lists(columns, min_size=1, max_size=4, unique_by=lambda column: column.name.casefold()))
def test_whatever_a_column_is_called_it_reads_back_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, recorded: list[Column]
) -> None:
    whole = RecordedSchema("d", "t", 1, Schema(tuple(recorded)), producer=recorded[0].name)
    path = tmp_path_factory.getbasetemp() / "d.t.v1.yml"
    path.write_text(dump_recorded(whole), encoding="utf-8")
    assert load_recorded(path) == whole


@pytest.mark.parametrize(
    ("change", "line", "says"),
    [
        (("database: fraud_raw\n", ""), 1, "database: is missing"),
        (("producer:", "producr:"), 4, "producr: unknown key; did you mean producer?"),
        (("producer: card-ledger", "producer: 12"), 4, "producer: text is expected"),
        (("schema_version: 7", "schema_version: -1"), 3, "schema_version: a whole number is expected, 0 or more"),
        (("schema_version: 7", 'schema_version: "7"'), 3, "schema_version: a whole number is expected"),
        (("schema_version: 7", "schema_version: true"), 3, "schema_version: a whole number is expected"),
        (("type: string", "type: strnig"), 7, "columns[0].type: unknown type strnig (did you mean string?)"),
        (("nullable: true", "nullable: maybe"), 8, "columns[1].nullable: true or false is expected"),
        (("nullable: true", "nullable:"), 8, "columns[1].nullable: true or false is expected"),
        (("field_id: 2", "field_id: 2.5"), 8, "columns[1].field_id: a whole number is expected"),
        (("field_id: 2", "field_id: 1"), 8, "columns[1]: field id 1 is recorded twice"),
        (("name: amount", "name: Transaction_Id"), 8, "columns[1]: column Transaction_Id is recorded twice"),
        (("field_id: 2", "comment: x"), 8, "columns[1].comment: unknown key; known keys: name, type"),
        (("name: amount, ", ""), 8, "columns[1].name: is missing"),
        (('  - {name: "no", type: "struct<iban:string not null>"}', "  - no columns"), 9, "columns[2]: a mapping"),
        (("schema_version: 7", "schema_version: 7\nschema_version: 7"), 4, "given twice"),
    ],
)
def test_a_wrong_file_is_an_error_with_its_line(tmp_path: Path, change: tuple[str, str], line: int, says: str) -> None:
    path = written(tmp_path, TEXT.replace(*change))
    with pytest.raises(FileProblem, match=re.escape(says)) as caught:
        load_recorded(path, "schemas/x.yml")
    assert [problem.line for problem in caught.value.problems if says in problem.message] == [line]
    assert str(caught.value).startswith("schemas/x.yml")


def test_every_problem_of_a_file_is_reported_at_once(tmp_path: Path) -> None:
    text = TEXT.replace("type: string", "type: strnig").replace("nullable: true", "nullable: 1")
    with pytest.raises(FileProblem) as caught:
        load_recorded(written(tmp_path, text))
    assert [problem.line for problem in caught.value.problems] == [7, 8]


@pytest.mark.parametrize("columns_text", ["columns: []", "columns: {}", "columns:", "columns: some"])
def test_a_schema_without_columns_is_refused(tmp_path: Path, columns_text: str) -> None:
    text = TEXT[: TEXT.index("columns:")] + columns_text + "\n"
    with pytest.raises(FileProblem, match="a list of columns is expected, at least one"):
        load_recorded(written(tmp_path, text))


def test_a_file_renamed_to_another_version_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, TEXT, "fraud_raw.transactions.v8.yml")
    with pytest.raises(FileProblem, match=r"is named fraud_raw\.transactions\.v8\.yml and records .* at version 7"):
        load_recorded(path)


def test_a_missing_file_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(FileProblem, match=r"nowhere\.yml.*does not exist"):
        load_recorded(tmp_path / "nowhere.yml")
