"""A small lake in the stand-in for AWS, filled without Spark: Hive-style tables, and Iceberg's by their metadata."""

from __future__ import annotations

import gzip
import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = ["ACCOUNT", "Lake", "optional", "partition", "required"]

#: The job's own account.
ACCOUNT = "111122223333"


def required(field_id: int, name: str, type_: Any) -> dict[str, Any]:
    return {"id": field_id, "name": name, "type": type_, "required": True}


def optional(field_id: int, name: str, type_: Any) -> dict[str, Any]:
    return {"id": field_id, "name": name, "type": type_, "required": False}


def partition(source_id: int, name: str, transform: str = "identity") -> dict[str, Any]:
    return {"source-id": source_id, "field-id": 1000 + source_id, "name": name, "transform": transform}


@dataclass
class Lake:
    """Clients of one account, and its tables."""

    glue: Any
    s3: Any
    bucket: str
    database: str
    region: str
    account: str = ACCOUNT
    _commits: Any = field(default_factory=lambda: itertools.count(1))

    def location(self, table: str) -> str:
        return f"s3://{self.bucket}/{self.database}/{table}"

    def columns(self, columns: Mapping[str, str]) -> list[dict[str, Any]]:
        return [{"Name": name, "Type": type_} for name, type_ in columns.items()]

    def hive_table(
        self,
        table: str,
        columns: Mapping[str, str],
        *,
        keys: Mapping[str, str] | None = None,
        location: str | None = None,
        parameters: Mapping[str, str] | None = None,
        update: bool = False,
    ) -> None:
        """A Hive-style table; `update` replaces its definition, archiving the old one as DDL does."""
        table_input = {
            "Name": table,
            "TableType": "EXTERNAL_TABLE",
            "StorageDescriptor": {
                "Columns": self.columns(columns),
                "Location": self.location(table) if location is None else location,
            },
            "PartitionKeys": self.columns(keys or {}),
            "Parameters": dict(parameters or {}),
        }
        save = self.glue.update_table if update else self.glue.create_table
        save(DatabaseName=self.database, TableInput=table_input)

    def metadata(
        self,
        table: str,
        fields: Sequence[Mapping[str, Any]],
        *,
        partitions: Sequence[Mapping[str, Any]] = (),
        snapshot: int | None = None,
    ) -> dict[str, Any]:
        """The content of an Iceberg metadata file, format version 2, with an older schema beside the current."""
        return {
            "format-version": 2,
            "location": self.location(table),
            "current-schema-id": 4,
            "schemas": [
                {"type": "struct", "schema-id": 3, "fields": [optional(1, "before", "string")]},
                {"type": "struct", "schema-id": 4, "fields": list(fields)},
            ],
            "default-spec-id": 1,
            "partition-specs": [{"spec-id": 0, "fields": []}, {"spec-id": 1, "fields": list(partitions)}],
            **({} if snapshot is None else {"current-snapshot-id": snapshot}),
        }

    def put(self, key: str, content: Mapping[str, Any] | bytes) -> str:
        """A metadata file in the bucket, gzipped where its name says so; its URI."""
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.s3.put_object(Bucket=self.bucket, Key=key, Body=gzip.compress(body) if ".gz" in key else body)
        return f"s3://{self.bucket}/{key}"

    def iceberg_table(
        self,
        table: str,
        fields: Sequence[Mapping[str, Any]] = (),
        *,
        glue_columns: Sequence[Mapping[str, Any]] | None = None,
        metadata_location: str | None = None,
        parameters: Mapping[str, str] | None = None,
        **metadata: Any,
    ) -> str:
        """A table as Iceberg's GlueCatalog leaves it after its first commit; the metadata file's URI."""
        if metadata_location is None:
            key = f"{self.database}/{table}/metadata/{next(self._commits):05}.metadata.json"
            metadata_location = self.put(key, self.metadata(table, fields, **metadata))
        self.glue.create_table(
            DatabaseName=self.database,
            TableInput={
                "Name": table,
                "TableType": "EXTERNAL_TABLE",
                "StorageDescriptor": {"Columns": list(glue_columns or []), "Location": self.location(table)},
                "Parameters": {"table_type": "ICEBERG", "metadata_location": metadata_location, **(parameters or {})},
            },
        )
        return metadata_location

    def commit(
        self, table: str, fields: Sequence[Mapping[str, Any]], *, parameters: Mapping[str, str] | None = None
    ) -> str:
        """One more commit of an Iceberg writer: new metadata file, and no archived version."""
        key = f"{self.database}/{table}/metadata/{next(self._commits):05}.metadata.json"
        uri = self.put(key, self.metadata(table, fields))
        found = self.glue.get_table(DatabaseName=self.database, Name=table)["Table"]
        self.glue.update_table(
            DatabaseName=self.database,
            TableInput={
                "Name": table,
                "TableType": "EXTERNAL_TABLE",
                "StorageDescriptor": found["StorageDescriptor"],
                "Parameters": {**found["Parameters"], "metadata_location": uri, **(parameters or {})},
            },
            VersionId=found["VersionId"],
            SkipArchive=True,
        )
        return uri
