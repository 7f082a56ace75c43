"""YAML text as a tree that remembers lines. Built from the parser's events, so that nothing is constructed
that the file did not spell out: no tags, no keys written twice, no aliases that explode."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import yaml

from pipeline_runtime.descriptor.yaml_scalars import quoted, read_plain

__all__ = ["Entry", "Fault", "MappingNode", "Node", "ScalarNode", "SequenceNode", "Unreadable", "compose"]

#: Far above any descriptor, suite or baseline; far below what would hurt the process.
MAX_VALUES = 100_000
MAX_DEPTH = 40

#: Not every build of PyYAML comes with libyaml.
_FAST_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_TEXT_TAG = "tag:yaml.org,2002:str"


class Unreadable(Exception):
    """The text as a whole cannot be used. `line` counts from 1; 0 means the file as a whole."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line
        self.message = message


@dataclass(frozen=True)
class Fault:
    """Something wrong that does not stop the rest of the file from being judged."""

    line: int
    message: str


@dataclass(frozen=True)
class ScalarNode:
    """One value. `plain` is False where the author said that it is text: quotes, a block, or `!!str`."""

    line: int
    text: str
    plain: bool
    weight: int = 1
    depth: int = 0


@dataclass(frozen=True)
class SequenceNode:
    line: int
    items: tuple[Node, ...]
    weight: int
    depth: int


@dataclass(frozen=True)
class Entry:
    """A key's value, and the line where the key stands."""

    line: int
    node: Node


@dataclass(frozen=True)
class MappingNode:
    line: int
    entries: dict[str, Entry]
    weight: int
    depth: int


Node = ScalarNode | SequenceNode | MappingNode


@dataclass
class _Open:
    """A collection whose end has not been seen."""

    event: yaml.CollectionStartEvent
    children: list[tuple[int, Node]] = field(default_factory=list)

    @property
    def line(self) -> int:
        return _line(self.event)


def compose(text: str) -> tuple[Node, tuple[Fault, ...]]:
    """The one document in `text`, and what is wrong with it in places.

    Raises Unreadable where there is no such document: malformed, empty, several, too large.
    """
    try:
        # libyaml is ten times as fast; what it refuses is left to Python's parser, whose words are translated below.
        return _Composer().compose(iter(yaml.parse(text, Loader=_FAST_LOADER)))
    except yaml.YAMLError:
        pass
    try:
        return _Composer().compose(iter(yaml.parse(text, Loader=yaml.SafeLoader)))
    except yaml.error.MarkedYAMLError as error:
        breaks_off = "end" in (error.problem or "") and "stream" in (error.problem or "")
        mark = (error.context_mark if breaks_off else None) or error.problem_mark
        line = 0 if mark is None else mark.line + 1
        raise Unreadable(line, f"is not valid YAML: {_plain_words(error)}") from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise Unreadable(line, f"is not text: it holds the control character #x{error.character:02x}") from None


_HINTS = {
    "mapping values are not allowed here": "a ': ' inside a value, or a line indented too far; quote the value",
    "found character '\\t' that cannot start any token": "a tab; indent with spaces",
    "found character '@' that cannot start any token": "a value that starts with @; quote it",
    "found character '`' that cannot start any token": "a value that starts with a backtick; quote it",
    "found character '%' that cannot start any token": "a value that starts with %; quote it",
    "found unexpected end of stream": "a quote that is never closed",
}


def _plain_words(error: yaml.MarkedYAMLError) -> str:
    problem = " ".join((error.problem or "it breaks off").split())
    if hint := _HINTS.get(problem):
        return hint
    problem = problem.replace("but got '<stream end>'", "but the file ends").replace(
        "found '<stream end>'", "the file ends"
    )
    context = f" {' '.join(error.context.split())}" if error.context else ""
    return f"{problem}{context}"


def _line(event: yaml.Event) -> int:
    return 0 if event.start_mark is None else event.start_mark.line + 1


class _Composer:
    def __init__(self) -> None:
        self.faults: list[Fault] = []
        self.anchors: dict[str, Node] = {}
        self.stack: list[_Open] = []
        self.root: Node | None = None
        self.count = 0

    def compose(self, events: Iterator[yaml.Event]) -> tuple[Node, tuple[Fault, ...]]:
        for event in events:
            self._take(event)
        if self.root is None:
            raise Unreadable(0, "is empty")
        return self.root, tuple(self.faults)

    def _take(self, event: yaml.Event) -> None:
        match event:
            case yaml.DocumentStartEvent() if self.root is not None:
                raise Unreadable(_line(event), "a second document starts here; a file holds one")
            case yaml.ScalarEvent():
                self._add(_line(event), self._scalar(event), event.anchor)
            case yaml.CollectionStartEvent():
                self._check_tag(event)
                self.stack.append(_Open(event))
                if len(self.stack) > MAX_DEPTH:
                    raise Unreadable(_line(event), f"is nested more than {MAX_DEPTH} levels deep")
            case yaml.CollectionEndEvent():
                closed = self.stack.pop()
                self._add(closed.line, self._close(closed), closed.event.anchor)
            case yaml.AliasEvent():
                self._add(_line(event), self._alias(event), None)

    def _add(self, line: int, node: Node, anchor: str | None) -> None:
        self.count += 1
        if node.weight > MAX_VALUES or self.count > MAX_VALUES:
            raise Unreadable(line, f"holds more than {MAX_VALUES:,} values, aliases counted each time they are used")
        if node.depth > MAX_DEPTH:
            raise Unreadable(line, f"is nested more than {MAX_DEPTH} levels deep")
        if anchor is not None:
            self.anchors[anchor] = node
        if self.stack:
            self.stack[-1].children.append((line, node))
        else:
            self.root = node

    def _scalar(self, event: yaml.ScalarEvent) -> ScalarNode:
        self._check_tag(event)
        return ScalarNode(_line(event), event.value, plain=not event.style and event.tag is None)

    def _check_tag(self, event: yaml.NodeEvent) -> None:
        tag = getattr(event, "tag", None)
        if tag is None or (tag == _TEXT_TAG and isinstance(event, yaml.ScalarEvent)):
            return
        shown = tag.replace("tag:yaml.org,2002:", "!!")
        self.faults.append(Fault(_line(event), f"the tag {shown} is not allowed; write the plain value"))

    def _alias(self, event: yaml.AliasEvent) -> Node:
        name = event.anchor
        if name in self.anchors:
            return self.anchors[name]
        if any(opened.event.anchor == name for opened in self.stack):
            raise Unreadable(_line(event), f"the alias *{name} stands inside the value that it names")
        raise Unreadable(_line(event), f"the alias *{name} names nothing; &{name} does not come before it")

    def _close(self, closed: _Open) -> Node:
        nodes = [node for _, node in closed.children]
        weight = 1 + sum(node.weight for node in nodes)
        depth = 1 + max((node.depth for node in nodes), default=0)
        if isinstance(closed.event, yaml.SequenceStartEvent):
            return SequenceNode(closed.line, tuple(nodes), weight, depth)
        pairs = list(zip(closed.children[::2], nodes[1::2], strict=True))
        return MappingNode(closed.line, self._entries(pairs), weight, depth)

    def _entries(self, pairs: list[tuple[tuple[int, Node], Node]]) -> dict[str, Entry]:
        own: dict[str, Entry] = {}
        inherited: dict[str, Entry] = {}
        merged_at = 0
        for (line, key), value in pairs:
            if not isinstance(key, ScalarNode):
                self.faults.append(Fault(line, "a key is a list or a mapping; keys are text"))
            elif key.plain and key.text == "<<":
                if merged_at:
                    self.faults.append(Fault(line, f"<< is given twice, here and on line {merged_at}; keep one"))
                merged_at = line
                inherited = self._merged(line, value)
            elif key.text in own:
                first = own[key.text].line
                self.faults.append(
                    Fault(line, f"the key {key.text} is given twice, here and on line {first}; keep one")
                )
            else:
                self._check_key(line, key)
                own[key.text] = Entry(line, value)
        return inherited | own

    def _check_key(self, line: int, key: ScalarNode) -> None:
        reading = read_plain(key.text) if key.plain else None
        if reading is None or (isinstance(reading.value, str) and reading.doubt is None):
            return
        shown = f"the key {key.text}" if key.text else "an empty key"
        self.faults.append(Fault(line, f"{shown} is not text as it stands; quote it: write {quoted(key.text)}"))

    def _merged(self, line: int, value: Node) -> dict[str, Entry]:
        """What `<<` brings in; of several mappings the earlier one wins, as the merge key's definition says."""
        sources = value.items if isinstance(value, SequenceNode) else (value,)
        entries: dict[str, Entry] = {}
        for source in sources:
            if isinstance(source, MappingNode):
                entries = source.entries | entries
            else:
                self.faults.append(Fault(line, "<< takes a mapping, or a list of mappings"))
        return entries
