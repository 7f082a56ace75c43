"""The sample descriptors run on Glue 5.1's engine and on Glue 6.0's, over the same lake: the same rows and events."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pipeline_runtime.compare.events import compare_events
from pipeline_runtime.glue.engines import ENGINES

pytestmark = [pytest.mark.spark, pytest.mark.slow]

ROOT = Path(__file__).resolve().parents[2]
#: Glue version → the folder of its environment, and the one below a sandbox that has its settings.
PLACES = {"5.1": (".venv", "."), "6.0": (".cache/glue-6.0", "glue-6.0")}
#: What an event says of the engine itself; the files of another release of parquet's writer are of another size.
OF_THE_ENGINE = ("run.facets.processing_engine.version", ".GLUE_VERSION", ".outputStatistics.size")

DESCRIPTORS = {
    "fraud/pipelines/transactions_scored.yml": "fraud_curated.transactions_scored",
    "finance/pipelines/merchant_settlement_daily.yml": "finance_curated.merchant_settlement_daily",
    "policy/pipelines/claims_ingest.yml": "policy_raw.claims_deduped",
}


@dataclass(frozen=True)
class Ran:
    """What a run left: its terminal event, and the table's rows."""

    event: Mapping[str, Any]
    rows: Any

    @property
    def snapshot(self) -> int | None:
        found = self.event["outputs"][0]["outputFacets"]["cordata_publish"].get("snapshot_id")
        return None if found is None else int(found)


def python(glue: str) -> Path:
    return ROOT / PLACES[glue][0] / "bin" / "python"


def environ(**more: str) -> dict[str, str]:
    foreign = ("AWS_", "CORDATA_", "SPARK_", "PYTHON", "PYSPARK_", "PIPELINE_RUNTIME_")
    return {key: value for key, value in os.environ.items() if not key.startswith(foreign)} | more


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A sandbox of its own that both engines have been brought up on."""
    for glue, engine in ENGINES.items():
        if not (python(glue).parents[1] / ".installed").exists():
            pytest.skip(f"no environment of Glue {glue} (Python {engine.python}): run `make setup ENGINE=glue-{glue}`")
    folder = tmp_path_factory.mktemp("both") / "sandbox"
    try:
        for glue in ENGINES:
            command(glue, "python", "-m", "sandbox.stack", "--folder", str(folder), "up")
        yield folder
    finally:
        command("5.1", "python", "-m", "sandbox.stack", "--folder", str(folder), "down")


def command(glue: str, *arguments: str, **settings: str) -> None:
    """Runs a command of the engine's environment, which comes first on its PATH as `make` has it."""
    tools = python(glue).parent
    done = subprocess.run(
        [str(tools / arguments[0]), *arguments[1:]],
        cwd=ROOT,
        env=environ(PATH=f"{tools}{os.pathsep}{os.environ['PATH']}", **settings),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"Glue {glue}: {arguments}\n{done.stdout}\n{done.stderr}"


@pytest.fixture(scope="module")
def domains(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where no commit can come between two runs: an event names the commit of its descriptor."""
    return shutil.copytree(ROOT / "domains", tmp_path_factory.mktemp("domains") / "domains")


@pytest.fixture(scope="module")
def run(sandbox: Path, domains: Path) -> Callable[[str, str], Ran]:
    """Runs a descriptor on the engine of a Glue version, through spark-submit."""

    def run_one(glue: str, descriptor: str) -> Ran:
        settings = sandbox / PLACES[glue][1]
        said = dict(line.split("=", 1) for line in (settings / "env").read_text("utf-8").splitlines())
        said |= {"PYSPARK_PYTHON": str(python(glue)), "PYSPARK_DRIVER_PYTHON": str(python(glue))}
        run_id = str(uuid.uuid4())
        command(
            glue,
            "spark-submit",
            *("--properties-file", str(settings / "spark-conf" / "spark-defaults.conf")),
            *(str(ROOT / "glue_jobs" / "run_pipeline.py"), "--descriptor", str(domains / descriptor)),
            *("--run-id", run_id),
            **said,
        )
        event = json.loads((sandbox / "evidence" / "runs" / run_id / "terminal.json").read_bytes())
        return Ran(event, rows_of(DESCRIPTORS[descriptor], said))

    return run_one


@pytest.mark.parametrize("descriptor", DESCRIPTORS)
def test_both_engines_publish_the_same_rows_and_tell_the_same(run: Callable[[str, str], Ran], descriptor: str) -> None:
    on_5, on_6 = (run(glue, descriptor) for glue in ENGINES)

    assert on_5.rows.schema.equals(on_6.rows.schema)
    assert on_5.rows.num_rows > 1_000
    assert on_5.rows.equals(on_6.rows), "the rows differ"
    found = compare_events(on_5.event, on_6.event, (on_5.snapshot, on_6.snapshot))
    assert [str(each) for each in found if not any(place in str(each) for place in OF_THE_ENGINE)] == []
    assert len(found) >= 2, "an event that does not name its engine"
    for ran, engine in zip((on_5, on_6), ENGINES.values(), strict=True):
        assert ran.event["eventType"] == "COMPLETE"
        assert ran.event["run"]["facets"]["processing_engine"]["version"] == engine.spark


def rows_of(table: str, settings: Mapping[str, str]) -> Any:
    """A table's rows as consumers see them, as an Arrow table in an order of its own: by all columns."""
    import boto3
    import pyarrow as pa

    access = {
        "endpoint_url": settings["AWS_ENDPOINT_URL"],
        "region_name": settings["AWS_REGION"],
        "aws_access_key_id": settings["AWS_ACCESS_KEY_ID"],
        "aws_secret_access_key": settings["AWS_SECRET_ACCESS_KEY"],
    }
    glue, s3 = boto3.client("glue", **access), boto3.client("s3", **access)
    database, _, name = table.partition(".")
    found = glue.get_table(DatabaseName=database, Name=name)["Table"]
    if found["Parameters"].get("table_type", "").upper() == "ICEBERG":
        rows = iceberg_rows(table, access)
    else:
        partitions = glue.get_partitions(DatabaseName=database, TableName=name)["Partitions"]
        keys = [key["Name"] for key in found["PartitionKeys"]]
        rows = pa.concat_tables(
            files_of(s3, each["StorageDescriptor"]["Location"], dict(zip(keys, each["Values"], strict=True)))
            for each in partitions
        )
    return rows.sort_by([(column, "ascending") for column in rows.column_names])


def iceberg_rows(table: str, access: Mapping[str, str]) -> Any:
    from pyiceberg.catalog.glue import GlueCatalog

    spelled = {"endpoint_url": "endpoint", "region_name": "region"}
    named = {spelled.get(key, key.removeprefix("aws_").replace("_", "-")): value for key, value in access.items()}
    properties = {f"{service}.{key}": value for service in ("glue", "s3") for key, value in named.items()}
    return GlueCatalog("both", None, **properties).load_table(table).scan().to_arrow()


def files_of(s3: Any, location: str, partition: Mapping[str, str]) -> Any:
    import pyarrow as pa
    import pyarrow.parquet as pq

    bucket, _, prefix = location.removeprefix("s3://").partition("/")
    listed = s3.list_objects_v2(Bucket=bucket, Prefix=prefix.rstrip("/") + "/").get("Contents", [])
    tables = [
        pq.ParquetFile(io.BytesIO(s3.get_object(Bucket=bucket, Key=each["Key"])["Body"].read()), pre_buffer=False).read(
            use_threads=False
        )
        for each in listed
        if each["Key"].endswith(".parquet")
    ]
    rows = pa.concat_tables(tables).replace_schema_metadata()
    for key, value in partition.items():
        rows = rows.append_column(key, pa.array([value] * rows.num_rows))
    return rows
