"""The record as JSON, for tools: the same events always give the same bytes."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import datetime
from typing import Any

from pipeline_runtime.evidence.ropa.model import Record
from pipeline_runtime.lineage.values import utc_text

__all__ = ["as_json"]


def as_json(record: Record) -> str:
    """The record's own fields, times as ISO 8601 with Z, null where nobody said anything."""
    return json.dumps(_plain(asdict(record)), ensure_ascii=False, indent=2) + "\n"


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return utc_text(value)
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value
