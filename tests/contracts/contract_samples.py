"""Domains, proposals and tables for the producer's check, a few lines each."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["COLUMNS", "Consumers", "Table", "proposal_text"]

#: name → (type, nullable): what every pin of these tests means unless it says otherwise.
COLUMNS: Mapping[str, tuple[str, bool]] = {
    "tx_id": ("string", False),
    "amount": ("decimal(10,2)", False),
    "booked": ("int", False),
    "note": ("string", True),
}

_SQL = "SELECT tx_id, amount FROM frame\n"


def proposal_text(
    columns: Mapping[str, tuple[str, bool]],
    *,
    version: int = 8,
    database: str = "sales",
    table: str = "orders",
    release: str = "v2.0.0",
) -> str:
    lines = [
        "producer: shop",
        f"release: {release}",
        f"database: {database}",
        f"table: {table}",
        f"schema_version: {version}",
        "columns:",
        *(
            f"  - {{name: {name}, type: '{type_}', nullable: {str(nullable).lower()}}}"
            for name, (type_, nullable) in columns.items()
        ),
    ]
    return "\n".join(lines) + "\n"


@dataclass
class Consumers:
    """A folder of domains, made of descriptors that pin `sales.orders`."""

    root: Path

    def descriptor(
        self,
        name: str = "daily-orders",
        *,
        domain: str = "finance",
        table: str = "orders",
        database: str = "sales",
        pin: int = 7,
        kind: str = "glue_table",
        sql: str | None = _SQL,
        recorded: Mapping[str, tuple[str, bool | None]] | None = COLUMNS,
        version: int = 1,
    ) -> Path:
        """A descriptor with its SQL (a Python step where `sql` is None) and, if given, its pin's recorded columns."""
        root = self.root / domain
        (root / "pipelines").mkdir(parents=True, exist_ok=True)
        (root / "sql").mkdir(exist_ok=True)
        step = (
            f"kind: sql\n    query_file: sql/{name}.sql"
            if sql is not None
            else "kind: python\n    module: transforms.t"
        )
        if sql is not None:
            (root / "sql" / f"{name}.sql").write_text(sql, encoding="utf-8")
        if recorded is not None:
            self.record(recorded, domain=domain, database=database.lower(), table=table.lower(), version=pin)
        path = root / "pipelines" / f"{name}.yml"
        pinned = f"  schema_version: {pin}\n"
        promised = "contract:\n  freshness_sla: PT4H\n  lf_tags: {sensitivity: high}\n"
        if version == 2:
            pinned = f"  contract:\n    schema_version: {pin}\n"
            promised = "  contract:\n    freshness_sla: PT4H\n    lf_tags: {sensitivity: high}\n"
        path.write_text(
            f"""\
apiVersion: cordata.tech/v{version}
kind: TransformPipeline
metadata:
  name: {name}
  domain: {domain}
  owner: {domain}@example.org
source:
  kind: {kind}
  database: {database}
  table: {table}
{pinned}steps:
  - id: only
    {step}
target:
  kind: iceberg
  database: {domain}_curated
  table: {name.replace("-", "_")}
  location: "s3://bucket/{domain}/{name}/"
{promised}expectations:
  suite: expectations/{name}.yml
  on_failure: block_publish
processing:
  purpose: accounting
  legal_basis: contract
""",
            encoding="utf-8",
        )
        return path

    def record(
        self,
        columns: Mapping[str, tuple[str, bool | None]],
        *,
        domain: str = "finance",
        database: str = "sales",
        table: str = "orders",
        version: int = 7,
    ) -> Path:
        file = self.root / domain / "schemas" / f"{database}.{table}.v{version}.yml"
        file.parent.mkdir(parents=True, exist_ok=True)
        lines = [f"database: {database}", f"table: {table}", f"schema_version: {version}", "columns:"]
        for name, (type_, nullable) in columns.items():
            nullness = "" if nullable is None else f", nullable: {str(nullable).lower()}"
            lines.append(f"  - {{name: {name}, type: '{type_}'{nullness}}}")
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return file


_ICEBERG = {"string": "string", "int": "int", "bigint": "long", "float": "float", "double": "double", "date": "date"}


_SNAPSHOT = {
    "snapshot-id": 7,
    "timestamp-ms": 1_785_542_400_000,
    "sequence-number": 0,
    "summary": {"operation": "append"},
    "manifest-list": "s3://contracts-lake/manifests.avro",
}


@dataclass
class Table:
    """A table in the stand-in for AWS, in a database of its own account or name."""

    glue: Any
    s3: Any
    database: str
    table: str = "orders"
    bucket: str = "contracts-lake"
    _files: Any = field(default_factory=lambda: itertools.count(1))

    @property
    def location(self) -> str:
        return f"s3://{self.bucket}/{self.database}/{self.table}"

    def hive(self, columns: Mapping[str, str], *, keys: Mapping[str, str] | None = None, **parameters: str) -> None:
        self.glue.create_table(
            DatabaseName=self.database,
            TableInput={
                "Name": self.table,
                "Description": "orders, as the shop writes them",
                "Owner": "shop",
                "TableType": "EXTERNAL_TABLE",
                "StorageDescriptor": {
                    "Columns": [
                        {"Name": name, "Type": type_, "Comment": f"the {name}"} for name, type_ in columns.items()
                    ],
                    "Location": self.location,
                    "InputFormat": "org.apache.hadoop.hive.ql.io.parquet.MapredParquetInputFormat",
                    "SerdeInfo": {"Parameters": {"serialization.format": "1"}},
                },
                "PartitionKeys": [{"Name": name, "Type": type_} for name, type_ in (keys or {}).items()],
                "Parameters": {"classification": "parquet", **parameters},
            },
        )

    def iceberg(
        self, columns: Mapping[str, tuple[str, bool]] = COLUMNS, *, rows: bool = True, **parameters: str
    ) -> None:
        """An Iceberg table as Iceberg's own catalog would leave it; with rows its metadata names a snapshot."""
        fields = [
            {"id": number, "name": name, "required": not nullable, "type": self._type(type_)}
            for number, (name, (type_, nullable)) in enumerate(columns.items(), 1)
        ]
        self.glue.create_table(
            DatabaseName=self.database,
            TableInput={
                "Name": self.table,
                "TableType": "EXTERNAL_TABLE",
                "StorageDescriptor": {
                    "Columns": [
                        {
                            "Name": column["name"],
                            "Type": columns[str(column["name"])][0],
                            "Comment": f"the {column['name']}",
                            "Parameters": {
                                "iceberg.field.id": str(column["id"]),
                                "iceberg.field.optional": str(not column["required"]).lower(),
                                "iceberg.field.current": "true",
                            },
                        }
                        for column in fields
                    ],
                    "Location": self.location,
                },
                "Parameters": {
                    "table_type": "ICEBERG",
                    "metadata_location": self._metadata(fields, rows),
                    "owner_team": "shop",
                    **parameters,
                },
            },
        )

    def append(self, times: int = 1) -> None:
        """Commits that change no column: each moves the version, and the one before is not archived."""
        for _ in range(times):
            found = self.get()
            kept = ("Name", "TableType", "StorageDescriptor", "Parameters", "PartitionKeys")
            self.glue.update_table(
                DatabaseName=self.database,
                TableInput={key: found[key] for key in kept if key in found},
                VersionId=found["VersionId"],
                SkipArchive=True,
            )

    def get(self) -> dict[str, Any]:
        return dict(self.glue.get_table(DatabaseName=self.database, Name=self.table)["Table"])

    @staticmethod
    def _type(type_: str) -> str:
        return _ICEBERG.get(type_, type_.replace(",", ", "))

    def _metadata(self, fields: Sequence[Mapping[str, Any]], rows: bool) -> str:
        key = f"{self.database}/{self.table}/metadata/{next(self._files):05}-{self.database}.metadata.json"
        document = {
            "format-version": 2,
            "table-uuid": "0f2f7d35-1f2b-4f4c-8a4d-2f0c2ad0c111",
            "location": self.location,
            "last-sequence-number": 0,
            "last-updated-ms": 1_785_542_400_000,
            "last-column-id": len(fields),
            "current-schema-id": 0,
            "schemas": [{"type": "struct", "schema-id": 0, "fields": list(fields)}],
            "default-spec-id": 0,
            "partition-specs": [{"spec-id": 0, "fields": []}],
            "last-partition-id": 999,
            "default-sort-order-id": 0,
            "sort-orders": [{"order-id": 0, "fields": []}],
            **({"current-snapshot-id": 7, "snapshots": [_SNAPSHOT]} if rows else {}),
        }
        self.s3.put_object(Bucket=self.bucket, Key=key, Body=json.dumps(document).encode())
        return f"s3://{self.bucket}/{key}"


def changed(**columns: tuple[str, bool] | None) -> str:
    """A proposal: COLUMNS with some added, altered or (None) removed."""
    merged = {**COLUMNS, **columns}
    return proposal_text({name: column for name, column in merged.items() if column is not None})
