"""What a descriptor declares about its source: all that the producer's check needs of a consumer."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pipeline_runtime.descriptor.load import KnownKinds, LoadedDescriptor, load

__all__ = ["Declared", "FirstStep", "declared_in"]


class _AnyKind(frozenset[str]):
    """Every name. A domain's own reader is installed in that domain's jobs, not where a producer's build runs."""

    def __contains__(self, _name: object) -> bool:
        return True


_KINDS = KnownKinds(_AnyKind(), _AnyKind(), _AnyKind())


@dataclass(frozen=True)
class FirstStep:
    """The step that sees the source's columns: SQL in a file, or a Python module."""

    id: str
    query_file: str | None
    module: str | None


@dataclass(frozen=True)
class Declared:
    """One consumer. `path` is how messages name its descriptor; `fqn` is in lower case; `domain_root` is absolute."""

    name: str
    domain: str
    owner: str
    path: str
    domain_root: Path
    kind: str
    database: str
    table: str
    pin: int
    first_step: FirstStep

    @property
    def fqn(self) -> str:
        return f"{self.database}.{self.table}"

    @property
    def shown_root(self) -> Path:
        """The domain root as messages name it."""
        return Path(self.path).parent.parent


def declared_in(path: Path, shown_as: str) -> Declared:
    """What the descriptor at `path` declares. Raises DescriptorError with every reason why it cannot be read."""
    return _declared(load(path, _KINDS, shown_as))


def _declared(loaded: LoadedDescriptor) -> Declared:
    pipeline = loaded.descriptor
    source, step = pipeline.source, pipeline.steps[0]
    return Declared(
        name=pipeline.metadata.name,
        domain=pipeline.metadata.domain,
        owner=pipeline.metadata.owner,
        path=loaded.document.shown_as,
        domain_root=loaded.domain_root,
        kind=source.kind,
        database=source.database,
        table=source.table,
        pin=source.schema_version,
        first_step=FirstStep(step.id, step.query_file, step.module),
    )
