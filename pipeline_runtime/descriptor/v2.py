"""The descriptor of `apiVersion: cordata.tech/v2`: a contract on each side, and columns that mean something.

`source.contract` is what the pipeline depends on upstream, `target.contract` what it promises downstream.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, Self

from pydantic import AfterValidator, Field, StringConstraints, WithJsonSchema, model_validator

from pipeline_runtime.descriptor import blocks, model
from pipeline_runtime.descriptor.blocks import (
    Duration,
    Expectations,
    Kind,
    Metadata,
    Places,
    Processing,
    Step,
    Strict,
    TableRef,
    Tags,
    Text,
    Version,
    across_blocks,
    repeated,
)
from pipeline_runtime.schema.meaning import DeclaredColumn, columns_problem
from pipeline_runtime.schema.types import canonical

__all__ = ["Descriptor", "Source", "SourceContract", "Target", "TargetColumn", "TargetContract"]

#: Glue folds names to lower case and so do we.
ColumnName = Annotated[str, StringConstraints(pattern=blocks.COLUMN_NAME, to_lower=True)]
ColumnType = Annotated[str, AfterValidator(canonical), WithJsonSchema({"type": "string", "minLength": 1})]
#: What a person reads in a catalog or a message; a document belongs elsewhere.
Prose = Annotated[str, StringConstraints(min_length=1, max_length=2_000)]
Term = Annotated[str, StringConstraints(min_length=1, max_length=255)]


class SourceContract(Strict):
    """What the pipeline depends on upstream."""

    schema_version: Version = Field(
        description="The pin: the catalog version whose columns this pipeline was written against."
    )


class Source(TableRef):
    """What is read, and on what terms."""

    kind: Text = Field(description="Which reader reads it.")
    contract: SourceContract = Field(description="What the pipeline depends on upstream.")


class TargetColumn(Strict):
    """One column of the product: its shape, and what it means."""

    name: ColumnName = Field(description="The column's name; case does not count.")
    type: ColumnType = Field(description="Its type as the catalog spells it, such as bigint or decimal(18,2).")
    nullable: bool = Field(
        default=True, strict=True, description="Whether it may hold NULL; false is checked before every publish."
    )
    description: Prose | None = Field(default=None, description="What the column holds, in a sentence.")
    unit: Term | None = Field(default=None, description="The unit of its values, such as EUR or seconds.")
    definition: Prose | None = Field(default=None, description="How its values come about: what counts, what does not.")
    classification: Term | None = Field(default=None, description="How sensitive it is, in governance's own words.")

    def declared(self) -> DeclaredColumn:
        return DeclaredColumn(
            self.name, self.type, self.nullable, self.description, self.unit, self.definition, self.classification
        )


def _columns(columns: list[TargetColumn]) -> list[TargetColumn]:
    if twice := repeated(column.name for column in columns):
        raise ValueError(f"names {', '.join(twice)} twice (case does not count)")
    if problem := columns_problem([column.declared() for column in columns]):
        raise ValueError(problem)
    return columns


class TargetContract(Strict):
    """What the pipeline promises downstream."""

    freshness_sla: Duration = Field(description="How old the product may get: an ISO 8601 duration such as PT4H.")
    lf_tags: Tags = Field(
        min_length=1, description="LF-tags of the product, out of the governance ontology; access is granted by them."
    )
    columns: Annotated[list[TargetColumn], AfterValidator(_columns)] | None = Field(
        default=None,
        min_length=1,
        description="All columns of the product; with them the output is held to them before every publish.",
    )


class Target(blocks.Target):
    """Where the product is published, and on what terms."""

    contract: TargetContract = Field(description="What the pipeline promises downstream.")


class Descriptor(Strict):
    """One pipeline, declared."""

    places: ClassVar[Places] = Places(pin=("source", "contract", "schema_version"), contract=("target", "contract"))

    apiVersion: Literal["cordata.tech/v2"] = Field(description="Chooses this model.")
    kind: Kind = Field(description="What the pipeline is for.")
    metadata: Metadata = Field(description="What the pipeline is called, and whose it is.")
    source: Source = Field(description="What is read, and the version of it that the pipeline was written against.")
    steps: list[Step] = Field(
        min_length=1, description="What is done to it, in this order; each sees the last one's result."
    )
    target: Target = Field(description="Where the product is published, and what is promised about it.")
    expectations: Expectations = Field(description="The rules that every batch must pass before it is published.")
    processing: Processing = Field(description="What the record of processing needs to know; travels on every event.")

    @model_validator(mode="after")
    def blocks_agree(self) -> Self:
        across_blocks(self.steps, self.source, self.target)
        columns = self.target.contract.columns
        declared = {column.name for column in columns or ()}
        missing = [name for name in self.target.partition_by if name not in declared]
        if columns is not None and missing:
            raise ValueError(
                f"target.contract.columns: lists all columns of the product, and not {', '.join(missing)}, "
                "by which the target is partitioned"
            )
        return self

    def lifted(self) -> model.Descriptor:
        """The same declaration in the executor's own model."""
        contract = self.target.contract
        return model.Descriptor(
            apiVersion=self.apiVersion,
            kind=self.kind,
            metadata=self.metadata,
            source=model.Source(
                kind=self.source.kind,
                database=self.source.database,
                table=self.source.table,
                schema_version=self.source.contract.schema_version,
            ),
            steps=self.steps,
            target=blocks.Target(
                kind=self.target.kind,
                database=self.target.database,
                table=self.target.table,
                partition_by=self.target.partition_by,
                location=self.target.location,
            ),
            contract=model.Contract(
                freshness_sla=contract.freshness_sla,
                lf_tags=contract.lf_tags,
                columns=tuple(column.declared() for column in contract.columns or ()),
            ),
            expectations=self.expectations,
            processing=self.processing,
        )
