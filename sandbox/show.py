"""Says where a run's results lie, reading them back as a consumer would: without Spark, from the catalog."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pipeline_runtime.descriptor.load import load
from pipeline_runtime.kinds import KINDS

__all__ = ["first_rows", "received", "say_where_to_look"]

ROWS = 5


def say_where_to_look(descriptor: str, run_id: str, settings: Mapping[str, str], sandbox: Path) -> None:
    """Prints the target's first rows and the run's terminal event, as far as there are any."""
    target = load(Path(descriptor), KINDS).descriptor.target
    print()
    rows = first_rows(target.fqn, settings)
    if rows is None:
        print(f"table     {target.fqn} does not exist: nothing was ever published")
    else:
        print(f"table     {target.fqn}, its first rows:")
        print("\n".join(f"          {line}" for line in rows))
    events = received(run_id, sandbox / "events")
    for file, event in events:
        job = event["job"]["name"]
        print(f"event     {event['eventType']:<8} {job:<36} {file}")
    if not events:
        print("event     none reached the adapter")


def first_rows(table: str, settings: Mapping[str, str]) -> list[str] | None:
    """The first rows of a table as aligned text lines, header first; None where there is no such table."""
    import boto3

    glue = boto3.client("glue", **_access(settings))
    database, _, name = table.partition(".")
    try:
        found = glue.get_table(DatabaseName=database, Name=name)["Table"]
    except glue.exceptions.EntityNotFoundException:
        return None
    is_iceberg = found.get("Parameters", {}).get("table_type", "").upper() == "ICEBERG"
    rows = _iceberg_rows(table, settings) if is_iceberg else _parquet_rows(glue, found, settings)
    names = list(rows[0]) if rows else [column["Name"] for column in found["StorageDescriptor"]["Columns"]]
    cells = [names, *([_cell(row[name]) for name in names] for row in rows)]
    widths = [max(len(line[i]) for line in cells) for i in range(len(names))]
    return ["  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip() for line in cells]


def _access(settings: Mapping[str, str]) -> dict[str, Any]:
    return {
        "endpoint_url": settings["AWS_ENDPOINT_URL"],
        "region_name": settings["AWS_REGION"],
        "aws_access_key_id": settings["AWS_ACCESS_KEY_ID"],
        "aws_secret_access_key": settings["AWS_SECRET_ACCESS_KEY"],
    }


def _iceberg_rows(table: str, settings: Mapping[str, str]) -> list[dict[str, Any]]:
    from pyiceberg.catalog.glue import GlueCatalog

    spelled = {"endpoint_url": "endpoint", "region_name": "region"}
    access = {
        spelled.get(key, key.removeprefix("aws_").replace("_", "-")): value for key, value in _access(settings).items()
    }
    properties = {f"{service}.{key}": value for service in ("glue", "s3") for key, value in access.items()}
    found = GlueCatalog("sandbox", None, **properties).load_table(table)
    rows: list[dict[str, Any]] = found.scan(limit=ROWS).to_arrow().to_pylist()
    return rows


def _parquet_rows(glue: Any, table: Mapping[str, Any], settings: Mapping[str, str]) -> list[dict[str, Any]]:
    """Out of the first partition that has rows; the partition's values are the last columns."""
    import boto3
    import pyarrow.parquet as pq  # type: ignore[import-untyped]

    s3 = boto3.client("s3", **_access(settings))
    keys = [key["Name"] for key in table.get("PartitionKeys", [])]
    partitions = glue.get_partitions(DatabaseName=table["DatabaseName"], TableName=table["Name"])["Partitions"]
    places = [(each["StorageDescriptor"]["Location"], each["Values"]) for each in partitions]
    if not keys:
        places = [(table["StorageDescriptor"]["Location"], [])]
    for location, values in sorted(places):
        bucket, _, prefix = location.removeprefix("s3://").partition("/")
        for entry in s3.list_objects_v2(Bucket=bucket, Prefix=prefix.rstrip("/") + "/").get("Contents", []):
            if entry["Key"].endswith(".parquet"):
                body = s3.get_object(Bucket=bucket, Key=entry["Key"])["Body"].read()
                # No thread of Arrow's: one that still reads ahead when the process ends aborts it.
                file = pq.ParquetFile(io.BytesIO(body), pre_buffer=False)
                for batch in file.iter_batches(batch_size=ROWS, use_threads=False):
                    return [{**row, **dict(zip(keys, values, strict=True))} for row in batch.to_pylist()]
    return []


def _cell(value: object) -> str:
    return f"{value:.4f}" if isinstance(value, float) else str(value)


def received(run_id: str, folder: Path) -> list[tuple[Path, dict[str, dict[str, str]]]]:
    """The events of one run as the adapter received them, oldest first, each with its file."""
    found = []
    for file in sorted(folder.glob("*.json")):
        event = json.loads(file.read_bytes())
        if event.get("run", {}).get("runId") == run_id:
            found.append((file, event))
    order = {"START": 0, "OTHER": 2}
    return sorted(found, key=lambda each: order.get(str(each[1]["eventType"]), 1))
