"""The run as it happens: a line a stage, for people or as JSON lines for CloudWatch."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import Literal, TextIO

__all__ = ["LogFormat", "Trace"]

LogFormat = Literal["text", "json"]


class Trace:
    """Writes one line a stage to `out`, marked with the run id's first four hex digits.

    As JSON each line holds time (ISO 8601, Z), run_id, stage and text, with the line's own facts beside them.
    """

    def __init__(self, run_id: str, log_format: LogFormat = "text", out: TextIO | None = None) -> None:
        self._run_id = run_id
        self._format = log_format
        self._out = out or sys.stdout

    def stage(self, stage: str, text: str, *continuation: str, **facts: object) -> None:
        """One stage's line. `continuation` lines follow it, indented; in JSON they are part of the text."""
        if self._format == "json":
            record = {
                "time": datetime.now(UTC).isoformat().replace("+00:00", "Z"),
                "run_id": self._run_id,
                "stage": stage,
                "text": "\n".join((text, *continuation)),
                **facts,
            }
            lines = [json.dumps(record, ensure_ascii=False, default=str)]
        else:
            lines = [f"[{self._run_id[:4]}] {stage} {text}", *(f"       {line}" for line in continuation)]
        self._write(lines)

    def note(self, text: str) -> None:
        """A line of the closing summary; it belongs to no stage."""
        if self._format == "json":
            self.stage("summary", text)
        else:
            self._write([text])

    @contextmanager
    def waiting(self, what: str) -> Iterator[None]:
        """On a terminal, says what is being waited for and takes the words back afterwards."""
        shown = self._format == "text" and self._out.isatty()
        if shown:
            self._out.write(f"       {what} …\r")
            self._out.flush()
        try:
            yield
        finally:
            if shown:
                self._out.write("\x1b[2K\r")
                self._out.flush()

    def _write(self, lines: list[str]) -> None:
        # Whoever was reading may be gone, as spark-submit is after SIGTERM; the run has still to say how it ended.
        with suppress(OSError, ValueError):
            self._out.write("".join(line + "\n" for line in lines))
            self._out.flush()
