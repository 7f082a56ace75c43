"""Column types as a tree: parsed from text, compared, written back. Pure.

The grammar is Hive's, as Glue stores it (`struct<a:int,b:array<string>>`), with `not null` after a nested
type where the format says so: Iceberg does, Hive does not.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass

__all__ = ["SIMPLE", "Child", "Node", "parse", "render", "unknown_type"]

#: Types without arguments, each with the other spellings that Hive, Spark and Glue use for it.
SIMPLE = {
    "boolean": ("bool",),
    "tinyint": ("byte",),
    "smallint": ("short",),
    "int": ("integer",),
    "bigint": ("long",),
    "float": ("real",),
    "double": ("double precision",),
    "string": (),
    "binary": (),
    "date": (),
    "timestamp": ("timestamp_ltz",),
    "timestamp_ntz": (),
}
_SPELLINGS = {alias: name for name, aliases in SIMPLE.items() for alias in (name, *aliases)}
_SIZED = {"varchar": "varchar", "char": "char", "character": "char"}
_DECIMALS = frozenset({"decimal", "dec", "numeric"})
_CONTAINERS = {"array": ("element",), "map": ("key", "value")}
_MAX_PRECISION = 38
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NUMBER = re.compile(r"\d+")
_RAW_NAME = re.compile(r"[^:,<>`]+")
_PLAIN_NAME = re.compile(r"\w+")
_NOT_NULL = re.compile(r"not\s+null\b", re.IGNORECASE)
_DOUBLE_WORD = re.compile(r"double\s+precision\b", re.IGNORECASE)


@dataclass(frozen=True)
class Node:
    """A type. `args` are a decimal's precision and scale or a varchar's length."""

    kind: str
    args: tuple[int, ...] = ()
    children: tuple[Child, ...] = ()


@dataclass(frozen=True)
class Child:
    """A nested type under its name: a struct's field, `element` of an array, `key` and `value` of a map."""

    name: str
    node: Node
    required: bool = False


def parse(text: str) -> Node:
    """The tree of a type's text. Raises ValueError, naming the text, for anything that is not a known type."""
    reader = _Reader(text)
    node = reader.type()
    reader.end()
    return node


def render(node: Node) -> str:
    """The canonical text of a type; `parse` reads it back to the same tree."""
    if node.kind == "struct":
        return "struct<" + ",".join(f"{_quoted(child.name)}:{_child(child)}" for child in node.children) + ">"
    if node.children:
        return f"{node.kind}<" + ",".join(_child(child) for child in node.children) + ">"
    return f"{node.kind}({','.join(map(str, node.args))})" if node.args else node.kind


def unknown_type(name: str, whole: str) -> ValueError:
    """The error for a type that no engine here reads, with the closest known name."""
    known = [*SIMPLE, "decimal(p,s)", "varchar(n)", "char(n)", "array<…>", "map<…>", "struct<…>"]
    words = [re.split(r"\W", entry)[0] for entry in known]
    near = difflib.get_close_matches(name.lower(), words, n=1)
    hint = f" (did you mean {near[0]}?)" if near else ""
    within = "" if name == whole.strip() else f" in {whole.strip()}"
    return ValueError(f"unknown type {name}{within}{hint}; known: {', '.join(known)}")


def _child(child: Child) -> str:
    return render(child.node) + (" not null" if child.required else "")


def _quoted(name: str) -> str:
    return name if _PLAIN_NAME.fullmatch(name) else "`" + name.replace("`", "``") + "`"


class _Reader:
    """Reads one type's text from left to right."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def type(self) -> Node:
        if self._match(_DOUBLE_WORD):
            return Node("double")
        word = self._match(_WORD)
        if word is None:
            raise self._malformed("a type")
        name = word.lower()
        if name in _DECIMALS:
            return self._decimal()
        if name in _SIZED:
            return Node(_SIZED[name], self._numbers(1))
        if name in _CONTAINERS:
            return self._container(name, _CONTAINERS[name])
        if name == "struct":
            return self._struct()
        if name in _SPELLINGS:
            return Node(_SPELLINGS[name])
        raise unknown_type(word, self.text)

    def end(self) -> None:
        self._spaces()
        if self.at < len(self.text):
            raise self._malformed("the end")

    def _decimal(self) -> Node:
        # Hive's and Spark's defaults: precision 10, scale 0.
        given = self._numbers(1, 2) if self._next_is("(") else ()
        precision, scale = (*given, *(10, 0)[len(given) :])
        if not 1 <= precision <= _MAX_PRECISION or scale > precision:
            raise ValueError(
                f"decimal({precision},{scale}) in {self.text.strip()}: precision is 1 to {_MAX_PRECISION}, "
                "scale is 0 to the precision"
            )
        return Node("decimal", (precision, scale))

    def _numbers(self, *counts: int) -> tuple[int, ...]:
        self._expect("(")
        numbers = [self._number()]
        while self._next_is(","):
            self._expect(",")
            numbers.append(self._number())
        self._expect(")")
        if len(numbers) not in counts:
            raise ValueError(f"{self.text.strip()}: {' or '.join(map(str, counts))} numbers expected in the brackets")
        return tuple(numbers)

    def _number(self) -> int:
        digits = self._match(_NUMBER)
        if digits is None:
            raise self._malformed("a number")
        return int(digits)

    def _container(self, kind: str, names: tuple[str, ...]) -> Node:
        self._expect("<")
        children = []
        for position, name in enumerate(names):
            if position:
                self._expect(",")
            children.append(self._nested(name))
        self._expect(">")
        return Node(kind, children=tuple(children))

    def _struct(self) -> Node:
        self._expect("<")
        fields: list[Child] = []
        while not self._next_is(">"):
            if fields:
                self._expect(",")
            name = self._field_name()
            if any(field.name.casefold() == name.casefold() for field in fields):
                raise ValueError(f"{self.text.strip()}: field {name} is there twice")
            self._expect(":")
            fields.append(self._nested(name))
        self._expect(">")
        return Node("struct", children=tuple(fields))

    def _nested(self, name: str) -> Child:
        node = self.type()
        return Child(name, node, required=self._match(_NOT_NULL) is not None)

    def _field_name(self) -> str:
        if not self._next_is("`"):
            name = self._match(_RAW_NAME)
            if name is None or not name.strip():
                raise self._malformed("a field's name")
            return name.strip()
        quoted = self._match(re.compile(r"`(?:[^`]|``)+`"))
        if quoted is None:
            raise self._malformed("a closing backtick")
        return quoted[1:-1].replace("``", "`")

    def _spaces(self) -> None:
        while self.at < len(self.text) and self.text[self.at].isspace():
            self.at += 1

    def _match(self, pattern: re.Pattern[str]) -> str | None:
        self._spaces()
        found = pattern.match(self.text, self.at)
        if found is None:
            return None
        self.at = found.end()
        return found.group()

    def _next_is(self, mark: str) -> bool:
        self._spaces()
        return self.text.startswith(mark, self.at)

    def _expect(self, mark: str) -> None:
        if not self._next_is(mark):
            raise self._malformed(f"'{mark}'")
        self.at += len(mark)

    def _malformed(self, wanted: str) -> ValueError:
        rest = self.text[self.at :].strip()
        found = f"'{rest}'" if rest else "the end"
        return ValueError(f"type '{self.text.strip()}' is malformed: {wanted} expected, {found} found")
