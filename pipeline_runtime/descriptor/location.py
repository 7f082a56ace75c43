"""The rule for a table's location, as far as it can be judged without AWS."""

from __future__ import annotations

import re

__all__ = ["LOCATION_PATTERN", "checked_location", "location_problem"]

#: The rule's outline in the dialect of JSON Schema, for editors.
LOCATION_PATTERN = r"^s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]/.+$"

#: Bucket names by S3's own rules: 3 to 63 characters, letters and digits at both ends.
_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
#: What Hadoop paths, globs and URLs leave alone.
_PREFIX_CHARACTERS = re.compile(r"[A-Za-z0-9/_.=+,@!-]*")


def location_problem(location: str) -> str | None:
    """Why a table cannot live at `location`; None where it can.

    A location is `s3://<bucket>/<prefix>`, with or without a slash at the end. A writer may replace whatever
    lies below it, so nothing that could mean more than one table's own prefix is let through.
    """
    if not location:
        return "is empty; write s3://<bucket>/<prefix>/"
    scheme, separator, rest = location.partition("://")
    if not separator or scheme != "s3":
        return f"{location!r} is not an s3:// location; write s3://<bucket>/<prefix>/"
    bucket, _, prefix = rest.partition("/")
    if not _BUCKET.fullmatch(bucket) or ".." in bucket:
        return f"{bucket!r} cannot be the name of a bucket; write s3://<bucket>/<prefix>/"
    return _prefix_problem(bucket, prefix)


def checked_location(location: str) -> str:
    """The location as it came; raises ValueError where a table cannot live there."""
    if problem := location_problem(location):
        raise ValueError(problem)
    return location


def _prefix_problem(bucket: str, prefix: str) -> str | None:
    if not prefix.strip("/"):
        return f"s3://{bucket}/ is the root of a bucket; give the table a prefix of its own"
    folders = prefix.removesuffix("/").split("/")
    if ".." in folders or "." in folders:
        return "climbs with '.' or '..'; write the prefix in full"
    if "" in folders:
        return "holds an empty folder ('//'); write single slashes"
    if not _PREFIX_CHARACTERS.fullmatch(prefix):
        odd = sorted(set(_PREFIX_CHARACTERS.sub("", prefix)))
        return f"holds {' '.join(map(ascii, odd))}; use letters, digits and / _ . = + , @ ! - only"
    return None
