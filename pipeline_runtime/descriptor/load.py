"""From a descriptor file to its model: every problem of the file at once, each with its line."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from pipeline_runtime.descriptor import v1, v2
from pipeline_runtime.descriptor.blocks import Places, step_body_problem
from pipeline_runtime.descriptor.explain import explain, not_one_of, path_of
from pipeline_runtime.descriptor.model import Descriptor
from pipeline_runtime.descriptor.yaml_source import YamlDocument, YamlPath, dotted, parse_yaml, read_content
from pipeline_runtime.errors import DescriptorError, Problem, UnknownApiVersion

__all__ = ["ANY_KINDS", "MODELS", "KnownKinds", "LoadedDescriptor", "load", "load_content"]

AnyVersion = v1.Descriptor | v2.Descriptor

#: `apiVersion` chooses the model. A new version comes beside the old ones, never instead of them.
MODELS: dict[str, type[AnyVersion]] = {"cordata.tech/v1": v1.Descriptor, "cordata.tech/v2": v2.Descriptor}


@dataclass(frozen=True)
class KnownKinds:
    """The names under which readers, step runners and writers are registered."""

    sources: frozenset[str]
    steps: frozenset[str]
    targets: frozenset[str]


class _Every(frozenset[str]):
    """Every name there is."""

    def __contains__(self, _name: object) -> bool:
        return True


#: For whoever runs nothing: a domain's own reader is installed in its jobs, not wherever its descriptor is read.
ANY_KINDS = KnownKinds(_Every(), _Every(), _Every())


@dataclass(frozen=True)
class LoadedDescriptor:
    """A descriptor, and the file it came from.

    `path` is absolute; `domain_root` is where the paths inside the descriptor start; `sha256` the hex digest
    of the file's bytes; `document` knows the line of every key, `places` where its version keeps what others keep
    elsewhere.
    """

    descriptor: Descriptor
    path: Path
    domain_root: Path
    sha256: str
    document: YamlDocument
    places: Places

    @property
    def pin_line(self) -> int:
        """The line of `schema_version`."""
        return self.document.line(self.places.pin)

    def contract_line(self, *inside: str | int) -> int:
        """The line of a key of the target's contract."""
        return self.document.line((*self.places.contract, *inside))


def load(path: Path, kinds: KnownKinds | None = None, shown_as: str | None = None) -> LoadedDescriptor:
    """The descriptor in the file at `path`; `shown_as` is how messages name the file.

    `kinds` are those that it may name; by default those that this executor has registered.

    Raises DescriptorError with all problems of the file, UnknownApiVersion where no model fits it.
    """
    shown = str(path) if shown_as is None else shown_as
    return load_content(read_content(path, shown), path, kinds, shown)


def load_content(content: bytes, path: Path, kinds: KnownKinds | None, shown_as: str) -> LoadedDescriptor:
    """As `load`, for a file that holds `content`: what an edit would leave there, for example."""
    document, problems, doubts = parse_yaml(content, shown_as)
    # Not resolve(): in a deployed tree the file may be a symlink, and its domain is where the link stands.
    absolute = Path(os.path.abspath(path))  # noqa: PTH100
    found: dict[YamlPath, list[str]] = {}
    model = _model_for(document, problems)
    descriptor = _judged(document, model, found)
    for doubt in doubts:
        # Where the model refuses the value for what it is, its words are the better ones.
        found.setdefault(doubt.path, [doubt.message])
    for at, message in _unknown_kinds(document.data, kinds or _registered()):
        found.setdefault(at, []).append(message)
    problems += [_problem(document, at, message) for at, messages in found.items() for message in messages]
    if absolute.parent.name != "pipelines":
        problems.append(Problem(document.shown_as, 0, "a descriptor lives in <domain root>/pipelines/; move it there"))
    if problems or descriptor is None:
        raise DescriptorError(problems)
    return LoadedDescriptor(descriptor, absolute, absolute.parents[1], document.sha256, document, model.places)


def _registered() -> KnownKinds:
    # Here, for the registries import the rooms that import the descriptor's values.
    from pipeline_runtime.kinds import KINDS

    return KINDS


def _problem(document: YamlDocument, at: YamlPath, message: str) -> Problem:
    return Problem(document.shown_as, document.line(at), f"{dotted(at)}: {message}" if at else message)


def _model_for(document: YamlDocument, problems: list[Problem]) -> type[AnyVersion]:
    named = document.data.get("apiVersion")
    if named is None:
        # One stands in, so that the file's other problems are found as well: the one whose shape it has.
        return v1.Descriptor if "contract" in document.data else v2.Descriptor
    model = MODELS.get(named.strip()) if isinstance(named, str) else None
    if model is None:
        spelling = document.text_of(("apiVersion",))
        shown = spelling.text if spelling else "a list or mapping"
        message = f"apiVersion: {not_one_of(shown, MODELS)}"
        raise UnknownApiVersion([*problems, Problem(document.shown_as, document.line(("apiVersion",)), message)])
    return model


def _judged(document: YamlDocument, model: type[AnyVersion], found: dict[YamlPath, list[str]]) -> Descriptor | None:
    """The model's verdict: the descriptor, or None and what is wrong, added to `found` by path."""
    try:
        return model.model_validate(document.data).lifted()
    except ValidationError as error:
        refusals = error.errors(include_url=False)
    for at, message in _across(document, {path_of(refusal) for refusal in refusals}):
        found.setdefault(at, []).append(message)
    for refusal in refusals:
        if path_of(refusal) == () and found:
            continue  # A rule across blocks: said above, with a better line.
        found.setdefault(path_of(refusal), []).append(explain(refusal, document, model))
    return None


def _unknown_kinds(data: dict[str, object], kinds: KnownKinds) -> Iterator[tuple[YamlPath, str]]:
    blocks: list[tuple[YamlPath, object, frozenset[str]]] = [
        (("source", "kind"), data.get("source"), kinds.sources),
        (("target", "kind"), data.get("target"), kinds.targets),
        *((("steps", at, "kind"), step, kinds.steps) for at, step in _steps(data)),
    ]
    for path, block, known in blocks:
        kind = block.get("kind") if isinstance(block, dict) else None
        if isinstance(kind, str) and kind.strip() and kind.strip() not in known:
            yield path, not_one_of(kind, known)


def _across(document: YamlDocument, refused: set[YamlPath]) -> Iterator[tuple[YamlPath, str]]:
    """Rules across keys, on the raw data: the model does not come to them once a single key is wrong."""
    first_line: dict[str, int] = {}
    for at, step in _steps(document.data):
        path: YamlPath = ("steps", at)
        step_id = _word(step.get("id"))
        if step_id and step_id in first_line:
            yield (
                (*path, "id"),
                f"{step_id} is used twice, first on line {first_line[step_id]}; each step needs its own",
            )
        first_line.setdefault(step_id, document.line((*path, "id")))
        bodies = [step.get(key) is not None for key in ("query_file", "module")]
        a_key_is_wrong = any(len(other) > 2 and other[:2] == path for other in refused)
        if a_key_is_wrong and any(bodies) and (problem := step_body_problem(_word(step.get("kind")), *bodies)):
            yield path, f"step {step_id}: {problem}"
    source, target = (_table(document.data.get(block)) for block in ("source", "target"))
    if source and source == target:
        yield ("target", "table"), f"source and target are the same table, {target}"


def _steps(data: dict[str, object]) -> list[tuple[int, dict[str, object]]]:
    steps = data.get("steps")
    return [(at, step) for at, step in enumerate(steps if isinstance(steps, list) else []) if isinstance(step, dict)]


def _word(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""


def _table(block: object) -> str | None:
    names = [_word(block.get(key)).lower() for key in ("database", "table")] if isinstance(block, dict) else []
    return ".".join(names) if names and all(names) else None
