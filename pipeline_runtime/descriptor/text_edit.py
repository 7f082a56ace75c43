"""Changing a few characters of a YAML file and leaving every other one, its comments and its order, as they are.

A mapping's entries are found by their place in the text; what is not written out where it stands (an alias, a merge
key) is not edited but refused, for changing it would change something else as well.
"""

from __future__ import annotations

from dataclasses import dataclass

import yaml

__all__ = [
    "Edit",
    "Entry",
    "NotEditable",
    "applied",
    "content_end",
    "entries",
    "entry",
    "line_end",
    "line_start",
    "newline",
]


class NotEditable(Exception):
    """The text is right and cannot be changed by a tool; says why, as the end of a sentence."""


@dataclass(frozen=True)
class Edit:
    """The characters from `start` to before `end` become `text`."""

    start: int
    end: int
    text: str


@dataclass(frozen=True)
class Entry:
    """A key and its value where they stand in the text."""

    key: yaml.ScalarNode
    value: yaml.Node

    @property
    def start(self) -> int:
        return int(self.key.start_mark.index)

    @property
    def column(self) -> int:
        return int(self.key.start_mark.column)

    @property
    def mapping(self) -> yaml.MappingNode:
        """The value, where it is a mapping. Raises NotEditable where it is not."""
        if not isinstance(self.value, yaml.MappingNode):
            raise NotEditable(f"{self.key.value} holds no mapping")
        return self.value


def applied(text: str, edits: list[Edit]) -> str:
    """The text with all edits made; they do not overlap. An insertion comes before what begins at its place."""
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end), reverse=True):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text


def entries(mapping: yaml.MappingNode) -> dict[str, Entry]:
    """The entries that the mapping spells out itself."""
    return {key.value: Entry(key, value) for key, value in mapping.value if isinstance(key, yaml.ScalarNode)}


def entry(mapping: yaml.MappingNode, key: str) -> Entry | None:
    """One entry; None where the mapping has none. Raises NotEditable for one that is written somewhere else."""
    own = entries(mapping)
    found = own.get(key)
    if found is None:
        if "<<" in own:
            raise NotEditable(f"{key} may come through the merge key <<")
        return None
    if found.value.start_mark.index < found.key.end_mark.index:
        raise NotEditable(f"{key} is an alias of something above it")
    return found


def content_end(text: str, node: yaml.Node) -> int:
    """Where the node's last character ends; a block's own end mark lies behind the comments that follow it."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        key, value = last if isinstance(last, tuple) else (last, last)
        return max(content_end(text, value), int(key.end_mark.index))
    end = int(node.end_mark.index)
    return len(text[:end].rstrip()) if isinstance(node, yaml.ScalarNode) and node.style in ("|", ">") else end


def line_start(text: str, at: int) -> int:
    return text.rfind("\n", 0, at) + 1


def line_end(text: str, at: int) -> int:
    """Behind the line break of the line that holds `at`."""
    found = text.find("\n", at)
    return len(text) if found < 0 else found + 1


def newline(text: str) -> str:
    """How the file ends its lines."""
    return "\r\n" if "\r\n" in text else "\n"
