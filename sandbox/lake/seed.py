"""Builds the card transactions of the sample lake in the account that the environment names, and its catalog.

    python -m sandbox.lake.seed [--rows 20000] [--drift-scores] [--drift-schema] [--prepared]

A lake that is there already, with the same rows, is left alone. Claims need no engine: `sandbox.lake.policy`.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from sandbox.engine import engine_here, jars_folder
from sandbox.errors import SandboxError
from sandbox.lake.catalog import (
    create_buckets,
    create_databases,
    create_ontology,
    register_releases,
    source_table,
)
from sandbox.lake.drift import publish_drift
from sandbox.lake.places import BUCKETS, RAW, SOURCE_LOCATION, TABLE
from sandbox.lake.transactions import ROWS, create_statement, transactions
from sandbox.spark_conf import LOCAL, log_settings

if TYPE_CHECKING:
    from mypy_boto3_glue import GlueClient
    from mypy_boto3_s3 import S3Client
    from pyspark.sql import SparkSession

__all__ = ["DRIFTED_AMOUNTS", "main", "prepare_catalog", "require_stand_in", "seed", "seeding_session", "write_source"]

#: Amounts that are this much too high give scores whose divergence from the baseline is about 0.19.
DRIFTED_AMOUNTS = 2.6

#: The table Parameter that remembers what was seeded, and so whether to seed again.
_SEEDED = "sandbox.seeded"


def require_stand_in() -> None:
    """Raises SandboxError unless AWS is this machine's stand-in: sample data has no place in a real account."""
    endpoint = os.environ.get("AWS_ENDPOINT_URL", "")
    if urlsplit(endpoint).hostname not in {"127.0.0.1", "localhost"}:
        raise SandboxError(
            f"AWS_ENDPOINT_URL is {endpoint or 'not set'}; the sample lake goes to a stand-in on this machine only. "
            "`python -m sandbox.stack up` starts one."
        )


def prepare_catalog() -> None:
    """Buckets, databases and the ontology; what exists is kept."""
    create_buckets(_client("s3"))
    create_databases(_client("glue"))
    create_ontology(_client("lakeformation"))


def seed(jars: Path, rows: int = ROWS, *, drift_scores: bool = False, prepared: bool = False) -> bool:
    """The catalog and `rows` transactions; False where they were there already.

    `prepared` says that buckets and databases are there already, and the ontology is not this account's to make.
    Starts Spark in this process for as long as it takes.
    """
    glue = _client("glue")
    wanted = f"rows={rows} scores={'drifted' if drift_scores else 'clean'}"
    if not prepared:
        prepare_catalog()
    table = source_table(glue)
    if table is not None:
        if table["Parameters"].get(_SEEDED) == wanted:
            return False
        _remove_source(glue, _client("s3"))
    with tempfile.TemporaryDirectory(prefix="seed-") as scratch:
        spark = seeding_session(jars, Path(scratch))
        try:
            write_source(spark, f"glue_catalog.{RAW}.{TABLE}", rows, DRIFTED_AMOUNTS if drift_scores else 1.0)
        finally:
            spark.stop()
    register_releases(glue, {_SEEDED: wanted})
    return True


def write_source(spark: SparkSession, table: str, rows: int, amount_factor: float = 1.0) -> None:
    """Creates the source table (catalog version 0) and appends its transactions (version 1)."""
    spark.sql(create_statement(table, SOURCE_LOCATION))
    frame = transactions(spark, rows, amount_factor)
    # The rows come day by day: no shuffle and no sort is needed to write few files.
    frame.writeTo(table).option("distribution-mode", "none").option("fanout-enabled", "true").append()


def seeding_session(jars: Path, scratch: Path) -> SparkSession:
    """A quiet session on the sample lake, without the lineage listener: seeding is nobody's run."""
    from pipeline_runtime.engine.session import build_session, session_settings

    log_file = scratch / "log4j2.properties"
    log_file.write_text(log_settings(), encoding="utf-8")
    os.environ.pop("SPARK_CONF_DIR", None)
    return build_session(
        "sandbox-seed",
        {
            **session_settings(warehouse=f"s3://{BUCKETS[RAW]}/", endpoint=os.environ.get("AWS_ENDPOINT_URL")),
            **LOCAL,
            "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={log_file.as_uri()}",
            "spark.jars": ",".join(str(jar) for jar in sorted(jars.glob("*.jar"))),
            "spark.sql.warehouse.dir": str(scratch / "warehouse"),
            "spark.ui.showConsoleProgress": "false",
        },
    )


def _client(service: str) -> Any:
    """A client of the account that the environment names now: boto3's default session keeps its first one."""
    import boto3

    session: Any = boto3.Session()
    return session.client(service)


def _remove_source(glue: GlueClient, s3: S3Client) -> None:
    """The table and its files, so that the next one starts at catalog version 0 again."""
    glue.delete_table(DatabaseName=RAW, Name=TABLE)
    pages = s3.get_paginator("list_objects_v2").paginate(Bucket=BUCKETS[RAW], Prefix=f"{TABLE}/")
    for page in pages:
        for found in page.get("Contents", []):
            s3.delete_object(Bucket=BUCKETS[RAW], Key=found["Key"])


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m sandbox.lake.seed", description="Builds the sample lake.")
    parser.add_argument("--rows", type=int, default=ROWS, help=f"transactions, settled or not [{ROWS}]")
    parser.add_argument("--drift-scores", action="store_true", help="amounts that shift the scores off their baseline")
    parser.add_argument("--drift-schema", action="store_true", help="publish the release that adds a column")
    parser.add_argument("--prepared", action="store_true", help="buckets and databases are there already")
    parser.add_argument("--jars", type=Path, default=jars_folder(engine_here()), help="folder of the engine's JARs")
    arguments = parser.parse_args(argv)

    try:
        require_stand_in()
        seed(arguments.jars, arguments.rows, drift_scores=arguments.drift_scores, prepared=arguments.prepared)
        if arguments.drift_schema:
            publish_drift(_client("glue"), _client("s3"))
    except SandboxError as error:
        print(f"sandbox: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
