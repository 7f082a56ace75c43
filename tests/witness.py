"""A reader of the lake that shares nothing with the executor: PyIceberg, boto3 and pyarrow, and no Spark."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

__all__ = ["iceberg_branches", "iceberg_rows", "keys_below", "parquet_rows", "strays_of_iceberg"]


def iceberg_rows(glue: Any, database: str, table: str) -> list[dict[str, Any]] | None:
    """What main shows; None where there is no such table."""
    found = _iceberg(glue, database, table)
    return None if found is None else found.scan().to_arrow().to_pylist()


def iceberg_branches(glue: Any, database: str, table: str) -> set[str]:
    """The table's branches and tags; none where there is no such table."""
    found = _iceberg(glue, database, table)
    return set() if found is None else set(found.metadata.refs)


def strays_of_iceberg(glue: Any, s3: Any, database: str, table: str) -> list[str]:
    """The objects below the table's location that nothing leads to from the history of a branch or tag.

    Metadata files that the table's own log still lists are led to.
    """
    found = _iceberg(glue, database, table)
    if found is None:
        return []
    metadata = found.metadata
    by_id = {each.snapshot_id: each for each in metadata.snapshots}
    shown: set[int] = set()
    for ref in metadata.refs.values():
        at = ref.snapshot_id
        while at in by_id:
            shown.add(at)
            at = by_id[at].parent_snapshot_id
    named = {found.metadata_location, *(entry.metadata_file for entry in metadata.metadata_log)}
    for each in shown:
        named.add(by_id[each].manifest_list)
        for manifest in by_id[each].manifests(found.io):
            named.add(manifest.manifest_path)
            named |= {entry.data_file.file_path for entry in manifest.fetch_manifest_entry(found.io)}
    bucket, _, prefix = metadata.location.removeprefix("s3://").partition("/")
    return [key for key in keys_below(s3, bucket, prefix) if f"s3://{bucket}/{key}" not in named]


def parquet_rows(glue: Any, s3: Any, database: str, table: str) -> dict[tuple[str, ...], list[dict[str, Any]]] | None:
    """The rows of each partition, by its values, as a query engine finds them; None where there is no such table.

    An unpartitioned table is one partition without values.
    """
    try:
        definition = glue.get_table(DatabaseName=database, Name=table)["Table"]
    except glue.exceptions.EntityNotFoundException:
        return None
    if not definition.get("PartitionKeys"):
        return {(): list(_rows(s3, definition["StorageDescriptor"]["Location"]))}
    pages = glue.get_paginator("get_partitions").paginate(DatabaseName=database, TableName=table)
    return {
        tuple(found["Values"]): list(_rows(s3, found["StorageDescriptor"]["Location"]))
        for page in pages
        for found in page["Partitions"]
    }


def keys_below(s3: Any, bucket: str, prefix: str) -> list[str]:
    """The keys of all objects below a prefix."""
    pages = s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix.rstrip("/") + "/")
    return [item["Key"] for page in pages for item in page.get("Contents", ())]


def _rows(s3: Any, location: str) -> Iterator[dict[str, Any]]:
    import io

    import pyarrow.parquet as pq

    bucket, _, prefix = location.removeprefix("s3://").partition("/")
    for key in keys_below(s3, bucket, prefix):
        if not any(part.startswith(("_", ".")) for part in key.removeprefix(prefix).split("/")):
            body = s3.get_object(Bucket=bucket, Key=key)["Body"].read()
            yield from pq.read_table(io.BytesIO(body)).to_pylist()


def _iceberg(glue: Any, database: str, table: str) -> Any:
    from pyiceberg.catalog.glue import GlueCatalog
    from pyiceberg.exceptions import NoSuchTableError

    catalog = GlueCatalog(
        "witness",
        client=glue,
        **{
            "s3.endpoint": glue.meta.endpoint_url,
            "s3.region": glue.meta.region_name,
            "s3.force-virtual-addressing": "false",
            "s3.access-key-id": "testing",
            "s3.secret-access-key": "testing",
        },
    )
    try:
        return catalog.load_table((database, table))
    except NoSuchTableError:
        return None
