"""The model's refusals in an author's words: the key, what the file says there, what to write instead."""

from __future__ import annotations

import difflib
import inspect
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date
from typing import get_args

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from pipeline_runtime.descriptor.blocks import PATTERN_WORDS
from pipeline_runtime.descriptor.yaml_scalars import quoted
from pipeline_runtime.descriptor.yaml_source import ScalarText, YamlDocument, YamlPath

__all__ = ["explain", "not_one_of", "path_of"]


def path_of(error: ErrorDetails) -> YamlPath:
    """Where in the file the model's refusal points; a refused key points at the key."""
    return error["loc"][:-1] if error["loc"][-1:] == ("[key]",) else error["loc"]


def explain(error: ErrorDetails, document: YamlDocument, model: type[BaseModel]) -> str:
    """One refusal of `model` in plain words, without the path."""
    path = path_of(error)
    refusal = _Refusal(error, path, document.text_of(path), model)
    return _WORDS.get(error["type"], _as_pydantic_says)(refusal)


def not_one_of(value: str, allowed: Iterable[str]) -> str:
    """Says that `value` is none of the allowed ones, and which of them is closest."""
    known = sorted(allowed)
    return f"{value!r} is not one of: {', '.join(known) or '(none)'}{_closest(value, known)}"


def _closest(value: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(value.strip().lower(), known, n=1)
    return f"; did you mean {near[0]}?" if near else ""


@dataclass(frozen=True)
class _Refusal:
    error: ErrorDetails
    path: YamlPath
    scalar: ScalarText | None
    model: type[BaseModel]

    @property
    def context(self) -> dict[str, object]:
        return self.error.get("ctx", {})

    @property
    def found(self) -> str:
        """What stands there, as the author wrote it."""
        if self.scalar is None:
            return "a list" if isinstance(self.error["input"], list) else "a mapping"
        if self.scalar.quoted:
            return quoted(self.scalar.text)
        return self.scalar.text or "nothing"

    @property
    def is_blank(self) -> bool:
        return self.error["input"] is None and self.scalar is not None and not self.scalar.text


def _text_meant(refusal: _Refusal) -> str:
    if refusal.scalar is None:
        return f"holds {refusal.found}; one value is expected"
    if refusal.is_blank:
        return 'has no value; write one, or "" for empty text'
    written = refusal.scalar.text
    return (
        f"unquoted {written} is {_kind_of(refusal.error['input'])}; text is meant, so quote it: write {quoted(written)}"
    )


def _kind_of(value: object) -> str:
    if value is None:
        return "the absence of a value"
    if isinstance(value, bool):
        return "a boolean"
    return "a date" if isinstance(value, date) else "a number"


def _whole_number_meant(refusal: _Refusal) -> str:
    if refusal.is_blank:
        return "has no value; write a whole number such as 7"
    if refusal.scalar is not None and refusal.scalar.quoted and refusal.scalar.text.isdecimal():
        return f"{refusal.found} is text; write {int(refusal.scalar.text)}, without quotes"
    return f"{refusal.found} is not a whole number; write one such as 7"


def _one_of(refusal: _Refusal) -> str:
    allowed = re.findall(r"'([^']*)'", str(refusal.context.get("expected", "")))
    if refusal.scalar is None or refusal.is_blank:
        return f"holds {refusal.found}; one of these is expected: {', '.join(allowed)}"
    return not_one_of(refusal.scalar.text, allowed)


#: Key → where it stands in which version. Said where a file mixes the two.
_OF_ANOTHER_VERSION: dict[YamlPath, str] = {
    ("source", "schema_version"): "cordata.tech/v2 has it in source.contract",
    ("contract",): "cordata.tech/v2 has it in target",
    ("source", "contract"): "cordata.tech/v1 has schema_version in source itself; for this, write cordata.tech/v2",
    ("target", "contract"): "cordata.tech/v1 has contract at the top; for this, write cordata.tech/v2",
    ("contract", "columns"): "columns are declared from cordata.tech/v2 on, in target.contract",
}


def _unknown_key(refusal: _Refusal) -> str:
    if (elsewhere := _OF_ANOTHER_VERSION.get(refusal.path)) is not None:
        return f"unknown key here; {elsewhere} (`python -m pipeline_runtime migrate` rewrites a v1 file)"
    parent = _model_at(refusal.model, refusal.path[:-1])
    known = list(parent.model_fields) if parent else []
    return "unknown key" + (_closest(str(refusal.path[-1]), known) or f"; known keys here: {', '.join(known)}")


def _missing(refusal: _Refusal) -> str:
    field = _field_at(refusal.model, refusal.path)
    return f"is missing. {field.description}" if field and field.description else "is missing"


def _pattern(refusal: _Refusal) -> str:
    words = PATTERN_WORDS.get(str(refusal.context.get("pattern")), str(refusal.context.get("pattern")))
    written = str(refusal.error["input"]).strip()
    return f"{written!r} does not fit: {words}" if written else f"is empty; write {words}"


def _too_few(refusal: _Refusal) -> str:
    field = _field_at(refusal.model, refusal.path)
    why = f" ({field.description.rstrip('.')})" if field and field.description else ""
    return f"is empty; give at least {refusal.context.get('min_length', 1)}{why}"


def _block_meant(shape: str) -> Callable[[_Refusal], str]:
    return lambda refusal: f"holds {'nothing' if refusal.is_blank else refusal.found}; {shape} is expected"


def _own_words(refusal: _Refusal) -> str:
    return str(refusal.context.get("error", refusal.error["msg"]))


def _as_pydantic_says(refusal: _Refusal) -> str:
    return f"{refusal.found}: {refusal.error['msg']}"


_WORDS: dict[str, Callable[[_Refusal], str]] = {
    "missing": _missing,
    "extra_forbidden": _unknown_key,
    "string_type": _text_meant,
    "string_too_short": lambda _: "is empty; write a value",
    "string_pattern_mismatch": _pattern,
    "string_too_long": lambda refusal: f"is longer than {refusal.context['max_length']} characters; shorten it",
    "int_type": _whole_number_meant,
    "bool_type": lambda refusal: f"{refusal.found} is neither true nor false; write one of them",
    "greater_than_equal": lambda refusal: f"{refusal.found} is too small; {refusal.context['ge']} is the least",
    "enum": _one_of,
    "literal_error": _one_of,
    "too_short": _too_few,
    "list_type": _block_meant("a list (items start with '- ', or [] for none)"),
    "dict_type": _block_meant("a mapping (lines of 'key: value')"),
    "model_type": _block_meant("a mapping (lines of 'key: value')"),
    "value_error": _own_words,
}


def _field_at(model: type[BaseModel], path: YamlPath) -> FieldInfo | None:
    parent = _model_at(model, path[:-1])
    return parent.model_fields.get(str(path[-1])) if parent and path else None


def _model_at(model: type[BaseModel], path: YamlPath) -> type[BaseModel] | None:
    """The model that judges the mapping at `path`; None where none does."""
    current: type[BaseModel] | None = model
    for step in path:
        if isinstance(step, int):
            continue
        field = current.model_fields.get(step) if current else None
        current = _model_in(field.annotation) if field else None
    return current


def _model_in(annotation: object) -> type[BaseModel] | None:
    if inspect.isclass(annotation) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for argument in get_args(annotation) if (found := _model_in(argument))), None)
