"""The descriptor as the executor works with it, whatever `apiVersion` its file is written in.

Each version's module (`v1`, `v2`) judges its own files and lifts what it read into this model; nothing else in the
package asks for the version.
"""

from __future__ import annotations

from datetime import timedelta

from pydantic import Field

from pipeline_runtime.descriptor.blocks import (
    Expectations,
    Kind,
    Metadata,
    Processing,
    Step,
    Strict,
    TableRef,
    Target,
    Text,
    Version,
)
from pipeline_runtime.descriptor.duration import parse_duration
from pipeline_runtime.schema.meaning import DeclaredColumn

__all__ = ["Contract", "Descriptor", "Source"]


class Source(TableRef):
    """What is read. In `cordata.tech/v1` it is written just so."""

    kind: Text = Field(description="Which reader reads it.")
    schema_version: Version = Field(
        description="The pin: the catalog version whose columns this pipeline was written against."
    )


class Contract(Strict):
    """What the pipeline promises about its product.

    `columns` are all columns of the product, empty where the descriptor does not declare them.
    """

    freshness_sla: str
    lf_tags: dict[str, str]
    columns: tuple[DeclaredColumn, ...] = ()

    @property
    def freshness(self) -> timedelta:
        """The SLA as a length of time."""
        return parse_duration(self.freshness_sla)


class Descriptor(Strict):
    """One pipeline, declared. `apiVersion` is the one that its file names."""

    apiVersion: str
    kind: Kind
    metadata: Metadata
    source: Source
    steps: list[Step]
    target: Target
    contract: Contract
    expectations: Expectations
    processing: Processing
