"""A database of parquet tables, and what a reader sees who asks Glue and reads the files it names."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import Any

import pyarrow.parquet as pq
from writer_lake import Lake

_HIVE = "org.apache.hadoop.hive.ql.io.parquet"


@dataclass(frozen=True)
class ParquetLake(Lake):
    """As `Lake`; a table is read through the catalog and without Spark, as Athena does."""

    kind: str = "parquet"

    def define(self, table: str, columns: dict[str, str], *keys: str, **changes: Any) -> None:
        """A table that somebody else made; `changes` replace parts of its definition."""
        listed = [{"Name": name, "Type": type_} for name, type_ in columns.items()]
        self.glue.create_table(
            DatabaseName=self.database,
            TableInput={
                "Name": table,
                "TableType": "EXTERNAL_TABLE",
                "PartitionKeys": [column for column in listed if column["Name"] in keys],
                "StorageDescriptor": {
                    "Columns": [column for column in listed if column["Name"] not in keys],
                    "Location": self.location(table),
                    "InputFormat": f"{_HIVE}.MapredParquetInputFormat",
                    "OutputFormat": f"{_HIVE}.MapredParquetOutputFormat",
                    "SerdeInfo": {"SerializationLibrary": f"{_HIVE}.serde.ParquetHiveSerDe"},
                },
                **changes,
            },
        )

    def definition(self, table: str) -> dict[str, Any] | None:
        """GetTable's answer; None where there is no such table."""
        try:
            return dict(self.glue.get_table(DatabaseName=self.database, Name=table)["Table"])
        except self.glue.exceptions.EntityNotFoundException:
            return None

    def partitions(self, table: str) -> dict[tuple[str, ...], dict[str, Any]]:
        """The registered partitions by their values."""
        pages = self.glue.get_paginator("get_partitions").paginate(DatabaseName=self.database, TableName=table)
        return {tuple(found["Values"]): found for page in pages for found in page["Partitions"]}

    def shown(self, table: str) -> dict[tuple[str, ...], list[tuple[Any, ...]]]:
        """The rows that each partition shows, sorted; an unpartitioned table's under no values."""
        definition = self.definition(table)
        assert definition is not None
        places = {(): definition["StorageDescriptor"]["Location"]}
        if definition.get("PartitionKeys"):
            places = {v: found["StorageDescriptor"]["Location"] for v, found in self.partitions(table).items()}
        return {values: self.rows_at(place) for values, place in places.items()}

    def rows_at(self, place: str) -> list[tuple[Any, ...]]:
        rows: list[tuple[Any, ...]] = []
        for data in self.files_at(place).values():
            rows += [tuple(row.values()) for row in pq.read_table(io.BytesIO(data)).to_pylist()]
        return sorted(rows, key=repr)

    def files_at(self, place: str) -> dict[str, bytes]:
        """The files below a location by key, without those that readers pass over."""
        assert place.startswith("s3://test-lake/")
        prefix = place.removeprefix("s3://test-lake/").rstrip("/") + "/"
        pages = self.s3.get_paginator("list_objects_v2").paginate(Bucket="test-lake", Prefix=prefix)
        keys = [found["Key"] for page in pages for found in page.get("Contents", ())]
        shown = [key for key in keys if not any(part[:1] in "_." for part in key.removeprefix(prefix).split("/"))]
        return {key: self.s3.get_object(Bucket="test-lake", Key=key)["Body"].read() for key in shown}

    def records(self) -> list[str]:
        """The writer's records that are under way."""
        return self.evidence.keys("journals/")

    def seen(self, table: str) -> tuple[Any, ...]:
        """Definition and rows: what a run that publishes nothing must leave as it was."""
        definition = self.definition(table)
        assert definition is not None
        definition.pop("UpdateTime", None)
        definition.pop("VersionId")
        return definition, self.partitions(table), self.shown(table)
