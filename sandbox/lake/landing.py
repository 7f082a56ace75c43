"""The claims as AWS DMS lands them: a full load, then files of changes, with the messes of a real landing zone.

| mess | where |
|---|---|
| no `Op` column | the full load |
| a column that came with a later release (`channel`) | in the changes, not in the full load |
| int32 beside int64 (`adjuster_id`) | the full load's first file; all others |
| milliseconds beside microseconds (`reported_at`) | the full load; the changes |
| several changes of one key with one commit time | in one file, and split between two |
| deleted keys, keys that come again, rows that come and go in one transaction | the changes |
| a second load file, `_SUCCESS`, date folders | the listing |
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from sandbox.lake.claims import CLAIMS, LOADED_AT, Change, Claim, bad_changes, history

__all__ = ["BAD_FILE", "COMMIT_TIMESTAMP", "bad_file", "landed_files"]

#: The column that the DMS task was told to add (TimestampColumnName).
COMMIT_TIMESTAMP = "commit_ts"
BAD_FILE = "2026/08/11/20260811-040000000.parquet"

_CHANGE_FILES = 6


def landed_files(claims: int = CLAIMS) -> dict[str, bytes]:
    """The files of the landing zone, name below its location -> content; the same bytes for the same count."""
    source = history(claims)
    half = len(source.loaded) // 2
    files = {
        "LOAD00000001.parquet": _load(source.loaded[:half], adjuster_bits=32),
        "LOAD00000002.parquet": _load(source.loaded[half:], adjuster_bits=64),
        "_SUCCESS": b"",
    }
    for changes in _split(source.changes, _CHANGE_FILES):
        files[_name(changes[-1].committed_at)] = _log(changes)
    return files


def bad_file() -> bytes:
    """A further file of changes, whose claims break the rules of claims; lands as BAD_FILE."""
    return _log(bad_changes())


def _split(changes: Sequence[Change], files: int) -> Iterator[Sequence[Change]]:
    """The log in about equal parts; where one ends, a transaction is cut in two, as DMS may do."""
    start = 0
    for number in range(1, files):
        end = len(changes) * number // files
        while end < len(changes) and not _one_commit(changes[end - 1], changes[end]):
            end += 1
        yield changes[start:end]
        start = end
    yield changes[start:]


def _one_commit(one: Change, other: Change) -> bool:
    return (one.committed_at, one.row.claim_id) == (other.committed_at, other.row.claim_id)


def _name(closed: datetime) -> str:
    """DMS names a file of changes by its time, here that of its last change, rounded up to the millisecond."""
    at = closed + timedelta(milliseconds=1)
    return f"{at:%Y/%m/%d}/{at:%Y%m%d-%H%M%S}{at.microsecond // 1000:03}.parquet"


def _load(rows: Sequence[Claim], *, adjuster_bits: int) -> bytes:
    columns = {name: array for name, array in _columns(rows, adjuster_bits, "ms").items() if name != "channel"}
    return _parquet({COMMIT_TIMESTAMP: [_text(LOADED_AT)] * len(rows), **columns})


def _log(changes: Sequence[Change]) -> bytes:
    rows = [change.row for change in changes]
    told = {
        "Op": [change.op for change in changes],
        COMMIT_TIMESTAMP: [_text(change.committed_at) for change in changes],
    }
    return _parquet({**told, **_columns(rows, 64, "us")})


def _text(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S.%f}"


def _columns(rows: Sequence[Claim], adjuster_bits: int, unit: Any) -> dict[str, Any]:
    money = pa.decimal128(12, 2)
    types: Mapping[str, Any] = {
        "claim_id": pa.string(),
        "policy_id": pa.string(),
        "claimant_id": pa.string(),
        "claim_type": pa.string(),
        "incident_date": pa.date32(),
        "reported_at": pa.timestamp(unit, tz="UTC"),
        "amount_claimed": money,
        "amount_approved": money,
        "currency": pa.string(),
        "status": pa.string(),
        "adjuster_id": pa.int32() if adjuster_bits == 32 else pa.int64(),
        "channel": pa.string(),
    }
    return {name: pa.array([getattr(row, name) for row in rows], type_) for name, type_ in types.items()}


def _parquet(columns: Mapping[str, Any]) -> bytes:
    out = io.BytesIO()
    pq.write_table(pa.table(dict(columns)), out, compression="snappy")
    return out.getvalue()
