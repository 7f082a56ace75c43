"""Where the scores go: the partitions they touch are replaced, in an Iceberg table or in one of parquet files."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from benchmarks.handwritten.datasets import TAGS, Written

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from benchmarks.handwritten.settings import Settings

__all__ = ["set_tags", "write_iceberg", "write_parquet"]

_PARQUET = "org.apache.hadoop.hive.ql.io.parquet"


def write_iceberg(scored: DataFrame, settings: Settings) -> Written:
    spark = scored.sparkSession
    if not spark.catalog.tableExists(settings.target):
        columns = ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in scored.schema)
        spark.sql(
            f"CREATE TABLE {settings.target} ({columns}) USING iceberg PARTITIONED BY ({settings.partition_by}) "
            f"LOCATION '{settings.location}' "
            "TBLPROPERTIES ('format-version' = '2', 'write.distribution-mode' = 'hash')"
        )
    scored.writeTo(settings.target).overwritePartitions()
    newest = spark.table(f"{settings.target}.snapshots").orderBy("committed_at", ascending=False).limit(1).collect()[0]
    return Written(
        columns=scored.schema,
        rows=int(newest.summary["added-records"]),
        partitions=int(newest.summary["changed-partition-count"]),
        bytes=int(newest.summary["added-files-size"]),
        snapshot_id=int(newest.snapshot_id),
    )


def write_parquet(scored: DataFrame, settings: Settings) -> Written:
    """Files of a good size, one day in as few as that takes; then the table and its days in the catalog."""
    spark = scored.sparkSession
    key = settings.partition_by
    spread = spark.sql(f"SELECT /*+ REBALANCE(`{key}`) */ * FROM {{scored}}", scored=scored)
    (
        spread.write.mode("overwrite")
        .option("partitionOverwriteMode", "dynamic")
        .option("mapreduce.fileoutputcommitter.marksuccessfuljobs", "false")
        .partitionBy(key)
        .parquet(settings.location)
    )
    days = [str(row[0]) for row in scored.select(key).distinct().collect()]
    _register(scored, settings, days)
    return Written(
        columns=scored.schema,
        rows=scored.count(),
        partitions=len(days),
        bytes=_bytes(settings, days),
        snapshot_id=None,
    )


def set_tags(settings: Settings) -> None:
    answer = _client("lakeformation", settings).add_lf_tags_to_resource(
        Resource={"Table": {"DatabaseName": settings.target_database, "Name": settings.target_table}},
        LFTags=[{"TagKey": key, "TagValues": [value]} for key, value in TAGS.items()],
    )
    if answer.get("Failures"):
        raise RuntimeError(f"Lake Formation refused tags: {answer['Failures']}")


def _register(scored: DataFrame, settings: Settings, days: list[str]) -> None:
    glue, key = _client("glue", settings), settings.partition_by
    columns = [{"Name": field.name, "Type": field.dataType.simpleString()} for field in scored.schema]
    keys = [column for column in columns if column["Name"] == key]
    address: dict[str, Any] = {"DatabaseName": settings.target_database}

    def storage(location: str) -> dict[str, Any]:
        return {
            "Columns": [column for column in columns if column["Name"] != key],
            "Location": location,
            "InputFormat": f"{_PARQUET}.MapredParquetInputFormat",
            "OutputFormat": f"{_PARQUET}.MapredParquetOutputFormat",
            "SerdeInfo": {"SerializationLibrary": f"{_PARQUET}.serde.ParquetHiveSerDe"},
        }

    with suppress(glue.exceptions.AlreadyExistsException):
        glue.create_table(
            **address,
            TableInput={
                "Name": settings.target_table,
                "TableType": "EXTERNAL_TABLE",
                "Parameters": {"EXTERNAL": "TRUE", "classification": "parquet"},
                "PartitionKeys": keys,
                "StorageDescriptor": storage(settings.location),
            },
        )
    pages = glue.get_paginator("get_partitions").paginate(**address, TableName=settings.target_table)
    known = {tuple(partition["Values"]) for page in pages for partition in page["Partitions"]}
    for day in days:
        if (day,) not in known:
            glue.create_partition(
                **address,
                TableName=settings.target_table,
                PartitionInput={
                    "Values": [day],
                    "StorageDescriptor": storage(f"{settings.location}/{key}={day}"),
                },
            )


def _bytes(settings: Settings, days: list[str]) -> int:
    bucket, _, prefix = settings.location.removeprefix("s3://").partition("/")
    paginator = _client("s3", settings).get_paginator("list_objects_v2")
    pages = (
        page
        for day in days
        for page in paginator.paginate(Bucket=bucket, Prefix=f"{prefix}/{settings.partition_by}={day}/")
    )
    return sum(found["Size"] for page in pages for found in page.get("Contents", ()))


def _client(service: str, settings: Settings) -> Any:
    import boto3

    session: Any = boto3.Session()
    return session.client(service, region_name=settings.region)
