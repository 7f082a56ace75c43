"""The JSON Schema of every file that people write, for editors and other tools. Shipped; made by `generate`."""

from __future__ import annotations

from importlib.resources import files
from typing import Final

__all__ = ["NAMES", "schema_text"]

#: Name → what such a file is.
NAMES: Final = {
    "descriptor.v1": "a descriptor of apiVersion cordata.tech/v1",
    "descriptor.v2": "a descriptor of apiVersion cordata.tech/v2",
    "suite": "an expectation suite: expectations/<product>.yml",
    "pin": "the recorded columns of a pinned version: schemas/<database>.<table>.v<N>.yml",
    "proposal": "the version of a table that a producer intends to publish",
}


def schema_text(name: str) -> str:
    """The shipped schema, JSON of draft 2020-12. Raises KeyError for a name that is not in NAMES."""
    if name not in NAMES:
        raise KeyError(name)
    return (files(__package__) / f"{name}.json").read_text("utf-8")
