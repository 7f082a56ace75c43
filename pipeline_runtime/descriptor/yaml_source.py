"""YAML files as authors write them: safely read, every value with its line and its own spelling."""

from __future__ import annotations

import hashlib
import stat
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pipeline_runtime.descriptor.yaml_nodes import (
    Entry,
    MappingNode,
    Node,
    ScalarNode,
    SequenceNode,
    Unreadable,
    compose,
)
from pipeline_runtime.descriptor.yaml_scalars import read_plain
from pipeline_runtime.errors import DescriptorError, Problem

__all__ = [
    "Doubt",
    "ScalarText",
    "YamlDocument",
    "YamlPath",
    "dotted",
    "load_yaml",
    "parse_yaml",
    "read_content",
    "read_yaml",
]

#: Bytes. The largest baseline that makes sense is a tenth of it.
MAX_BYTES = 1 << 20

YamlPath = tuple[str | int, ...]


@dataclass(frozen=True)
class ScalarText:
    """A value as its author wrote it. `quoted` is True for quotes, block scalars and `!!str`."""

    text: str
    quoted: bool


@dataclass(frozen=True)
class Doubt:
    """An unquoted value that YAML readers disagree about; the document's data holds it as text."""

    path: YamlPath
    line: int
    message: str


@dataclass(frozen=True)
class YamlDocument:
    """One mapping read from one file.

    `data` is made of dict (keys are text), list, str, int, float, bool, None, date and datetime. `sha256` is
    the hex digest of the file's bytes. A path is a tuple of keys and list positions (from 0): `("steps", 0, "id")`.
    """

    shown_as: str
    data: dict[str, object]
    sha256: str
    _root: MappingNode = field(repr=False)

    def line(self, path: YamlPath) -> int:
        """The line (from 1) of that key or item; of its nearest ancestor where the file has no such thing."""
        line = self._root.line
        node: Node = self._root
        for step in path:
            entry = _child(node, step)
            if entry is None:
                break
            line, node = entry.line, entry.node
        return line

    def text_of(self, path: YamlPath) -> ScalarText | None:
        """The author's spelling of the single value at `path`; None where the path holds none."""
        node: Node = self._root
        for step in path:
            entry = _child(node, step)
            if entry is None:
                return None
            node = entry.node
        return ScalarText(node.text, not node.plain) if isinstance(node, ScalarNode) else None


def dotted(path: Sequence[str | int]) -> str:
    """A path as messages show it: `steps[0].params.code`."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).removeprefix(".")


def load_yaml(path: Path, shown_as: str | None = None) -> YamlDocument:
    """The mapping in the file at `path`; `shown_as` is how messages name the file.

    Raises DescriptorError with every problem of the file: it is missing or unreadable, no UTF-8, no YAML, no
    single mapping, repeats a key, or holds a value that YAML readers disagree about.
    """
    document, problems, doubts = read_yaml(path, shown_as)
    problems += [Problem(document.shown_as, doubt.line, f"{dotted(doubt.path)}: {doubt.message}") for doubt in doubts]
    if problems:
        raise DescriptorError(problems)
    return document


def read_yaml(path: Path, shown_as: str | None = None) -> tuple[YamlDocument, list[Problem], list[Doubt]]:
    """As `load_yaml`, but what is wrong only in places is returned, for a caller that knows what was meant.

    Raises DescriptorError where there is no mapping to judge.
    """
    shown = str(path) if shown_as is None else shown_as
    return parse_yaml(read_content(path, shown), shown)


def read_content(path: Path, shown_as: str) -> bytes:
    """The file's bytes. Raises DescriptorError for what is no readable file of a sensible size."""
    try:
        return _content(path)
    except Unreadable as error:
        raise DescriptorError([Problem(shown_as, error.line, error.message)]) from None


def parse_yaml(content: bytes, shown: str) -> tuple[YamlDocument, list[Problem], list[Doubt]]:
    """As `read_yaml`, for a file that holds `content`."""
    try:
        root, faults = compose(_decoded(content))
        if not isinstance(root, MappingNode):
            raise _not_a_mapping(root)
    except Unreadable as error:
        raise DescriptorError([Problem(shown, error.line, error.message)]) from None
    doubts: list[Doubt] = []
    data = {key: _data(entry.node, (key,), doubts) for key, entry in root.entries.items()}
    document = YamlDocument(shown, data, hashlib.sha256(content).hexdigest(), root)
    return document, [Problem(shown, fault.line, fault.message) for fault in faults], doubts


def _content(path: Path) -> bytes:
    try:
        status = path.stat()
        if stat.S_ISDIR(status.st_mode):
            raise Unreadable(0, "is a directory, not a file")
        if not stat.S_ISREG(status.st_mode):
            raise Unreadable(0, "is not a regular file")
        if status.st_size > MAX_BYTES:
            raise Unreadable(0, f"is larger than {MAX_BYTES:,} bytes")
        return path.read_bytes()
    except FileNotFoundError:
        raise Unreadable(0, "does not exist") from None
    except (OSError, ValueError) as error:
        # ValueError: a name that no file can have, such as one with a NUL in it.
        reason = getattr(error, "strerror", None) or "its name is impossible"
        raise Unreadable(0, f"cannot be read: {reason}") from None


def _decoded(content: bytes) -> str:
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise Unreadable(0, "is UTF-16; save it as UTF-8")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise Unreadable(line, f"is not UTF-8 (byte 0x{content[error.start]:02x}); save it as UTF-8") from None


def _not_a_mapping(root: Node) -> Unreadable:
    if isinstance(root, ScalarNode) and root.plain and read_plain(root.text).value is None:
        return Unreadable(0, "is empty")
    what = "a list" if isinstance(root, SequenceNode) else "a single value"
    return Unreadable(root.line, f"holds {what} at the top; a mapping of keys is expected")


def _child(node: Node, step: str | int) -> Entry | None:
    if isinstance(node, MappingNode) and isinstance(step, str):
        return node.entries.get(step)
    if isinstance(node, SequenceNode) and isinstance(step, int) and 0 <= step < len(node.items):
        return Entry(node.items[step].line, node.items[step])
    return None


def _data(node: Node, path: YamlPath, doubts: list[Doubt]) -> object:
    if isinstance(node, MappingNode):
        return {key: _data(entry.node, (*path, key), doubts) for key, entry in node.entries.items()}
    if isinstance(node, SequenceNode):
        return [_data(item, (*path, index), doubts) for index, item in enumerate(node.items)]
    if not node.plain:
        return node.text
    reading = read_plain(node.text)
    if reading.doubt is not None:
        doubts.append(Doubt(path, node.line, reading.doubt))
    return reading.value
