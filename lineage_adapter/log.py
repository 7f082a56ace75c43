"""One line of JSON a request, on standard output, where Lambda takes it to CloudWatch Logs as it is."""

from __future__ import annotations

import json
import sys
from typing import Any

__all__ = ["log_line"]

#: Characters; a log line names things, it does not carry an emitter's text.
_LONGEST = 500


def log_line(**facts: Any) -> None:
    """Writes the facts that are known (not None) as one line; long text is cut."""
    known = {key: value for key, value in facts.items() if value is not None}
    line = {key: value[:_LONGEST] if isinstance(value, str) else value for key, value in known.items()}
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()
