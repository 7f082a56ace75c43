"""Comparing the S3 prefixes of tables. Pure."""

from __future__ import annotations

import re

from pipeline_runtime.errors import CatalogError

__all__ = ["RUNS", "bucket_and_key", "bucket_root", "normal_location", "overlap", "table_root"]

#: Where the parquet writer keeps each run's files, inside a table's prefix: `<prefix>/_runs/<run>/`. Whatever scans a
#: prefix for data or for partitions (Athena, Spark, MSCK REPAIR, crawlers) passes over a name with an underscore.
RUNS = "_runs"

#: Hadoop's file systems for one and the same store.
_S3 = re.compile(r"^s3[an]?://", re.IGNORECASE)
_RUN_FOLDER = re.compile(rf"/{RUNS}/[^/]+$")


def normal_location(location: str) -> str:
    """`location` as an s3:// prefix without a trailing slash; one of another store keeps its scheme."""
    return _S3.sub("s3://", location.strip()).rstrip("/")


def bucket_root(location: str) -> str:
    """`s3://<bucket>` of an s3:// prefix."""
    return "/".join(location.split("/")[:3])


def bucket_and_key(uri: str) -> tuple[str, str]:
    """The bucket and the key that an S3 URI names. Raises CatalogError for any other URI."""
    if not _S3.match(uri):
        raise CatalogError(f"{uri} is not an s3:// location")
    bucket, _, key = _S3.sub("", uri).partition("/")
    return bucket, key


def table_root(location: str) -> str:
    """The prefix that a table owns: its location, without the run's folder that a parquet publish adds to it."""
    return _RUN_FOLDER.sub("", normal_location(location))


def overlap(one: str, other: str) -> bool:
    """Whether one prefix is, or lies in, the other: compared path part by path part."""
    first, second = normal_location(one) + "/", normal_location(other) + "/"
    return first.startswith(second) or second.startswith(first)
