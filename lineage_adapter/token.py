"""The client token: what makes a repeated delivery one event."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

__all__ = ["client_token"]


def client_token(event: Mapping[str, Any]) -> str:
    """The SHA-256 of the event with sorted keys, as 64 hexadecimal digits.

    Key order and whitespace never change it. It identifies an event, not a run: START, COMPLETE and OTHER of one
    run are three events with three tokens. DataZone takes 1 to 128 printable characters.
    """
    return hashlib.sha256(json.dumps(event, sort_keys=True).encode()).hexdigest()
