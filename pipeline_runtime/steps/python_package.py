"""A domain's package, importable for as long as one step needs it and no longer."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType

from pipeline_runtime.descriptor.files import confined
from pipeline_runtime.descriptor.modules import PACKAGE, package_of

__all__ = ["imported"]


@contextmanager
def imported(module: str, domain_root: Path) -> Iterator[ModuleType]:
    """The module, freshly imported from the domain's own files; what it raises on import is raised as it is.

    Raises ImportError where its name is that of an installed package.

    Within, it and the other modules of its package can be imported under their names, by absolute and by relative
    imports, and functions of theirs travel to Spark's workers by value: no worker has the domain's files. Nothing
    is put on `sys.path`. Afterwards the process knows as little of them as before, so that no name of theirs
    stands in the way of an installed package, or of another domain.
    """
    package = package_of(module)
    top = package.partition(".")[0]
    _refuse_shadowing(top, module, domain_root)
    finder = _DomainFinder(package, domain_root)
    before = _taken(top)
    sys.meta_path.insert(0, finder)
    try:
        with _pickled_by_value(importlib.import_module(package)):
            yield importlib.import_module(module)
    finally:
        sys.meta_path.remove(finder)
        _taken(top)
        sys.modules.update(before)


def _refuse_shadowing(top: str, module: str, domain_root: Path) -> None:
    installed = importlib.util.find_spec(top)
    origin = None if installed is None else installed.origin
    if origin is None or domain_root.resolve().is_relative_to(Path(origin).resolve().parent):
        return
    raise ImportError(
        f"{module} would hide the installed package {top} ({origin}); spell it "
        f"{'domains.<domain>.transforms.<name>' if top == PACKAGE else 'transforms.<name>'} instead"
    )


def _parents(package: str) -> list[str]:
    parts = package.split(".")
    return [".".join(parts[:depth]) for depth in range(1, len(parts))]


def _taken(top: str) -> dict[str, ModuleType]:
    """Takes the modules of that top-level name out of the process, and returns them."""
    return {name: sys.modules.pop(name) for name in list(sys.modules) if name == top or name.startswith(f"{top}.")}


class _DomainFinder(MetaPathFinder):
    """Finds the modules of one domain's package in its files, and the empty packages above it."""

    def __init__(self, package: str, domain_root: Path) -> None:
        self._package = package
        self._root = domain_root

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None = None,  # noqa: ARG002 - the import system's own signature
        target: ModuleType | None = None,  # noqa: ARG002
    ) -> ModuleSpec | None:
        if fullname in _parents(self._package):
            return ModuleSpec(fullname, None, is_package=True)
        if fullname != self._package and not fullname.startswith(f"{self._package}."):
            return None
        below = fullname.removeprefix(self._package).replace(".", "/")
        files = [(f"{PACKAGE}{below}.py", False)] if below else []
        for name, is_package in (*files, (f"{PACKAGE}{below}/__init__.py", True)):
            try:
                file = str(confined(self._root, name))
            except ValueError:
                continue
            return importlib.util.spec_from_file_location(
                fullname,
                file,
                loader=_SourceLoader(fullname, file),
                submodule_search_locations=[] if is_package else None,
            )
        # A folder without an __init__.py is a package as well; what it does not hold nobody else may supply.
        return ModuleSpec(fullname, None, is_package=True) if (self._root / f"{PACKAGE}{below}").is_dir() else None


class _SourceLoader(SourceFileLoader):
    """Runs the source as it is: no bytecode is read, whose origin nobody hashed, and none is left behind."""

    def get_code(self, fullname: str) -> CodeType:
        file = self.get_filename(fullname)
        return self.source_to_code(self.get_data(file), file)


@contextmanager
def _pickled_by_value(package: ModuleType) -> Iterator[None]:
    from pyspark.cloudpickle import register_pickle_by_value, unregister_pickle_by_value

    register_pickle_by_value(package)  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        unregister_pickle_by_value(package)  # type: ignore[no-untyped-call]
