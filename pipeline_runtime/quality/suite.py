"""Expectation suites: the rules a domain declares for its data product, read and judged without an engine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from pipeline_runtime.descriptor.yaml_source import YamlDocument, YamlPath, load_yaml
from pipeline_runtime.errors import DescriptorError, Problem, SuiteError
from pipeline_runtime.quality.baselines import baseline_path, load_baseline, partition_problems
from pipeline_runtime.quality.checks import kwarg_problems
from pipeline_runtime.quality.conditions import condition_columns
from pipeline_runtime.quality.expectation_types import ExpectationType, type_table
from pipeline_runtime.quality.values import closest, frozen, shown

__all__ = ["ExpectationSpec", "Suite", "check_columns", "load_suite"]

_SUITE_KEYS = ("suite_name", "expectations")
_EXPECTATION_KEYS = ("type", "kwargs")
#: That a column is missing is what this one is there to find.
_MAY_BE_MISSING = "expect_column_to_exist"


@dataclass(frozen=True)
class ExpectationSpec:
    """One expectation as declared. `kwargs` cannot change: lists are tuples; a named baseline is put in its place."""

    type: str
    kwargs: Mapping[str, object]
    line: int

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns it judges, as the suite spells them."""
        single = [self.kwargs[key] for key in ("column", "column_A", "column_B") if key in self.kwargs]
        several = self.kwargs.get("column_list", ()) if not self.type.startswith("expect_table_") else ()
        return tuple(str(name) for name in (*single, *(several if isinstance(several, tuple) else ())))

    @property
    def read_columns(self) -> tuple[str, ...]:
        """The columns it reads: those it judges and those that its `row_condition` compares."""
        return tuple(dict.fromkeys((*self.columns, *condition_columns(self.kwargs.get("row_condition")))))


@dataclass(frozen=True)
class Suite:
    """A domain's expectations. `file` is how messages name the suite's file."""

    name: str
    expectations: tuple[ExpectationSpec, ...]
    baseline_files: tuple[Path, ...]
    file: str


def load_suite(path: Path, domain_root: Path, shown_as: str | None = None) -> Suite:
    """The suite in the file at `path`, its baselines resolved against `<domain root>/baselines`.

    Raises SuiteError with every problem of the suite and its baselines, each with file and line.
    """
    try:
        document = load_yaml(path, shown_as)
    except DescriptorError as error:
        raise SuiteError(error.problems) from None
    inside = path.relative_to(domain_root).as_posix() if path.is_relative_to(domain_root) else ""
    reader = _Reader(document, domain_root, document.shown_as.removesuffix(inside) if inside else "")
    suite = reader.suite()
    if reader.problems:
        raise SuiteError(reader.problems)
    return suite


def check_columns(suite: Suite, columns: Iterable[str]) -> list[Problem]:
    """Where the suite reads columns that an output with these columns does not have. Case does not matter."""
    names = sorted(columns)
    known = {name.casefold() for name in names}
    return [
        Problem(
            suite.file,
            spec.line,
            f"{spec.type}: the output has no column {name}; it has {', '.join(names)}.{closest(name, names)}",
        )
        for spec in suite.expectations
        if spec.type != _MAY_BE_MISSING
        for name in spec.read_columns
        if name.casefold() not in known
    ]


class _Reader:
    """Reads one suite and collects what is wrong on the way. `prefix` is what messages put before a domain's paths."""

    def __init__(self, document: YamlDocument, domain_root: Path, prefix: str) -> None:
        self.document = document
        self.domain_root = domain_root
        self.prefix = prefix
        self.problems: list[Problem] = []
        self.baselines: dict[Path, object] = {}

    def problem(self, path: YamlPath, message: str) -> None:
        self.problems.append(Problem(self.document.shown_as, self.document.line(path), message))

    def suite(self) -> Suite:
        data = self.document.data
        self._only(data, (), _SUITE_KEYS)
        name = data.get("suite_name")
        if not isinstance(name, str) or not name.strip():
            self.problem(("suite_name",), "suite_name is missing" if name is None else "suite_name is not a name")
        return Suite(str(name), tuple(self._expectations(data)), tuple(sorted(self.baselines)), self.document.shown_as)

    def _expectations(self, data: Mapping[str, object]) -> list[ExpectationSpec]:
        items = data.get("expectations")
        if not isinstance(items, list):
            what = "is missing" if "expectations" not in data else f"is {shown(items)}"
            self.problem(("expectations",), f"expectations {what}; a list is expected")
            return []
        if not items:
            self.problem(("expectations",), "the suite is empty, so every batch would pass; declare an expectation")
        specs = [self._expectation(("expectations", place), item) for place, item in enumerate(items)]
        return [spec for spec in specs if spec is not None]

    def _expectation(self, path: YamlPath, item: object) -> ExpectationSpec | None:
        if not isinstance(item, Mapping):
            self.problem(path, f"an expectation is {shown(item)}; a mapping of type and kwargs is expected")
            return None
        self._only(item, path, _EXPECTATION_KEYS)
        expectation = self._type(path, item)
        kwargs = item.get("kwargs", {})
        if not isinstance(kwargs, Mapping):
            self.problem((*path, "kwargs"), f"kwargs is {shown(kwargs)}; a mapping is expected")
            return None
        if expectation is None:
            return None
        content = {str(key): frozen(value) for key, value in kwargs.items()}
        for where, message in kwarg_problems(expectation, content):
            self.problem((*path, "kwargs", *where), f"{expectation.name}: {message}")
        if "partition_object" in content and "partition_object" in expectation.kwargs:
            content["partition_object"] = self._partition(expectation.name, (*path, "kwargs"), content)
        return ExpectationSpec(expectation.name, frozen(content), self.document.line(path))  # type: ignore[arg-type]

    def _type(self, path: YamlPath, item: Mapping[str, object]) -> ExpectationType | None:
        name, table = item.get("type"), type_table()
        if not isinstance(name, str):
            what = "is missing" if name is None else f"is {shown(name)}"
            self.problem((*path, "type"), f"type {what}; the name of an expectation is expected")
            return None
        if reason := table.refused.get(name):
            self.problem((*path, "type"), f"{name} cannot be used: {reason}")
        elif name not in table.types:
            self.problem((*path, "type"), f"{name} is not an expectation type.{closest(name, table.types)}")
        return table.types.get(name)

    def _partition(self, name: str, path: YamlPath, kwargs: Mapping[str, object]) -> object:
        where, given = (*path, "partition_object"), kwargs["partition_object"]
        if not isinstance(given, str):
            for inside, message in partition_problems(given):
                self.problem((*where, *inside), f"{name}: partition_object {message}")
            return given
        try:
            found = baseline_path(given, self.domain_root)
        except ValueError as error:
            self.problem(where, f"{name}: {error}")
            return given
        if found not in self.baselines:
            shown_as = f"{self.prefix}baselines/{found.name}"
            self.baselines[found], problems = load_baseline(found, shown_as)
            self.problems += problems
        return self.baselines[found]

    def _only(self, mapping: Mapping[str, object], path: YamlPath, allowed: tuple[str, ...]) -> None:
        for key in mapping:
            if key not in allowed:
                self.problem(
                    (*path, key), f"{key} is not known here; allowed: {', '.join(allowed)}.{closest(key, allowed)}"
                )
