"""Says where a run's results lie, reading them back as a consumer would: without Spark, from the catalog."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

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
    """The first rows of an Iceberg table as aligned text lines, header first; None where there is no such table."""
    from pyiceberg.catalog.glue import GlueCatalog
    from pyiceberg.exceptions import NoSuchTableError

    endpoint, region = settings["AWS_ENDPOINT_URL"], settings["AWS_REGION"]
    key, secret = settings["AWS_ACCESS_KEY_ID"], settings["AWS_SECRET_ACCESS_KEY"]
    properties = {
        service + setting: value
        for service in ("glue.", "s3.")
        for setting, value in {
            "endpoint": endpoint,
            "region": region,
            "access-key-id": key,
            "secret-access-key": secret,
        }.items()
    }
    try:
        found = GlueCatalog("sandbox", None, **properties).load_table(table)
    except NoSuchTableError:
        return None
    rows = found.scan(limit=ROWS).to_arrow().to_pylist()
    names = [field.name for field in found.schema().fields]
    cells = [names, *([_cell(row[name]) for name in names] for row in rows)]
    widths = [max(len(line[i]) for line in cells) for i in range(len(names))]
    return ["  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip() for line in cells]


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
