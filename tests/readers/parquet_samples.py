"""Parquet files as other writers leave them, made without Spark."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

__all__ = ["parquet_bytes", "write_parquet"]


def parquet_bytes(columns: dict[str, Any], **options: Any) -> bytes:
    """A file of these columns; `options` are pyarrow's own."""
    out = io.BytesIO()
    pq.write_table(columns if isinstance(columns, pa.Table) else pa.table(columns), out, **options)
    return out.getvalue()


def write_parquet(path: Path, columns: dict[str, Any], **options: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(parquet_bytes(columns, **options))
    return path
