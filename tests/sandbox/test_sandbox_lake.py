"""The sample lake, on the real engine: what the executor finds there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pipeline_runtime.schema.recorded import load_recorded
from sandbox.errors import SandboxError
from sandbox.lake.catalog import ONTOLOGY, register_releases, source_table
from sandbox.lake.drift import publish_drift, revert_drift
from sandbox.lake.places import BUCKETS, RAW, SOURCE_LOCATION, TABLE
from sandbox.lake.seed import prepare_catalog, require_stand_in, write_source

FRAUD = Path(__file__).resolve().parents[2] / "domains" / "fraud"
SOURCE = f"glue_catalog.{RAW}.{TABLE}"


@pytest.fixture(scope="module")
def lake(aws: Any, spark: Any) -> Iterator[Any]:
    """The lake with 1,000 transactions, in the account that the tests' session has."""
    prepare_catalog()
    write_source(spark, SOURCE, 1_000)
    glue = aws.client("glue")
    register_releases(glue, {"sandbox.seeded": "here"})
    yield glue
    spark.sql(f"DROP TABLE {SOURCE} PURGE")


@pytest.mark.spark
def test_the_source_is_at_the_version_that_the_domain_pins(lake: Any) -> None:
    table = source_table(lake)
    assert table is not None
    assert table["VersionId"] == "7"
    assert table["StorageDescriptor"]["Location"] == SOURCE_LOCATION
    assert table["Parameters"]["sandbox.seeded"] == "here"


@pytest.mark.spark
def test_spark_reads_the_columns_that_the_domain_recorded(lake: Any, spark: Any) -> None:
    recorded = load_recorded(FRAUD / "schemas" / "fraud_raw.transactions.v7.yml")
    fields = spark.table(SOURCE).schema.fields
    assert [(f.name, f.dataType.simpleString(), f.nullable) for f in fields] == [
        (column.name, column.type, column.nullable) for column in recorded.schema
    ]
    assert spark.table(SOURCE).count() == 1_000


@pytest.mark.spark
def test_a_drifted_table_is_a_table_that_spark_reads(lake: Any, aws: Any, spark: Any) -> None:
    publish_drift(lake, aws.client("s3"))
    spark.sql(f"REFRESH TABLE {SOURCE}")
    assert spark.table(SOURCE).columns[-1] == "merchant_category_code"
    assert spark.table(SOURCE).where("merchant_category_code IS NULL").count() == 1_000

    revert_drift(lake, aws.client("s3"))
    spark.sql(f"REFRESH TABLE {SOURCE}")
    assert "merchant_category_code" not in spark.table(SOURCE).columns
    assert spark.table(SOURCE).count() == 1_000


def test_the_catalog_is_prepared_once_and_left_alone_then(aws: Any) -> None:
    prepare_catalog()
    aws.client("lakeformation").update_lf_tag(TagKey="sensitivity", TagValuesToAdd=["secret"])
    try:
        prepare_catalog()
        values = aws.client("lakeformation").get_lf_tag(TagKey="sensitivity")["TagValues"]
    finally:
        aws.client("lakeformation").update_lf_tag(TagKey="sensitivity", TagValuesToDelete=["secret"])
    assert set(ONTOLOGY["sensitivity"]) <= set(values)
    assert "secret" in values
    locations = {database: f"s3://{bucket}/" for database, bucket in BUCKETS.items()}
    for database, location in locations.items():
        assert aws.client("glue").get_database(Name=database)["Database"]["LocationUri"] == location


@pytest.mark.parametrize("endpoint", [None, "", "https://glue.eu-central-1.amazonaws.com"])
def test_sample_data_never_goes_to_a_real_account(endpoint: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    if endpoint is not None:
        monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
    with pytest.raises(SandboxError, match="goes to a stand-in on this machine only"):
        require_stand_in()
