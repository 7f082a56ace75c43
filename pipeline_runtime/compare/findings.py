"""One difference between a first and a second thing. Pure."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Finding", "shown"]

#: Characters of a value in a finding: enough to recognise it by.
_SHOWN = 80


@dataclass(frozen=True)
class Finding:
    """`what` is schema, partitions, rows, row, files or event; `text` says the difference, the first side first."""

    what: str
    text: str

    def __str__(self) -> str:
        return f"{self.what}: {self.text}"


def shown(value: object) -> str:
    """A value in one line of bounded length."""
    text = " ".join(str(value).split())
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
