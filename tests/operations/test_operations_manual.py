"""The operations manual has an entry for every error, is what its generator makes, and its links lead somewhere."""

from __future__ import annotations

import ast
import contextlib
import importlib
import pkgutil
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import pipeline_runtime
from pipeline_runtime import errors
from pipeline_runtime.errors import CatalogError, DescriptorError, PipelineError, UsageError
from pipeline_runtime.operations.generate import anchor, error_classes, error_tree, main, parent_of, with_errors
from pipeline_runtime.operations.guide import GUIDE, advice_of

MANUAL = Path(__file__).resolve().parents[2] / "docs" / "operations.md"
REMEDY = "run python -m pipeline_runtime.operations.generate docs/operations.md"


@pytest.fixture(scope="module")
def every_error() -> set[type[PipelineError]]:
    """All of the tree, wherever in the package a class is defined."""
    for module in pkgutil.walk_packages(pipeline_runtime.__path__, "pipeline_runtime."):
        if not module.name.endswith("__main__"):
            # What only an extra brings need not be installed here.
            with contextlib.suppress(ModuleNotFoundError):
                importlib.import_module(module.name)
    return {each for each in error_classes() if each.__module__.startswith("pipeline_runtime.")}


def not_imported() -> Iterator[Path]:
    """The modules that could not be imported without an extra; they are read instead."""
    imported = {getattr(module, "__file__", None) for module in list(sys.modules.values())}
    files = (path for path in Path(pipeline_runtime.__path__[0]).rglob("*.py") if path.name != "__main__.py")
    yield from (path for path in files if str(path) not in imported)


def bases(file: Path) -> set[str]:
    classes = (node for node in ast.walk(ast.parse(file.read_text("utf-8"))) if isinstance(node, ast.ClassDef))
    return {ast.unparse(base).rpartition(".")[2] for each in classes for base in each.bases}


def drawn() -> dict[str, str | None]:
    """The tree in the docstring of errors.py: each name with the one above it."""
    above: list[str] = []
    found: dict[str, str | None] = {}
    for line in (errors.__doc__ or "").splitlines():
        shown = re.match(r"(?P<bars>[│ ]*(?:[├└]── )?)(?P<name>[A-Z][A-Za-z]+)(?:\s{2,}|$)", line)
        if shown is None:
            continue
        del above[len(shown["bars"]) // 4 :]
        found[shown["name"]] = above[-1] if above else None
        above.append(shown["name"])
    return found


def test_every_error_has_its_entry_and_every_entry_its_error(every_error):
    assert {each.__name__ for each in every_error - GUIDE.keys()} == set(), "add it to operations/guide.py"
    assert {each.__name__ for each in GUIDE.keys() - every_error} == set()
    assert [each for _, each in error_tree()] == list(GUIDE), "the guide follows the tree"


def test_what_needs_an_extra_defines_its_errors_where_they_can_be_found(every_error):
    names = {each.__name__ for each in every_error}
    assert {file: bases(file) & names for file in not_imported() if bases(file) & names} == {}


def test_an_error_without_an_entry_is_found_wherever_it_is_defined(every_error):
    class Forgotten(CatalogError):
        """Nobody has written an entry for it."""

    assert error_classes() - GUIDE.keys() == {Forgotten}
    assert advice_of(Forgotten) is GUIDE[CatalogError]


def test_the_manual_is_what_its_generator_makes_of_the_tree(tmp_path):
    document = MANUAL.read_text("utf-8")
    assert with_errors(document) == document, REMEDY
    stale = tmp_path / "operations.md"
    stale.write_text(document.replace("### SchemaDrift", "### SchemaDrifted"), "utf-8")
    main(str(stale))
    assert stale.read_text("utf-8") == document


def test_a_document_without_a_place_for_the_list_is_refused():
    with pytest.raises(ValueError, match="needs the lines <!-- errors: generated --> and <!-- errors: end -->"):
        with_errors("# Operations\n")


def test_an_entry_says_cause_actor_and_what_to_do_in_sentences():
    for error, advice in GUIDE.items():
        for text in (advice.cause, advice.remedy):
            assert text.endswith("."), f"{error.__name__}: {text!r} is no sentence"
            assert not text[0].islower(), f"{error.__name__}: {text!r}"
            assert "\n" not in text
        section = MANUAL.read_text("utf-8").partition(f"\n### {error.__name__}\n")[2].partition("\n#")[0]
        assert f"**Who acts:** {advice.actor.value}" in section
        assert advice.remedy in section


def test_the_overview_shows_what_the_process_ends_with():
    document = MANUAL.read_text("utf-8")
    assert "[Quarantined](#quarantined) | 3 |" in document
    assert "[DescriptorError](#descriptorerror) | 2 |" in document
    assert "[SchemaDrift](#schemadrift) | 1 |" in document


def test_the_tree_that_errors_py_draws_is_the_one_there_is():
    defined = {each: parent_of(each) for each in GUIDE if each.__module__ == errors.__name__}
    assert drawn() == {each.__name__: above.__name__ if above else None for each, above in defined.items()}
    assert parent_of(DescriptorError) is UsageError


def test_every_link_of_the_manual_leads_to_a_heading_or_a_file():
    document = MANUAL.read_text("utf-8")
    headings = {anchor(heading) for heading in re.findall(r"^#+ (.+)$", document, re.MULTILINE)}
    links = re.findall(r"\]\(([^)\s]+)\)", document)
    assert len(links) > len(GUIDE)
    assert [link for link in links if link.startswith("#") and link not in headings] == []
    files = [link.partition("#")[0] for link in links if "://" not in link and not link.startswith("#")]
    assert [file for file in files if not (MANUAL.parent / file).exists()] == []
    assert {advice.runbook for advice in GUIDE.values() if advice.runbook} <= set(
        re.findall(r"^## (.+)$", document, re.MULTILINE)
    )
