"""The descriptor of `apiVersion: cordata.tech/v1`: the pin stands in `source`, one contract block at the top."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from pipeline_runtime.descriptor import model
from pipeline_runtime.descriptor.blocks import (
    PATTERN_WORDS,
    RESERVED_PARAMS,
    CatalogName,
    Duration,
    Expectations,
    Kind,
    Metadata,
    OnFailure,
    Places,
    Processing,
    Step,
    Strict,
    TableRef,
    Tags,
    Target,
    Text,
    across_blocks,
)
from pipeline_runtime.descriptor.model import Source

__all__ = [
    "PATTERN_WORDS",
    "RESERVED_PARAMS",
    "CatalogName",
    "Contract",
    "Descriptor",
    "Expectations",
    "Metadata",
    "OnFailure",
    "Processing",
    "Source",
    "Step",
    "Strict",
    "TableRef",
    "Target",
    "Text",
]


class Contract(Strict):
    """What the pipeline promises about its product."""

    freshness_sla: Duration = Field(description="How old the product may get: an ISO 8601 duration such as PT4H.")
    lf_tags: Tags = Field(
        min_length=1, description="LF-tags of the product, out of the governance ontology; access is granted by them."
    )


class Descriptor(Strict):
    """One pipeline, declared."""

    places: ClassVar[Places] = Places(pin=("source", "schema_version"), contract=("contract",))

    apiVersion: Literal["cordata.tech/v1"] = Field(description="Chooses this model.")
    kind: Kind = Field(description="What the pipeline is for.")
    metadata: Metadata = Field(description="What the pipeline is called, and whose it is.")
    source: Source = Field(description="What is read, and the version of it that the pipeline was written against.")
    steps: list[Step] = Field(
        min_length=1, description="What is done to it, in this order; each sees the last one's result."
    )
    target: Target = Field(description="Where the product is published.")
    contract: Contract = Field(description="What the pipeline promises about its product.")
    expectations: Expectations = Field(description="The rules that every batch must pass before it is published.")
    processing: Processing = Field(description="What the record of processing needs to know; travels on every event.")

    @model_validator(mode="after")
    def blocks_agree(self) -> Self:
        across_blocks(self.steps, self.source, self.target)
        return self

    def lifted(self) -> model.Descriptor:
        """The same declaration in the executor's own model."""
        return model.Descriptor(
            apiVersion=self.apiVersion,
            kind=self.kind,
            metadata=self.metadata,
            source=self.source,
            steps=self.steps,
            target=self.target,
            contract=model.Contract(freshness_sla=self.contract.freshness_sla, lf_tags=self.contract.lf_tags),
            expectations=self.expectations,
            processing=self.processing,
        )
