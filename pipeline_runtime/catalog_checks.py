"""What only the catalog knows about a descriptor: is its pin current, does governance know its LF-tags?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property

from pipeline_runtime.catalog.access import CatalogAccess, open_catalog_access
from pipeline_runtime.catalog.deprecation import deprecation_text
from pipeline_runtime.catalog.lakeformation import read_ontology, resolve_tags
from pipeline_runtime.catalog.pins import pin_text, resolve_pin
from pipeline_runtime.descriptor.load import LoadedDescriptor
from pipeline_runtime.errors import CatalogError, FileProblem, PolicyError, Problem
from pipeline_runtime.schema.columns import Schema

__all__ = ["CatalogChecks", "Found", "open_catalog_checks"]


@dataclass(frozen=True)
class Found:
    """What the catalog said: the pinned columns and the pin in words, where it holds, and what is wrong."""

    pinned: Schema | None = None
    pin: str = ""
    problems: list[Problem] = field(default_factory=list)


@dataclass(frozen=True)
class CatalogChecks:
    """Checks against one catalog; the ontology is read once."""

    catalog: CatalogAccess

    def check(self, loaded: LoadedDescriptor) -> Found:
        """Reads and changes nothing. Raises PolicyError where the ontology cannot be read."""
        problems = list(self._tag_problems(loaded))
        source, catalog = loaded.descriptor.source, self.catalog
        try:
            pinned = resolve_pin(source, loaded.domain_root, catalog.glue, catalog.s3, catalog.region)
        except FileProblem:
            return Found(problems=problems)  # whoever reads the files says so
        except CatalogError as error:
            message = f"{'.'.join(loaded.places.pin)}: {error}"
            return Found(problems=[*problems, Problem(loaded.document.shown_as, loaded.pin_line, message)])
        text = pin_text(pinned)
        if pinned.deprecation is not None:
            warning = deprecation_text(source.fqn, source.schema_version, pinned.deprecation, over=False)
            text = f"{text}; WARNING {warning}"
        return Found(pinned.pinned, text, problems)

    def _tag_problems(self, loaded: LoadedDescriptor) -> Iterator[Problem]:
        at = ".".join((*loaded.places.contract, "lf_tags"))
        for key, value in loaded.descriptor.contract.lf_tags.items():
            try:
                resolve_tags({key: value}, self._ontology, self.catalog.governance_catalog)
            except PolicyError as error:
                yield Problem(loaded.document.shown_as, loaded.contract_line("lf_tags", key), f"{at}: {error}")

    @cached_property
    def _ontology(self) -> Mapping[str, tuple[str, ...]]:
        return read_ontology(self.catalog.lakeformation, self.catalog.governance_catalog)


@contextmanager
def open_catalog_checks(environ: Mapping[str, str]) -> Iterator[CatalogChecks]:
    """Checks against the catalog of the environment. Raises ConfigurationError where there is none to be asked."""
    with open_catalog_access(environ) as catalog:
        yield CatalogChecks(catalog)
