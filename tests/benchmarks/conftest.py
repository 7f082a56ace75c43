"""A small lake for both sides, on the stand-in and the session that the tests share."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks.overhead.lake import Bench, copied_domain, side_environ, spark_properties
from benchmarks.overhead.sides import Outcome, measure
from sandbox.lake.catalog import register_releases
from sandbox.lake.places import BUCKETS, CURATED, RAW, TABLE
from sandbox.lake.seed import prepare_catalog, write_source
from sandbox.spark_conf import spark_defaults, write_conf

ROWS = 20_000
TARGET = "transactions_scored"


@pytest.fixture(scope="module")
def lake(aws: Any, spark: Any, jars: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """Twenty thousand transactions in the account of the tests' session, and the fraud domain in a repository."""
    folder = tmp_path_factory.mktemp("bench")
    prepare_catalog()
    source = f"glue_catalog.{RAW}.{TABLE}"
    write_source(spark, source, ROWS)
    register_releases(aws.client("glue"), {})
    logs = folder / "event-logs"
    logs.mkdir()
    defaults = spark_defaults(
        jars=jars, endpoint=aws.endpoint, adapter="http://127.0.0.1:9", warehouse=folder / "warehouse"
    )
    write_conf(folder / "conf", defaults, folder / "spark.log")
    properties = folder / "spark.conf"
    properties.write_text(
        spark_properties((folder / "conf" / "spark-defaults.conf").read_text("utf-8"), logs, folder, "1g"), "utf-8"
    )
    settings = {
        "AWS_ENDPOINT_URL": aws.endpoint,
        "AWS_REGION": aws.region,
        "CORDATA_EVIDENCE": str(folder / "evidence"),
        "CORDATA_LINEAGE": "off",
        "SPARK_CONF_DIR": str(folder / "conf"),
    }
    account = aws.client("sts").get_caller_identity()["Account"]
    domain = copied_domain(folder / "repository" / "fraud", ROWS)
    yield Bench(folder, domain, side_environ(settings, account), properties, logs)
    forget_target(aws)
    spark.sql(f"DROP TABLE {source} PURGE")


Pair = Callable[[str], tuple[Outcome, Outcome]]


@pytest.fixture(scope="module")
def pair(lake: Bench, aws: Any) -> Pair:
    """Both sides, one after the other, on a target of that format: the hand-written job's outcome comes first."""

    def run(format_: str) -> tuple[Outcome, Outcome]:
        forget_target(aws)
        descriptor = lake.domain / "pipelines" / "transactions_scored.yml"
        kind = "iceberg" if "kind: iceberg" in descriptor.read_text("utf-8") else "parquet"
        if kind != format_:
            descriptor.write_text(descriptor.read_text("utf-8").replace(f"kind: {kind}", f"kind: {format_}"), "utf-8")
            identity = ("-c", "user.name=fraud", "-c", "user.email=fraud-data@cordata.example")
            command = ["git", *identity, "commit", "--all", "--quiet", "-m", f"Publish {format_}"]
            subprocess.run(command, cwd=lake.domain, check=True)
        here = replace(lake, format=format_)
        return measure("hand-written", here), measure("executor", here)

    return run


def forget_target(aws: Any) -> None:
    """The target's table and its files."""
    glue, s3 = aws.client("glue"), aws.client("s3")
    if TARGET in {table["Name"] for table in glue.get_tables(DatabaseName=CURATED)["TableList"]}:
        glue.delete_table(DatabaseName=CURATED, Name=TARGET)
    for page in s3.get_paginator("list_objects_v2").paginate(Bucket=BUCKETS[CURATED], Prefix=f"{TARGET}/"):
        for found in page.get("Contents", ()):
            s3.delete_object(Bucket=BUCKETS[CURATED], Key=found["Key"])
