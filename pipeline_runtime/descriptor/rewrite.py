"""Rewriting descriptors: from `cordata.tech/v1` to v2, and to another pin. The rest of the file stays as it is."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import yaml

from pipeline_runtime.descriptor.blocks import Places
from pipeline_runtime.descriptor.load import ANY_KINDS, LoadedDescriptor, load_content
from pipeline_runtime.descriptor.text_edit import (
    Edit,
    Entry,
    NotEditable,
    applied,
    content_end,
    entry,
    line_end,
    line_start,
    newline,
)
from pipeline_runtime.descriptor.yaml_source import parse_yaml
from pipeline_runtime.errors import DescriptorError, Problem

__all__ = ["V1", "V2", "migrated", "repinned"]

V1, V2 = "cordata.tech/v1", "cordata.tech/v2"

_SCHEMA_HEADER = re.compile(r"^\ufeff?#\s*yaml-language-server:\s*\$schema=\S*descriptor\.v(1)\.json", re.MULTILINE)
_STEP = 2


def migrated(loaded: LoadedDescriptor, content: bytes) -> bytes:
    """The file's bytes as a v2 descriptor of the same meaning; `content` itself where it is none of v1.

    Raises DescriptorError where the file is written in a way that no tool can rewrite safely.
    """
    if loaded.descriptor.apiVersion != V1:
        return content
    after = _edited(loaded.document.shown_as, content, _to_v2)
    try:
        lifted = load_content(after, loaded.path, ANY_KINDS, loaded.document.shown_as).descriptor
    except DescriptorError as error:
        raise _by_hand(
            loaded.document.shown_as, f"the result would not be read: {error.problems[0].message}"
        ) from error
    if lifted != loaded.descriptor.model_copy(update={"apiVersion": V2}):
        raise _by_hand(loaded.document.shown_as, "the result would mean something else")
    return after


def repinned(content: bytes, places: Places, version: int, shown_as: str) -> bytes:
    """The file's bytes with that version as its pin, written where it is missing.

    Raises DescriptorError where the pin is not written out in the file.
    """
    after = _edited(shown_as, content, lambda text, root: [_pin_edit(text, root, places, version)])
    wanted, _, _ = parse_yaml(content, shown_as)
    try:
        found, _, _ = parse_yaml(after, shown_as)
    except DescriptorError as error:
        raise _by_hand(shown_as, f"the result would not be read: {error.problems[0].message}") from error
    if found.data != _with_value(wanted.data, places.pin, version):
        raise _by_hand(shown_as, "the result would mean something else")
    return after


def _with_value(data: Mapping[str, object], path: tuple[str, ...], value: object) -> dict[str, object]:
    key, *rest = path
    inside = data.get(key)
    if not rest:
        return {**data, key: value}
    return {**data, key: _with_value(inside if isinstance(inside, dict) else {}, tuple(rest), value)}


def _edited(shown_as: str, content: bytes, edits: Callable[[str, yaml.MappingNode], list[Edit]]) -> bytes:
    text = content.decode("utf-8")
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    try:
        if not isinstance(root, yaml.MappingNode) or root.flow_style:
            raise NotEditable("it is written as one flow mapping")
        return applied(text, edits(text, root)).encode()
    except NotEditable as reason:
        raise _by_hand(shown_as, str(reason)) from None


def _by_hand(shown_as: str, reason: str) -> DescriptorError:
    message = (
        f"cannot be rewritten without touching more than is meant: {reason}. Change it by hand (docs/descriptor.md)."
    )
    return DescriptorError([Problem(shown_as, 0, message)])


def _pin_edit(text: str, root: yaml.MappingNode, places: Places, version: int) -> Edit:
    mapping = root
    for position, key in enumerate(places.pin):
        found = entry(mapping, key)
        if found is None:
            return _append(text, mapping, places.pin[position:], str(version))
        if position == len(places.pin) - 1:
            start, end = int(found.value.start_mark.index), int(found.value.end_mark.index)
            return Edit(start, end, str(version) if end > start else f" {version}")
        mapping = found.mapping
    raise AssertionError("a pin has a path")


def _append(text: str, mapping: yaml.MappingNode, keys: tuple[str, ...], value: str) -> Edit:
    """Behind the mapping's last entry: nested keys down to one value."""
    if mapping.flow_style:
        at = int(mapping.end_mark.index) - 1
        written = "".join(f"{key}: " if last else f"{key}: {{" for key, last in _with_last(keys))
        inside = text[int(mapping.start_mark.index) + 1 : at].strip().rstrip(",")
        return Edit(at, at, (", " if inside else "") + written + value + "}" * (len(keys) - 1))
    column = int(mapping.value[0][0].start_mark.column)
    nl = newline(text)
    at = line_end(text, content_end(text, mapping))
    lines = [f"{' ' * (column + _STEP * depth)}{key}:" for depth, key in enumerate(keys)]
    lead = "" if at == 0 or text[at - 1] == "\n" else nl
    return Edit(at, at, lead + nl.join(lines) + f" {value}{nl}")


def _with_last(keys: tuple[str, ...]) -> list[tuple[str, bool]]:
    return [(key, position == len(keys) - 1) for position, key in enumerate(keys)]


def _to_v2(text: str, root: yaml.MappingNode) -> list[Edit]:
    version, source, target, contract = (_present(root, key) for key in ("apiVersion", "source", "target", "contract"))
    edits = [_version_edit(text, version), _source_edit(text, source), *_contract_edits(text, target, contract)]
    if header := _SCHEMA_HEADER.search(text):
        edits.append(Edit(header.start(1), header.end(1), "2"))
    return edits


def _present(mapping: yaml.MappingNode, key: str) -> Entry:
    found = entry(mapping, key)
    if found is None:
        raise NotEditable(f"{key} is not written out")
    return found


def _version_edit(text: str, version: Entry) -> Edit:
    start, end = int(version.value.start_mark.index), int(version.value.end_mark.index)
    written = text[start:end]
    if written.count(V1) != 1:
        raise NotEditable("apiVersion is spelled with escapes")
    return Edit(start, end, written.replace(V1, V2))


def _source_edit(text: str, source: Entry) -> Edit:
    """`schema_version` stays where it is, one level down."""
    pin = _present(source.mapping, "schema_version")
    if source.mapping.flow_style:
        end = int(pin.value.end_mark.index)
        return Edit(pin.start, end, f"contract: {{{text[pin.start : end]}}}")
    return Edit(pin.start, pin.start, f"contract:{newline(text)}{' ' * (pin.column + _STEP)}")


def _contract_edits(text: str, target: Entry, contract: Entry) -> list[Edit]:
    """The block moves, as it is written, to the end of `target`."""
    start, end = _with_its_comments(text, contract)
    block = text[start:end]
    nl = newline(text)
    if target.mapping.flow_style:
        if not contract.mapping.flow_style or "#" in block.replace(_slice(text, contract.value), ""):
            raise NotEditable("target is written between braces and contract in lines; write both in lines")
        at = int(target.mapping.end_mark.index) - 1
        moved = Edit(at, at, f", contract: {_slice(text, contract.value)}")
    else:
        at = _with_its_comments(text, target)[1]
        indent = " " * int(target.mapping.value[0][0].start_mark.column)
        lines = [indent + line if line.strip() else line for line in block.splitlines(keepends=True)]
        written = "".join(lines)
        lead = "" if text[:at].endswith("\n") else nl
        moved = Edit(at, at, lead + (written if written.endswith("\n") else written + nl))
    return [moved, _cut(text, start, end)]


def _slice(text: str, node: yaml.Node) -> str:
    return text[int(node.start_mark.index) : int(node.end_mark.index)]


def _with_its_comments(text: str, top: Entry) -> tuple[int, int]:
    """Whole lines of a block at the top: those of its value, comments right above, indented ones right below."""
    start, end = line_start(text, top.start), line_end(text, content_end(text, top.value))
    above = start
    while above and text[line_start(text, above - 1) : above].startswith("#"):
        above = line_start(text, above - 1)
    if above:  # What stands at the very top speaks of the file.
        start = above
    while end < len(text) and (line := text[end : line_end(text, end)]).lstrip(" ").startswith("#") and line[0] == " ":
        end = line_end(text, end)
    return start, end


def _cut(text: str, start: int, end: int) -> Edit:
    """Without leaving two gaps where there was one block between them."""
    gap_above = start == 0 or not text[line_start(text, start - 1) : start].strip()
    while gap_above and end < len(text) and not text[end : line_end(text, end)].strip():
        end = line_end(text, end)
    while end == len(text) and start and not text[line_start(text, start - 1) : start].strip():
        start = line_start(text, start - 1)
    return Edit(start, end, "")
