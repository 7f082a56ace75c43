"""Spark's view of the Glue catalog."""

from __future__ import annotations

import uuid

import pytest

from pipeline_runtime.catalog.table import TableIdentity
from pipeline_runtime.engine.catalogs import catalog_name, catalog_settings, quoted


def test_a_foreign_accounts_tables_are_in_a_catalog_of_their_own():
    ours = TableIdentity("eu-central-1", "111122223333", "db", "t")
    theirs = TableIdentity("eu-central-1", "222233334444", "db", "t")

    assert catalog_name(ours, "111122223333") == "glue_catalog"
    assert catalog_name(theirs, "111122223333") == "glue_222233334444"
    settings = catalog_settings("glue_222233334444", account="222233334444", warehouse="s3://w", endpoint=None)
    assert settings["spark.sql.catalog.glue_222233334444.glue.id"] == "222233334444"


def test_a_name_with_a_backtick_stays_one_name():
    assert quoted("db", "a`b") == "`db`.`a``b`"


@pytest.mark.spark
def test_what_another_session_commits_is_seen_at_once(aws, spark):
    """Two catalogs over one Glue catalog are two processes: neither hears of the other's commits."""
    database = f"seen_{uuid.uuid4().hex[:8]}"
    for key, value in catalog_settings(
        "other", account=None, warehouse="s3://test-lake/w", endpoint=aws.endpoint
    ).items():
        spark.conf.set(key, value)
    aws.client("glue").create_database(DatabaseInput={"Name": database, "LocationUri": f"s3://test-lake/{database}"})
    spark.sql(f"CREATE TABLE glue_catalog.{database}.t (id bigint) USING iceberg")
    assert spark.table(f"glue_catalog.{database}.t").count() == 0

    spark.sql(f"INSERT INTO other.{database}.t VALUES (1)")

    assert spark.table(f"glue_catalog.{database}.t").count() == 1
