"""A proposal becomes the table's next version: its columns, who published them, and nothing else of the table."""

from __future__ import annotations

import json
from typing import Any

import pytest
from contract_samples import COLUMNS, proposal_text
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline_runtime.catalog.glue import archived_schema, describe_table
from pipeline_runtime.catalog.parameters import COLUMNS as DECLARED
from pipeline_runtime.catalog.parameters import PUBLISHED_BY, PUBLISHED_RELEASE
from pipeline_runtime.cli import main
from pipeline_runtime.schema.columns import Column, Schema
from pipeline_runtime.schema.diff import diff
from pipeline_runtime.schema.meaning import load_columns

ACCOUNT = "444455556666"


@pytest.fixture
def own(aws: Any, table: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The table, in an account that the command knows as its own."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", ACCOUNT)
    table.glue, table.s3 = aws.client("glue", ACCOUNT), aws.client("s3", ACCOUNT)
    table.bucket = f"contracts-lake-{ACCOUNT}"
    table.glue.create_database(DatabaseInput={"Name": table.database})
    if table.bucket not in [each["Name"] for each in table.s3.list_buckets()["Buckets"]]:
        table.s3.create_bucket(Bucket=table.bucket, CreateBucketConfiguration={"LocationConstraint": aws.region})
    return table


@pytest.fixture
def publish(own, consumers, tmp_path, capsys):
    """`publish(**columns)` on a table that one consumer pins; None removes a column, `text` is the whole proposal."""

    def run(*arguments: str, text: str | None = None, **columns: Any) -> tuple[int, str, str]:
        merged = {name: each for name, each in {**COLUMNS, **columns}.items() if each is not None}
        proposal = text or proposal_text(merged, database=own.database, version=1)
        (tmp_path / "proposal.yml").write_text(proposal, encoding="utf-8")
        code = main(["publish-schema", "proposal.yml", "--check", "domains", *arguments])
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


def consumer(own: Any, consumers: Any, **options: Any) -> None:
    consumers.descriptor(**{"database": own.database, "pin": 0, **options})


def now(own: Any) -> Any:
    return describe_table(own.glue, own.s3, database=own.database, table="orders", region="eu-central-1")


def metadata_of(own: Any) -> dict[str, Any]:
    bucket, _, key = own.get()["Parameters"]["metadata_location"].removeprefix("s3://").partition("/")
    return dict(json.loads(own.s3.get_object(Bucket=bucket, Key=key)["Body"].read()))


def without(definition: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in definition.items() if key not in (*keys, "VersionId", "UpdateTime")}


def test_a_compatible_version_of_an_iceberg_table_is_published_in_one_update(own, consumers, publish):
    own.iceberg(**{PUBLISHED_BY: "shop", PUBLISHED_RELEASE: "v1.9.0"})
    consumer(own, consumers)
    before, metadata_before = own.get(), metadata_of(own)

    code, out, err = publish(extra=("timestamp", True), amount=("decimal(10,2)", False))

    assert (code, err) == (0, "")
    fqn = f"{own.database}.orders"
    assert f"published {fqn} v1 by shop release v2.0.0: columns + extra (timestamp, nullable)\n" in out
    after, table = own.get(), now(own)
    assert table.version == 1
    assert str(diff(Schema(()), table.schema)).count("+") == 5
    assert table.schema.find("extra") == Column("extra", "timestamp", True, 5)
    parameters = dict(after["Parameters"])
    assert parameters.pop(PUBLISHED_RELEASE) == "v2.0.0"
    assert parameters.pop("previous_metadata_location") == before["Parameters"]["metadata_location"]
    assert parameters.pop("metadata_location").startswith(f"{own.location}/metadata/00002-")
    assert parameters == without(before["Parameters"], PUBLISHED_RELEASE, "metadata_location")
    assert without(after, "Parameters", "StorageDescriptor") == without(before, "Parameters", "StorageDescriptor")
    assert [column.get("Comment") for column in after["StorageDescriptor"]["Columns"]] == [
        *(f"the {name}" for name in COLUMNS),
        None,
    ]
    ours = ("schemas", "current-schema-id", "last-column-id", "last-updated-ms", "metadata-log")
    metadata = metadata_of(own)
    assert without(metadata, *ours) == without(metadata_before, *ours)
    assert metadata["schemas"][0] == metadata_before["schemas"][0]
    assert metadata["metadata-log"][-1]["metadata-file"] == before["Parameters"]["metadata_location"]


def test_the_version_before_stays_in_the_archive_so_a_pin_on_it_can_be_explained(own, consumers, publish):
    own.iceberg()
    consumer(own, consumers)
    before = now(own)
    publish(extra=("string", True))
    found = archived_schema(own.glue, own.s3, before.identity, 0)
    assert found is not None
    assert not diff(found, before.schema)
    assert not diff(before.schema, found)


def test_a_breaking_version_publishes_nothing_and_says_what_to_do_instead(own, consumers, publish):
    own.iceberg()
    consumer(own, consumers)
    before = own.get()

    code, out, err = publish(note=None)

    assert code == 1
    assert "BREAKS      daily-orders" in out
    assert f"publish these columns as {own.database}.orders_v1" in err
    assert f"deprecate {own.database}.orders --version 0 --after <day> --successor {own.database}.orders_v1" in err
    assert err.endswith("nothing was published\n")
    assert own.get() == before


def test_what_no_consumer_breaks_on_may_go_and_be_widened_and_loosened(own, consumers, publish):
    own.iceberg({**COLUMNS, "small": ("float", False)})
    consumer(own, consumers, table="other")
    code, out, _ = publish(note=None, booked=("bigint", True), small=("double", False), amount=("decimal(12,2)", False))
    assert code == 0
    assert "~ booked: int -> bigint (widening)" in out
    schema = now(own).schema
    assert [str(column) for column in schema] == [
        "tx_id (string, not null)",
        "amount (decimal(12,2), not null)",
        "booked (bigint, nullable)",
        "small (double, not null)",
    ]
    gone = own.get()["StorageDescriptor"]["Columns"][-1]
    assert (gone["Name"], gone["Parameters"]["iceberg.field.current"]) == ("note", "false")


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ({"booked": ("string", False)}, "Cannot change column type: booked: int -> string"),
        ({"booked": ("date", False)}, "Iceberg"),
        ({"note": ("string", False)}, "Iceberg cannot make this change: ~ note: nullable -> not null"),
        ({"small": ("smallint", True)}, "column small: Iceberg has no smallint; propose int"),
        ({"code": ("varchar(3)", True)}, "column code: Iceberg has no varchar; propose string"),
    ],
)
def test_reported_a_change_that_iceberg_cannot_make_is_refused_before_anything_is_written(
    own, consumers, publish, columns, reason
):
    own.iceberg()
    consumer(own, consumers, table="other")
    before, files = own.get(), own.s3.list_objects_v2(Bucket=own.bucket)["KeyCount"]

    code, _, err = publish(**columns)

    assert code == 1
    assert err.startswith("VersionRefused: ")
    assert reason in err
    assert (own.get(), own.s3.list_objects_v2(Bucket=own.bucket)["KeyCount"]) == (before, files)


def test_a_required_column_and_any_type_are_fine_while_there_are_no_rows(own, consumers, publish):
    consumer(own, consumers, table="other")
    own.iceberg(rows=False)
    assert publish(extra=("string", False), booked=("date", False))[0] == 0
    assert str(now(own).schema.find("extra")) == "extra (string, not null)"


def test_a_required_column_is_refused_once_there_are_rows(own, consumers, publish):
    consumer(own, consumers, table="other")
    own.iceberg()
    code, _, err = publish(extra=("string", False))
    assert code == 1
    assert "Iceberg refuses: Incompatible change: cannot add required column: extra" in err


def test_nested_columns_grow_a_field(own, consumers, publish):
    own.iceberg({"tx_id": ("string", False)})
    consumer(own, consumers, table="other")
    first = {"tx_id": ("string", False), "who": ("struct<iban:string,tags:array<string>>", True)}
    assert publish(text=proposal_text(first, database=own.database))[0] == 0
    second = {**first, "who": ("struct<iban:string,tags:array<string>,age:int>", True)}
    assert publish(text=proposal_text(second, database=own.database))[0] == 0
    column = now(own).schema.find("who")
    assert column is not None
    assert column.type == "struct<iban:string,tags:array<string>,age:int>"


def test_a_hive_table_keeps_the_place_and_definition_of_its_columns(own, consumers, publish):
    own.hive({"note": "string", "tx_id": "varchar(9)", "booked": "int"}, keys={"dt": "date"}, k="v")
    consumer(own, consumers, table="other")
    before = own.get()
    proposal = {
        "tx_id": ("varchar(9)", False),
        "dt": ("date", True),
        "extra": ("double", True),
        "booked": ("bigint", False),
        "note": ("string", True),
    }

    code, out, _ = publish(text=proposal_text(proposal, database=own.database, version=4))

    assert code == 0
    assert "the catalog's number for it is v1, not v4: that is the one to pin" in out
    after = own.get()
    assert after["StorageDescriptor"].pop("Columns") == [
        {"Name": "note", "Type": "string", "Comment": "the note"},
        {"Name": "tx_id", "Type": "varchar(9)", "Comment": "the tx_id"},
        {"Name": "booked", "Type": "bigint", "Comment": "the booked"},
        {"Name": "extra", "Type": "double"},
    ]
    del before["StorageDescriptor"]["Columns"]
    assert after["Parameters"] == {**before["Parameters"], PUBLISHED_BY: "shop", PUBLISHED_RELEASE: "v2.0.0"}
    assert without(after, "Parameters") == without(before, "Parameters")


@pytest.mark.parametrize(
    ("proposal", "reason"),
    [
        (
            {"tx_id": ("string", True), "dt": ("string", True)},
            "dt date is a partition key, which no version can change",
        ),
        ({"tx_id": ("string", True)}, "dt date is a partition key"),
        ({"tx_id": ("bigint", True), "dt": ("date", True)}, "the files that are there hold tx_id as string"),
    ],
)
def test_a_hive_table_is_not_made_unreadable(own, consumers, publish, proposal, reason):
    own.hive({"tx_id": "string"}, keys={"dt": "date"})
    consumer(own, consumers, table="other")
    before = own.get()
    code, _, err = publish(text=proposal_text(proposal, database=own.database))
    assert (code, own.get()) == (1, before)
    assert reason in err


def test_what_columns_mean_is_kept_with_the_table(own, consumers, publish):
    own.iceberg()
    consumer(own, consumers)
    text = proposal_text(COLUMNS, database=own.database).replace(
        "nullable: false}", "nullable: false, unit: EUR, description: what was paid}", 2
    )
    assert publish(text=text)[0] == 0
    declared = load_columns(own.get()["Parameters"][DECLARED])
    assert [(each.name, each.unit) for each in declared] == [
        ("tx_id", "EUR"),
        ("amount", "EUR"),
        ("booked", None),
        ("note", None),
    ]
    assert own.get()["StorageDescriptor"]["Columns"][0]["Comment"] == "what was paid"


def test_publishing_again_changes_nothing(own, consumers, publish):
    own.iceberg()
    consumer(own, consumers)
    publish(extra=("string", True))
    before, files = own.get(), own.s3.list_objects_v2(Bucket=own.bucket)["KeyCount"]
    code, out, _ = publish(extra=("string", True))
    assert code == 0
    assert "is at v1 and says all of it already; nothing was published" in out
    assert (own.get(), own.s3.list_objects_v2(Bucket=own.bucket)["KeyCount"]) == (before, files)


def test_another_writers_commit_in_between_is_built_upon(own, consumers, publish, monkeypatch):
    """An append overtakes the first attempt: its metadata file goes, and the next one starts from the append's."""
    from pipeline_runtime.contracts import publish_schema

    own.iceberg()
    consumer(own, consumers)
    real, overtaken = publish_schema.evolved, []

    def evolved(metadata: Any, location: str, proposal: Any) -> Any:
        document = real(metadata, location, proposal)
        if not overtaken:
            own.append()
            overtaken.append(location)
        return document

    monkeypatch.setattr(publish_schema, "evolved", evolved)
    code, out, _ = publish(extra=("string", True))

    assert code == 0
    assert f"published {own.database}.orders v2" in out
    assert now(own).schema.find("extra") is not None
    keys = [each["Key"] for each in own.s3.list_objects_v2(Bucket=own.bucket, Prefix=f"{own.database}/")["Contents"]]
    assert len(keys) == 2


def test_another_accounts_table_and_a_table_that_is_not_there_are_refused(own, consumers, publish, aws):
    consumer(own, consumers, table="other")
    code, _, err = publish()
    assert code == 1
    assert f"{own.database}.orders is not in catalog {ACCOUNT}" in err
    assert "A version is published on a table that exists: create it first." in err

    own.glue.create_table(
        DatabaseName=own.database,
        TableInput={
            "Name": "orders",
            "TargetTable": {"CatalogId": "777788889999", "DatabaseName": "theirs", "Name": "orders"},
        },
    )
    theirs = aws.client("glue", "777788889999")
    theirs.create_database(DatabaseInput={"Name": "theirs"})
    theirs.create_table(DatabaseName="theirs", TableInput={"Name": "orders", "StorageDescriptor": {"Columns": []}})

    code, _, err = publish()

    assert code == 1
    assert err.startswith("ForeignTarget: ")
    assert "a version is published by the account that owns the table" in err


def test_a_column_that_partitions_the_table_cannot_go(own, consumers, publish):
    own.iceberg()
    consumer(own, consumers, table="other")
    bucket, _, key = own.get()["Parameters"]["metadata_location"].removeprefix("s3://").partition("/")
    spec = {"spec-id": 0, "fields": [{"name": "b", "transform": "identity", "source-id": 3, "field-id": 1000}]}
    document = {**metadata_of(own), "partition-specs": [spec], "last-partition-id": 1000}
    own.s3.put_object(Bucket=bucket, Key=key, Body=json.dumps(document).encode())
    code, _, err = publish(booked=None)
    assert code == 1
    assert "column booked partitions it, so it cannot be removed from the table" in err


TYPES = st.sampled_from(["string", "int", "bigint", "date", "decimal(9,2)", "array<int>", "map<string,struct<a:int>>"])


@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(st.text("abcdefgh_", min_size=1, max_size=6), TYPES, min_size=1, max_size=6))
def test_whatever_columns_are_added_the_table_holds_the_proposal_afterwards(own, consumers, publish, added):
    try:
        own.glue.delete_table(DatabaseName=own.database, Name="orders")
    except own.glue.exceptions.EntityNotFoundException:
        consumer(own, consumers)
    own.iceberg()
    proposal = {**COLUMNS, **{name: (type_, True) for name, type_ in added.items() if name not in COLUMNS}}
    assert publish(text=proposal_text(proposal, database=own.database))[0] == 0
    wanted = Schema(tuple(Column(name, type_, nullable) for name, (type_, nullable) in proposal.items()))
    assert not diff(now(own).schema, wanted)


@pytest.mark.spark
def test_spark_reads_and_writes_the_published_version(spark, aws, consumers, publish, monkeypatch, tmp_path, capsys):
    """The rows that were there have NULL in the new column, and the next append fills it."""
    database = "contracts_spark"
    aws.client("glue").create_database(DatabaseInput={"Name": database})
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    spark.sql(
        f"CREATE TABLE glue_catalog.{database}.orders (tx_id string NOT NULL, booked int) USING iceberg "
        f"LOCATION 's3://test-lake/{database}/orders'"
    )
    spark.sql(f"INSERT INTO glue_catalog.{database}.orders VALUES ('a', 1)")
    consumers.descriptor(database=database, table="other")
    proposal = {"tx_id": ("string", False), "booked": ("bigint", True), "extra": ("decimal(9,2)", True)}
    (tmp_path / "proposal.yml").write_text(proposal_text(proposal, database=database), encoding="utf-8")

    assert main(["publish-schema", "proposal.yml", "--check", "domains"]) == 0, capsys.readouterr()

    spark.sql(f"REFRESH TABLE glue_catalog.{database}.orders")
    spark.sql(f"INSERT INTO glue_catalog.{database}.orders VALUES ('b', 5000000000, 1.5)")
    rows = spark.sql(f"SELECT * FROM glue_catalog.{database}.orders ORDER BY tx_id").collect()
    assert [(row["tx_id"], row["booked"], row["extra"] and float(row["extra"])) for row in rows] == [
        ("a", 1, None),
        ("b", 5_000_000_000, 1.5),
    ]
