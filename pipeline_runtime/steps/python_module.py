"""Judges a step's module without importing it: valid Python that defines `transform(frame, params)`."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path

from pipeline_runtime.descriptor.modules import PACKAGE
from pipeline_runtime.errors import Problem

__all__ = ["ENTRY", "SIGNATURE", "check_module", "package_files"]

#: What a module is asked for, and how.
ENTRY = "transform"
SIGNATURE = "def transform(frame: DataFrame, params: Mapping[str, str]) -> DataFrame"

#: The oldest Python that runs it: that of Glue 5.1.
_LANGUAGE = (3, 11)


def check_module(text: str, shown_as: str) -> list[Problem]:
    """What is wrong with a step's module, by line. Never raises, imports nothing."""
    try:
        tree = _parsed(text, shown_as)
    except SyntaxError as error:
        return [Problem(shown_as, error.lineno or 0, f"is no Python {_spelled(_LANGUAGE)}: {error.msg}")]
    except ValueError as error:  # a NUL, before Python 3.11.4
        return [Problem(shown_as, 0, f"is no Python {_spelled(_LANGUAGE)}: {error}")]
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    entries = [function for function in functions if function.name == ENTRY]
    if not entries:
        near = get_close_matches(ENTRY, [function.name for function in functions], n=1)
        hint = f" Is {near[0]} meant?" if near else ""
        return [Problem(shown_as, 0, f"defines no {ENTRY}; a step's module has {SIGNATURE}.{hint}")]
    # Of several, the last one is what the module ends up with.
    return [Problem(shown_as, entries[-1].lineno, message) for message in _signature(entries[-1])]


def package_files(domain_root: Path) -> tuple[Path, ...]:
    """The Python files of a domain's package. A step may import any of them, so each is part of what a run did."""
    return tuple(sorted((domain_root / PACKAGE).rglob("*.py")))


def _parsed(text: str, shown_as: str) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a doubtful escape is for the author's own linter
        return ast.parse(text, shown_as, feature_version=_LANGUAGE)


def _signature(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[str]:
    if isinstance(function, ast.AsyncFunctionDef):
        yield f"{ENTRY} is async; write {SIGNATURE}"
        return
    taken = function.args
    names = [argument.arg for argument in (*taken.posonlyargs, *taken.args)]
    required = [
        argument.arg for argument, default in zip(taken.kwonlyargs, taken.kw_defaults, strict=True) if not default
    ]
    if len(names) != 2 or required or taken.vararg:
        listed = ", ".join([*names, *([f"*{taken.vararg.arg}"] if taken.vararg else []), *required])
        yield f"{ENTRY} takes ({listed}); write {SIGNATURE}"


def _spelled(version: tuple[int, int]) -> str:
    return ".".join(map(str, version))
